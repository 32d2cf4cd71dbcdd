/* task_map.c: the task that runs on each CPU, as words for polling.
 *
 * The thesis patched the kernel to write the task into shared memory at each
 * task switch; a BPF program on sched_switch does the same on a stock kernel.
 * Each CPU's word is (process << 32 | thread), 0 while idle, in a cache line of
 * its own.
 *
 * Needs CAP_BPF and CAP_PERFMON.  Costs every task switch of the machine some
 * 100 ns while it is open. */
#include "shim/source.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/embed.h"
#include "base/permission.h"
#include "shim/task_map_abi.h"

struct task_map {
	struct bpf_object *object;	/* owned */
	struct bpf_link *link;		/* owned */
	const struct task_map_cpu *cpu; /* owned mapping, read only */
};

/* The object, made from task_map.bpf.c at build time. */
EMBED(task_map_object, "task_map.bpf");

static int
complain(int err, char *why)
{
	struct permission permission;
	char reason[160], remedy[PERMISSION_TEXT];

	permission_read(&permission);
	if (err == -EPERM || !permission_to_trace(&permission))
		snprintf(why, SOURCE_WHY,
		    "the running task cannot be seen: %s; %s",
		    permission_why(&permission, reason, sizeof(reason)),
		    permission_remedy(&permission, remedy, sizeof(remedy)));
	else
		snprintf(why, SOURCE_WHY,
		    "the running task cannot be seen: this kernel does not "
		    "load the program (%s); it needs 5.8 and BTF",
		    strerror(-err));
	return err;
}

int
task_map_open(struct task_map **out, char *why)
{
	struct task_map *m = calloc(1, sizeof(*m));
	struct bpf_program *program;
	struct bpf_map *map;
	void *at = MAP_FAILED;
	int err;

	if (m == NULL)
		return -ENOMEM;
	libbpf_set_print(NULL);
	m->object = bpf_object__open_mem(task_map_object,
	    (size_t)(task_map_object_end - task_map_object), NULL);
	if (m->object == NULL) {
		err = -errno;
		goto fail;
	}
	err = bpf_object__load(m->object);
	if (err < 0)
		goto fail;
	program = bpf_object__find_program_by_name(m->object, "on_switch");
	map = bpf_object__find_map_by_name(m->object, ".bss.cpus");
	if (map != NULL)
		at = mmap(NULL, sizeof(*m->cpu) * TASK_MAP_CPUS, PROT_READ,
		    MAP_SHARED, bpf_map__fd(map), 0);
	if (program == NULL || at == MAP_FAILED) {
		err = -ENOTSUP;
		goto fail;
	}
	m->cpu = at;
	m->link = bpf_program__attach(program);
	if (m->link == NULL) {
		err = -errno;
		goto fail;
	}
	*out = m;
	return 0;

fail:
	task_map_close(&m);
	return complain(err, why);
}

void
task_map_close(struct task_map **mp)
{
	struct task_map *m = *mp;

	*mp = NULL;
	if (m == NULL)
		return;
	bpf_link__destroy(m->link);
	if (m->cpu != NULL)
		munmap(
		    (void *)(uintptr_t)m->cpu, sizeof(*m->cpu) * TASK_MAP_CPUS);
	bpf_object__close(m->object);
	free(m);
}

const uint64_t *
task_map_word(const struct task_map *m, int cpu)
{
	if (cpu < 0 || cpu >= TASK_MAP_CPUS)
		return NULL;
	return (const uint64_t *)(const void *)&m->cpu[cpu].running;
}
