/* lanes.c: load the program on sched_switch, and map what it writes. */
#include "lanes/lanes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/embed.h"
#include "base/permission.h"
#include "lanes/ring.h"

struct lanes {
	struct bpf_object *object;	  /* owned */
	struct bpf_link *link;		  /* owned */
	int map, askers_map, rings_map;	  /* of object */
	const struct talechain_lane *cpu; /* owned mappings */
	struct talechain_asker *asker;
	struct ring_buffer *ring[TALECHAIN_LANES]; /* owned; by lane */
};

/* The object, made from lanes.bpf.c at build time. */
EMBED(lanes_object, "lanes.bpf");

static int
complain(int err, char *why)
{
	struct permission permission;
	char reason[160], remedy[PERMISSION_TEXT];

	permission_read(&permission);
	if (err == -EPERM || !permission_to_trace(&permission))
		snprintf(why, LANES_WHY,
		    "the running task cannot be seen: %s; %s",
		    permission_why(&permission, reason, sizeof(reason)),
		    permission_remedy(&permission, remedy, sizeof(remedy)));
	else
		snprintf(why, LANES_WHY,
		    "the running task cannot be seen: this kernel does not "
		    "load the program (%s); it needs 5.12 and BTF",
		    strerror(-err));
	return err;
}

/* Write what is constant of a pair's lanes. */
static int
pairs_write(const struct lanes *l, const struct lanes_pairs *pairs)
{
	int err = 0;

	for (unsigned i = 0; i < TALECHAIN_LANES && err == 0; i++) {
		struct talechain_lane words = {.core = pairs->core[i]};
		unsigned n = 0;

		words.role = CPU_ISSET(i, &pairs->lends) ? TALECHAIN_LENDS
			     : CPU_ISSET(i, &pairs->borrows)
				 ? TALECHAIN_BORROWS
				 : TALECHAIN_NO_LANE;
		if (words.role == TALECHAIN_NO_LANE)
			continue;
		for (unsigned k = 0;
		     words.role == TALECHAIN_LENDS && k < TALECHAIN_LANES &&
		     n < TALECHAIN_BESIDE;
		     k++)
			if (CPU_ISSET(k, &pairs->borrows) &&
			    pairs->core[k] == words.core)
				words.beside[n++] = (unsigned short)(k + 1);
		err = bpf_map_update_elem(l->map, &i, &words, BPF_ANY);
	}
	return err;
}

/* What is in a ring says nothing more. */
static int
drop(void *context, void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	return 0;
}

/* Make the ring of each borrowing lane. */
static int
rings_make(struct lanes *l, const struct lanes_pairs *pairs)
{
	int fd, err = 0;

	for (unsigned i = 0; i < TALECHAIN_LANES && err == 0; i++) {
		if (!CPU_ISSET(i, &pairs->borrows))
			continue;
		fd = bpf_map_create(
		    BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, LANES_RING, NULL);
		if (fd < 0)
			return fd;
		l->ring[i] = ring_buffer__new(fd, drop, NULL, NULL);
		err = l->ring[i] == NULL
			  ? -errno
			  : bpf_map_update_elem(l->rings_map, &i, &fd, BPF_ANY);
		/* The map of maps, and what is mapped, keep it. */
		close(fd);
	}
	return err;
}

static int
map_words(struct lanes *l)
{
	size_t n = TALECHAIN_LANES;
	void *at;

	at = mmap(NULL, sizeof(*l->cpu) * n, PROT_READ, MAP_SHARED, l->map, 0);
	if (at == MAP_FAILED)
		return -errno;
	l->cpu = at;
	at = mmap(NULL, sizeof(*l->asker) * n, PROT_READ | PROT_WRITE,
	    MAP_SHARED, l->askers_map, 0);
	if (at == MAP_FAILED)
		return -errno;
	l->asker = at;
	return 0;
}

static int
load(struct lanes *l, const struct lanes_pairs *pairs)
{
	struct bpf_program *program;
	int err;

	l->object = bpf_object__open_mem(
	    lanes_object, (size_t)(lanes_object_end - lanes_object), NULL);
	if (l->object == NULL)
		return -errno;
	err = bpf_object__load(l->object);
	if (err < 0)
		return err;
	program = bpf_object__find_program_by_name(l->object, "on_switch");
	l->map = bpf_object__find_map_fd_by_name(l->object, "lanes");
	l->askers_map = bpf_object__find_map_fd_by_name(l->object, "askers");
	l->rings_map = bpf_object__find_map_fd_by_name(l->object, "rings");
	if (program == NULL || l->map < 0 || l->askers_map < 0 ||
	    l->rings_map < 0)
		return -ENOTSUP;
	err = pairs != NULL ? pairs_write(l, pairs) : 0;
	if (err == 0 && pairs != NULL)
		err = rings_make(l, pairs);
	/* From here on nothing but the program can write it, whoever has the
	 * descriptor. */
	if (err == 0)
		err = bpf_map_freeze(l->map);
	if (err == 0)
		err = map_words(l);
	if (err < 0)
		return err;
	l->link = bpf_program__attach(program);
	return l->link == NULL ? -errno : 0;
}

int
lanes_open(struct lanes **out, const struct lanes_pairs *pairs, char *why)
{
	struct lanes *l = calloc(1, sizeof(*l));
	int err;

	if (l == NULL) {
		snprintf(why, LANES_WHY, "no memory");
		return -ENOMEM;
	}
	libbpf_set_print(NULL);
	err = load(l, pairs);
	if (err < 0) {
		lanes_close(&l);
		return complain(err, why);
	}
	*out = l;
	return 0;
}

void
lanes_close(struct lanes **lp)
{
	struct lanes *l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	bpf_link__destroy(l->link);
	if (l->cpu != NULL)
		munmap((void *)(uintptr_t)l->cpu,
		    sizeof(*l->cpu) * TALECHAIN_LANES);
	bpf_object__close(l->object);
	if (l->asker != NULL)
		munmap(l->asker, sizeof(*l->asker) * TALECHAIN_LANES);
	for (unsigned i = 0; i < TALECHAIN_LANES; i++)
		ring_buffer__free(l->ring[i]);
	free(l);
}

const struct talechain_lane *
lanes_words(const struct lanes *l)
{
	return l->cpu;
}

struct talechain_asker *
lanes_askers(const struct lanes *l)
{
	return l->asker;
}

void
lanes_wait(void *user, int cpu, int timeout_ms)
{
	struct lanes *l = user;

	ring_buffer__poll(l->ring[cpu], timeout_ms);
}

void
lanes_pass_on(const struct lanes *l)
{
	const int fd[] = {l->map, l->askers_map, bpf_link__fd(l->link)};
	char text[32];
	int err = 0;

	for (unsigned i = 0; i < COUNT(fd) && err == 0; i++)
		err = fcntl(fd[i], F_SETFD, 0);
	snprintf(text, sizeof(text), "%d,%d", l->map, l->askers_map);
	if (err == 0)
		setenv(TALECHAIN_BORROW, text, 1);
}
