#include "profiler/runtimes/probes.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/permission.h"
#include "profiler/runtimes/abi.h"

/* One file that the programs are attached to. */
struct probed_file {
	dev_t device;
	ino_t inode;
	struct bpf_link *link[RUNTIME_PROBES]; /* owned */
};

struct probes {
	struct bpf_object *object; /* owned */
	struct probed_file file[PROBES_FILES];
	unsigned files;
	struct runtime_watch *watch;		  /* owned mapping */
	struct talechain_channel *memory;	  /* owned: all channels */
	struct channel *channel[RUNTIME_SERVERS]; /* owned */
};

/* The object, made from runtimes.bpf.c at build time. */
EMBED(runtimes_object, "runtimes.bpf");

static int
complain(int err, char *why)
{
	struct permission permission;

	permission_read(&permission);
	if (err == -EPERM || !permission_to_trace(&permission))
		permission_why(&permission, why, PROBES_WHY);
	else
		snprintf(
		    why, PROBES_WHY, "this kernel refuses: %s", strerror(-err));
	return err;
}

/* Explain why the kernel refuses a probe in a file: on some kernels (seen on
 * 6.18) uprobes need more than tracepoints. */
static void
complain_probe(char *why)
{
	struct permission permission;

	permission_read(&permission);
	if (permission_to_trace(&permission) &&
	    (permission.effective & PERMISSION_SYS_ADMIN) == 0)
		snprintf(why, PROBES_WHY,
		    "this kernel wants CAP_SYS_ADMIN for probes in a program");
	else
		permission_why(&permission, why, PROBES_WHY);
}

static int
probes_make_channels(struct probes *p, uint32_t first_number)
{
	struct channel_place place = {
	    .fd = bpf_object__find_map_fd_by_name(p->object, "channels"),
	    .bytes = talechain_bytes(RUNTIME_SLOT_LOG2),
	    .is = {.slot_log2 = RUNTIME_SLOT_LOG2, .kind = TALECHAIN_KIND_JVM},
	};
	int err;

	for (unsigned i = 0; i < RUNTIME_SERVERS; i++) {
		place.offset = (off_t)(i * place.bytes);
		snprintf(place.is.name, sizeof(place.is.name), "probes%u", i);
		err = channel_new_kernel(
		    &p->channel[i], first_number + i, &place, NULL);
		if (err < 0)
			return err;
		/* The channel is no server's until probes_watch. */
		p->channel[i]->server = -1;
	}
	return 0;
}

int
probes_new(struct probes **out, uint32_t first_number, char *why)
{
	struct probes *p = calloc(1, sizeof(*p));
	struct bpf_map *map;
	void *at;
	int err;

	*out = NULL;
	if (p == NULL)
		return complain(-ENOMEM, why);
	libbpf_set_print(NULL);
	p->object = bpf_object__open_mem(runtimes_object,
	    (size_t)(runtimes_object_end - runtimes_object), NULL);
	if (p->object == NULL) {
		err = -errno;
		goto fail;
	}
	err = bpf_object__load(p->object);
	if (err < 0)
		goto fail;
	map = bpf_object__find_map_by_name(p->object, ".data.watch");
	at = map == NULL ? MAP_FAILED
			 : mmap(NULL, sizeof(*p->watch), PROT_READ | PROT_WRITE,
			       MAP_SHARED, bpf_map__fd(map), 0);
	if (at == MAP_FAILED) {
		err = -ENOTSUP;
		goto fail;
	}
	p->watch = at;
	at = mmap(NULL, RUNTIME_SERVERS * talechain_bytes(RUNTIME_SLOT_LOG2),
	    PROT_READ | PROT_WRITE, MAP_SHARED,
	    bpf_object__find_map_fd_by_name(p->object, "channels"), 0);
	if (at == MAP_FAILED) {
		err = -errno;
		goto fail;
	}
	p->memory = at;
	err = probes_make_channels(p, first_number);
	if (err < 0)
		goto fail;
	*out = p;
	return 0;

fail:
	probes_free(&p);
	return complain(err, why);
}

static void
file_detach(struct probed_file *f)
{
	for (unsigned i = 0; i < RUNTIME_PROBES; i++) {
		bpf_link__destroy(f->link[i]);
		f->link[i] = NULL;
	}
}

void
probes_free(struct probes **pp)
{
	struct probes *p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->files; i++)
		file_detach(&p->file[i]);
	for (unsigned i = 0; i < RUNTIME_SERVERS; i++)
		channel_free(&p->channel[i]);
	if (p->watch != NULL)
		munmap(p->watch, sizeof(*p->watch));
	if (p->memory != NULL)
		munmap(p->memory,
		    RUNTIME_SERVERS * talechain_bytes(RUNTIME_SLOT_LOG2));
	bpf_object__close(p->object);
	free(p);
}

/* Attach one probe.  Returns 0 or a negative errno. */
static int
probe_attach(struct probes *p, const struct runtime_probe *probe,
    const char *file, struct bpf_link **link)
{
	struct bpf_program *program =
	    bpf_object__find_program_by_name(p->object, probe->program);
	uint64_t offset;
	int err;

	errno = 0;
	if (probe->provider != NULL) {
		err = symbol_file_check(file);
		if (err < 0)
			return err;
		*link = bpf_program__attach_usdt(
		    program, -1, file, probe->provider, probe->name, NULL);
	} else {
		err = symbol_find(file, probe->name, &offset);
		if (err < 0)
			return err;
		*link = bpf_program__attach_uprobe(
		    program, false, -1, file, offset);
	}
	return *link != NULL ? 0 : errno != 0 ? -errno : -EINVAL;
}

int
probes_attach(struct probes *p, const struct runtime *runtime, const char *file,
    char *why)
{
	struct probed_file *f = &p->file[p->files];
	const struct runtime_probe *probe = runtime->probe;
	struct stat st;
	int err;

	if (stat(file, &st) < 0) {
		err = -errno;
		snprintf(why, PROBES_WHY, "%.150s: %s", file, strerror(-err));
		return err;
	}
	for (unsigned i = 0; i < p->files; i++)
		if (p->file[i].device == st.st_dev &&
		    p->file[i].inode == st.st_ino)
			return 0;
	if (p->files == PROBES_FILES) {
		snprintf(why, PROBES_WHY, "probes are in %u files already",
		    p->files);
		return -ENOSPC;
	}
	for (unsigned i = 0; i < RUNTIME_PROBES && probe[i].program != NULL;
	     i++) {
		err = probe_attach(p, &probe[i], file, &f->link[i]);
		if (err == 0 || (err == -ENOENT && runtime->optional > 0 &&
				    i >= runtime->optional))
			continue;
		if (err == -EPERM || err == -EACCES)
			complain_probe(why);
		else
			snprintf(why, PROBES_WHY, "%.120s has no %s %.60s (%s)",
			    file,
			    probe[i].provider != NULL ? "probe" : "symbol",
			    probe[i].name, strerror(-err));
		file_detach(f);
		return err;
	}
	f->device = st.st_dev;
	f->inode = st.st_ino;
	p->files++;
	return 0;
}

struct channel *
probes_channel(const struct probes *p, unsigned server)
{
	return p->channel[server];
}

void
probes_watch(struct probes *p, unsigned server, pid_t pid)
{
	struct talechain_channel *c;
	uint64_t state;

	assert(server < RUNTIME_SERVERS);
	c = (struct talechain_channel *)(void *)((char *)p->memory +
						 server *
						     talechain_bytes(
							 RUNTIME_SLOT_LOG2));
	/* The old process may have died in a collection: reset the state. */
	__atomic_store_n(&p->watch->tgid[server], 0, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&p->watch->turn[server], 1, __ATOMIC_RELAXED);
	state = __atomic_load_n(&c->state, __ATOMIC_RELAXED);
	if ((state & 0xff) != TALECHAIN_JVM_RUNNING)
		__atomic_store_n(&c->state,
		    ((state >> 8) + 1) << 8 | TALECHAIN_JVM_RUNNING,
		    __ATOMIC_RELEASE);
	__atomic_store_n(
	    &p->watch->tgid[server], (uint32_t)pid, __ATOMIC_RELEASE);
	__atomic_store_n(&p->channel[server]->server,
	    pid != 0 ? (int)server : -1, __ATOMIC_RELAXED);
}

void
probes_workers(
    struct probes *p, unsigned server, const pid_t *pid, unsigned count)
{
	uint32_t *worker = p->watch->worker[server];

	for (unsigned i = 0; i < RUNTIME_WORKERS; i++)
		__atomic_store_n(&worker[i], i < count ? (uint32_t)pid[i] : 0,
		    __ATOMIC_RELAXED);
}
