/* lanes.c: load the program on sched_switch, and map what it writes. */
#include "lanes/lanes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/embed.h"
#include "base/permission.h"

#define RING 65536 /* bytes: a page on any machine */

struct lanes {
	struct bpf_object *object; /* owned, and its maps: */
	int words_map, askers_map, rings_map, guarded_map;
	struct bpf_link *link;		    /* owned */
	const struct talechain_lane *words; /* owned mappings */
	const struct talechain_asker *askers;
	uint64_t *guarded;
	struct ring_buffer *ring[TALECHAIN_LANES]; /* owned; by lane */
	int end; /* owned: lanes_wait returns; -1 */
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
	else if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		snprintf(why, LANES_WHY, "the running task cannot be seen: %s",
		    strerror(-err));
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
		err = bpf_map_update_elem(l->words_map, &i, &words, BPF_ANY);
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
		    BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING, NULL);
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

/* Map an array of TALECHAIN_LANES elements; NULL: it cannot be. */
static void *
array_map(int map, size_t size, int protection)
{
	void *at =
	    mmap(NULL, size * TALECHAIN_LANES, protection, MAP_SHARED, map, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void
array_unmap(const void *at, size_t size)
{
	if (at != NULL)
		munmap((void *)(uintptr_t)at, size * TALECHAIN_LANES);
}

static int
maps_map(struct lanes *l)
{
	l->words = array_map(l->words_map, sizeof(*l->words), PROT_READ);
	l->askers = array_map(l->askers_map, sizeof(*l->askers), PROT_READ);
	l->guarded = array_map(
	    l->guarded_map, sizeof(*l->guarded), PROT_READ | PROT_WRITE);
	return l->words == NULL || l->askers == NULL || l->guarded == NULL
		   ? -errno
		   : 0;
}

/* Have each of these CPUs switch tasks: what it runs is not seen before. */
static void
visit(const cpu_set_t *cpus)
{
	cpu_set_t own, one;

	if (sched_getaffinity(0, sizeof(own), &own) < 0)
		return;
	for (size_t i = 0; i < TALECHAIN_LANES; i++) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (CPU_ISSET(i, cpus))
			sched_setaffinity(0, sizeof(one), &one);
	}
	sched_setaffinity(0, sizeof(own), &own);
}

static int
load(struct lanes *l, const struct lanes_pairs *pairs)
{
	struct bpf_program *task, *pair;
	int err;

	l->object = bpf_object__open_mem(
	    lanes_object, (size_t)(lanes_object_end - lanes_object), NULL);
	if (l->object == NULL)
		return -errno;
	task = bpf_object__find_program_by_name(l->object, "store_task");
	pair = bpf_object__find_program_by_name(l->object, "store_pair");
	bpf_program__set_autoload(pairs != NULL ? task : pair, false);
	err = bpf_object__load(l->object);
	if (err < 0)
		return err;
	l->words_map = bpf_object__find_map_fd_by_name(l->object, "lanes");
	l->askers_map = bpf_object__find_map_fd_by_name(l->object, "askers");
	l->rings_map = bpf_object__find_map_fd_by_name(l->object, "rings");
	l->guarded_map = bpf_object__find_map_fd_by_name(l->object, "guarded");
	err = pairs != NULL ? pairs_write(l, pairs) : 0;
	if (err == 0 && pairs != NULL)
		err = rings_make(l, pairs);
	/* From here on only the program can write it, not even a process
	 * that has the descriptor. */
	if (err == 0)
		err = bpf_map_freeze(l->words_map);
	if (err == 0)
		err = maps_map(l);
	if (err < 0)
		return err;
	l->link = bpf_program__attach(pairs != NULL ? pair : task);
	if (l->link == NULL)
		return -errno;
	if (pairs != NULL)
		visit(&pairs->lends);
	return 0;
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
	l->end = eventfd(0, EFD_CLOEXEC);
	err = l->end < 0 ? -errno : load(l, pairs);
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
	array_unmap(l->words, sizeof(*l->words));
	array_unmap(l->askers, sizeof(*l->askers));
	array_unmap(l->guarded, sizeof(*l->guarded));
	bpf_object__close(l->object);
	for (unsigned i = 0; i < TALECHAIN_LANES; i++)
		ring_buffer__free(l->ring[i]);
	if (l->end >= 0)
		close(l->end);
	free(l);
}

const struct talechain_lane *
lanes_words(const struct lanes *l)
{
	return l->words;
}

const struct talechain_asker *
lanes_askers(const struct lanes *l)
{
	return l->askers;
}

uint64_t *
lanes_guarded(const struct lanes *l)
{
	return l->guarded;
}

void
lanes_wait(void *user, int cpu, int timeout_ms)
{
	const struct lanes *l = user;
	struct pollfd fd[] = {
	    {.fd = ring_buffer__epoll_fd(l->ring[cpu]), .events = POLLIN},
	    {.fd = l->end, .events = POLLIN}};

	if (poll(fd, COUNT(fd), timeout_ms) > 0)
		ring_buffer__consume(l->ring[cpu]);
}

void
lanes_end(void *user)
{
	const struct lanes *l = user;

	eventfd_write(l->end, 1);
}

void
lanes_pass_on(const struct lanes *l)
{
	const int fd[] = {l->words_map, l->askers_map, bpf_link__fd(l->link)};
	char text[32];
	int err = 0;

	for (unsigned i = 0; i < COUNT(fd) && err == 0; i++)
		err = fcntl(fd[i], F_SETFD, 0);
	snprintf(text, sizeof(text), "%d,%d", l->words_map, l->askers_map);
	if (err == 0)
		setenv(TALECHAIN_BORROW, text, 1);
}
