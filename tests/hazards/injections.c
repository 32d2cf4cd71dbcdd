/*
 * injections.c: see injections.h.  /work?kind=, as services/kinds.py has them:
 *
 *	none			nothing at all
 *	compute&us=N		nothing but N us of computing
 *	sleep&ms=N		sleeps
 *	hold&ms=N[&how=compute]	another thread takes a lock for N ms; responds
 *				when it has it
 *	take			takes that lock
 *	cold&n=N		N reads at random places of the file "cold"
 *	touch&n=N, huge&n=N	first touch of N pages of 4 KiB, of 2 MiB
 *	big&bytes=N		a response of N bytes
 *	nagle&us=N		responds in two writes without TCP_NODELAY
 *	last			its truth is that of the last of these
 *	drop			the request after this one is lost once
 */
#include "tests/hazards/injections.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HUGE_BYTES (2UL << 20)
#define SMALL_BYTES 4096UL
#define COLD_BLOCK (1L << 18)

static struct {
	pthread_mutex_t lock;
	sem_t asked, held;
	long us;       /* how long to keep it; written before asked */
	bool computes; /* or it sleeps; likewise */
} holder = {.lock = PTHREAD_MUTEX_INITIALIZER};

int64_t
cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void
sleep_ns(int64_t ns)
{
	struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		continue;
}

static void
burn_us(long us)
{
	int64_t end_ns = cpu_time_ns() + us * NS_PER_US;
	unsigned i;

	while (cpu_time_ns() < end_ns)
		for (i = 0; i < 2000; i++)
			__asm__ volatile("" : : : "memory");
}

static int
none(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c, (void)r, (void)h;
	return 0;
}

/* Time that a request asks for, in us or ms; in us. */
static long
time_us(const struct request *r)
{
	return http_number(r, "us", 1000 * http_number(r, "ms", 0));
}

static int
compute(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c;
	h->begin = instant_now();
	burn_us(time_us(r));
	h->end = instant_now();
	return 0;
}

static int
nap(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c;
	h->begin = instant_now();
	sleep_ns(time_us(r) * NS_PER_US);
	h->end = instant_now();
	return 0;
}

/*
 * The head goes out; the body, less than a segment, waits until the head is
 * acknowledged, and the other end has no reason to hurry with that.
 */
static int
nagle(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c;
	burn_us(time_us(r));
	h->in_pieces = true;
	return 0;
}

/* Touch n fresh pages of that size once each, and once more. */
static int
touch(long n, size_t page_bytes, int advice, struct harm *h)
{
	size_t bytes = (size_t)n * page_bytes, i;
	char *map, *at;

	map = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	at = (char *)(((uintptr_t)map + HUGE_BYTES - 1) & -HUGE_BYTES);
	madvise(at, bytes, advice);
	h->begin = instant_now();
	for (i = 0; i < bytes; i += page_bytes)
		*(volatile char *)(at + i) = 1;
	h->end = instant_now();
	for (i = 0; i < bytes; i += page_bytes)
		*(volatile char *)(at + i) = 1;
	h->cpu_ns = instant_since(instant_now(), h->end);
	munmap(map, bytes + HUGE_BYTES);
	return 0;
}

static int
touch_huge(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c;
	return touch(http_number(r, "n", 1), HUGE_BYTES, MADV_HUGEPAGE, h);
}

static int
touch_small(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c;
	return touch(http_number(r, "n", 1), SMALL_BYTES, MADV_NOHUGEPAGE, h);
}

static void *
holder_main(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "holder");
	for (;;) {
		while (sem_wait(&holder.asked) < 0)
			continue;
		pthread_mutex_lock(&holder.lock);
		sem_post(&holder.held);
		if (holder.computes)
			burn_us(holder.us);
		else
			sleep_ns(holder.us * NS_PER_US);
		pthread_mutex_unlock(&holder.lock);
	}
	return NULL;
}

int
holder_start(void)
{
	pthread_t thread;

	sem_init(&holder.asked, 0, 0);
	sem_init(&holder.held, 0, 0);
	return -pthread_create(&thread, NULL, holder_main, NULL);
}

static int
hold(struct connection *c, const struct request *r, struct harm *h)
{
	const char *how = http_value(r, "how");

	(void)c, (void)h; /* the harm is that of the next one to take it */
	holder.us = time_us(r);
	holder.computes = how != NULL && strncmp(how, "compute", 7) == 0;
	sem_post(&holder.asked);
	while (sem_wait(&holder.held) < 0)
		continue;
	return 0;
}

static int
take(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c, (void)r;
	h->begin = instant_now();
	pthread_mutex_lock(&holder.lock);
	h->end = instant_now();
	pthread_mutex_unlock(&holder.lock);
	return 0;
}

static int
cold(struct connection *c, const struct request *r, struct harm *h)
{
	static char block[COLD_BLOCK]; /* one thread at a time reads */
	const char *folder = getenv("FOREIGN_DATA");
	long n = http_number(r, "n", 0), blocks;
	char path[256];
	int fd, err = 0;

	(void)c;
	snprintf(path, sizeof(path), "%s/cold", folder == NULL ? "" : folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	blocks = lseek(fd, 0, SEEK_END) / COLD_BLOCK;
	h->begin = instant_now();
	while (n-- > 0 && err == 0)
		if (pread(fd, block, sizeof(block),
			random() % blocks * COLD_BLOCK) < 0)
			err = -errno;
	h->end = instant_now();
	close(fd);
	return err;
}

static int
big(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c; /* the harm is the client's */
	h->bytes = (size_t)http_number(r, "bytes", 0);
	return 0;
}

struct harm last_in_pieces;

static int
last(struct connection *c, const struct request *r, struct harm *h)
{
	(void)c, (void)r;
	*h = last_in_pieces;
	h->in_pieces = false;
	return 0;
}

static int
drop(struct connection *c, const struct request *r, struct harm *h)
{
	(void)r, (void)h; /* the harm is the next one's */
	c->drop_next = 1;
	return 0;
}

/* Segments that the kernel has dropped at this socket. */
static uint32_t
drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t size = sizeof(info);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &size);
	return info[SK_MEMINFO_DROPS];
}

int
lose_next(struct connection *c, struct harm *h)
{
	/* X = bytes of the TCP header; a segment with more is dropped. */
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12),
	    BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3c),
	    BPF_STMT(BPF_MISC | BPF_TAX, 0),
	    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
	    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	struct pollfd arrival = {c->fd, POLLIN | POLLRDHUP, 0};
	uint32_t before = drops(c->fd);
	int unused = 0;

	c->drop_next = 0;
	if (setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		sizeof(program)) < 0)
		return -errno;
	while (drops(c->fd) == before) {
		if (poll(&arrival, 1, 0) != 0)
			return -ECONNRESET; /* the end is no data, and came */
		sleep_ns(LOOK_NS);
	}
	h->begin = instant_now();
	setsockopt(
	    c->fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
	poll(&arrival, 1, -1);
	h->end = instant_now();
	return 0;
}

int
inject(struct connection *c, const struct request *r, struct harm *h)
{
	static const struct {
		const char *name;
		int (*act)(struct connection *c, const struct request *r,
		    struct harm *h);
	} all[] = {
	    {"none", none},
	    {"compute", compute},
	    {"sleep", nap},
	    {"hold", hold},
	    {"take", take},
	    {"cold", cold},
	    {"touch", touch_small},
	    {"huge", touch_huge},
	    {"big", big},
	    {"nagle", nagle},
	    {"last", last},
	    {"drop", drop},
	};
	const char *kind = http_value(r, "kind");
	size_t length = kind == NULL ? 0 : strcspn(kind, "&");

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strlen(all[i].name) == length &&
		    strncmp(kind, all[i].name, length) == 0)
			return all[i].act(c, r, h);
	return -ENOENT;
}
