/*
 * injections.c: see injections.h.
 *
 *	/			nothing at all
 *	/compute?us=N		nothing but N us of computing
 *	/nagle?us=N		answers in two writes without TCP_NODELAY
 *	/fault-huge?n=N		first touch of N huge pages
 *	/fault-small?n=N	first touch of N pages of 4 KiB
 *	/hold?us=N		another thread takes a lock for N us; answers
 *				when it has it
 *	/lock			takes that lock
 *	/disk?n=N		reads N MiB past the page cache
 *	/big?bytes=N		a response of N bytes
 *	/storm?us=N		system calls on every CPU for N us; answers how
 *				many on each
 *	/drop-next		the request after this one is lost once
 */
#include "tests/hazards/injections.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HUGE_BYTES (2UL << 20)
#define SMALL_BYTES 4096UL
#define LOOK_NS 20000 /* between two looks at a socket's queue */
#define BIG_CHUNK 65536
#define STORM_CPUS 64
#define DISK_CHUNK (1UL << 20)
#define DISK_CHUNKS 32 /* in the file; it is read round and round */

static struct {
	pthread_mutex_t lock;
	sem_t asked, held;
	long us; /* how long to keep it; written before asked */
} holder = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t
cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void
sleep_ns(int64_t ns)
{
	struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		continue;
}

void
burn_us(long us)
{
	int64_t end_ns = cpu_time_ns() + us * NS_PER_US;
	unsigned i;

	while (cpu_time_ns() < end_ns)
		for (i = 0; i < 2000; i++)
			__asm__ volatile("" : : : "memory");
}

static int
nothing(struct connection *c, const struct request *r, struct harm *h)
{
	(void)r, (void)h;
	return http_respond(c->fd, 200, "nothing\n");
}

static int
compute(struct connection *c, const struct request *r, struct harm *h)
{
	h->begin = instant_now();
	burn_us(http_number(r, "us", 0));
	h->end = instant_now();
	return http_respond(c->fd, 200, "computed\n");
}

/* Sleep until the last byte has left the socket. */
static int
wait_sent(int fd, struct harm *h)
{
	int unsent;

	do {
		if (ioctl(fd, SIOCOUTQNSD, &unsent) < 0)
			return -errno;
		h->end = instant_now();
		if (unsent > 0)
			sleep_ns(LOOK_NS);
	} while (unsent > 0);
	return 0;
}

/*
 * The head goes out; the body, less than a segment, waits until the head is
 * acknowledged, and the other end has no reason to hurry with that.
 */
static int
nagle(struct connection *c, const struct request *r, struct harm *h)
{
	static const char body[] = "in two pieces\n";
	int off = 0, on = 1, err;
	char head[256];
	size_t n = http_head(head, sizeof(head), 200, sizeof(body) - 1);

	burn_us(http_number(r, "us", 0));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof(off));
	err = http_write(c->fd, head, n);
	if (err == 0)
		err = http_write(c->fd, body, sizeof(body) - 1);
	h->begin = instant_now();
	if (err == 0)
		err = wait_sent(c->fd, h);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return err;
}

/* Touch n fresh pages of that size once each. */
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
	munmap(map, bytes + HUGE_BYTES);
	return 0;
}

static int
fault_huge(struct connection *c, const struct request *r, struct harm *h)
{
	int err = touch(http_number(r, "n", 1), HUGE_BYTES, MADV_HUGEPAGE, h);

	return err < 0 ? err : http_respond(c->fd, 200, "touched\n");
}

static int
fault_small(struct connection *c, const struct request *r, struct harm *h)
{
	int err =
	    touch(http_number(r, "n", 1), SMALL_BYTES, MADV_NOHUGEPAGE, h);

	return err < 0 ? err : http_respond(c->fd, 200, "touched\n");
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
	(void)h; /* the harm is that of the next thread that wants the lock */
	holder.us = http_number(r, "us", 0);
	sem_post(&holder.asked);
	while (sem_wait(&holder.held) < 0)
		continue;
	return http_respond(c->fd, 200, "held\n");
}

static int
lock(struct connection *c, const struct request *r, struct harm *h)
{
	(void)r;
	h->begin = instant_now();
	pthread_mutex_lock(&holder.lock);
	h->end = instant_now();
	pthread_mutex_unlock(&holder.lock);
	return http_respond(c->fd, 200, "locked\n");
}

/* A file that is on the disk and nowhere else, without a name; or an errno. */
static int
disk_open(void *chunk)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_DIRECT, 0600), i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < DISK_CHUNKS; i++)
		if (write(fd, chunk, DISK_CHUNK) != (ssize_t)DISK_CHUNK) {
			close(fd);
			return -EIO;
		}
	fsync(fd);
	return fd;
}

static int
disk(struct connection *c, const struct request *r, struct harm *h)
{
	static _Alignas(4096) char chunk[DISK_CHUNK];
	static int fd = -1; /* one thread serves /disk */
	long n = http_number(r, "n", 0), i;

	if (fd < 0)
		fd = disk_open(chunk);
	if (fd < 0)
		return http_respond(c->fd, 503, "no direct I/O there\n");
	h->begin = instant_now();
	for (i = 0; i < n; i++)
		if (pread(fd, chunk, DISK_CHUNK,
			(off_t)(i % DISK_CHUNKS) * (off_t)DISK_CHUNK) < 0)
			return -errno;
	h->end = instant_now();
	return http_respond(c->fd, 200, "read\n");
}

static int
big(struct connection *c, const struct request *r, struct harm *h)
{
	static const char chunk[BIG_CHUNK];
	size_t left = (size_t)http_number(r, "bytes", 0), n;
	char head[256];
	int err;

	(void)h; /* the harm is the client's */
	n = http_head(head, sizeof(head), 200, left);
	err = http_write(c->fd, head, n);
	for (; err == 0 && left > 0; left -= n) {
		n = left < sizeof(chunk) ? left : sizeof(chunk);
		err = http_write(c->fd, chunk, n);
	}
	return err;
}

/* One CPU's part of a storm. */
struct storm {
	pthread_t thread;
	int cpu;
	int64_t ns;
	uint64_t calls;
};

static void *
storm_main(void *arg)
{
	struct storm *s = arg;
	struct instant begin;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)s->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	begin = instant_now();
	do {
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
		s->calls += 1000;
	} while (instant_since(instant_now(), begin) < s->ns);
	return NULL;
}

static int
storm(struct connection *c, const struct request *r, struct harm *h)
{
	struct storm s[STORM_CPUS];
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), i, n = 0;
	char text[32 * STORM_CPUS];

	if (cpus > STORM_CPUS)
		cpus = STORM_CPUS;
	h->begin = instant_now();
	for (i = 0; i < cpus; i++) {
		s[i] = (struct storm){
		    .cpu = i, .ns = http_number(r, "us", 0) * NS_PER_US};
		if (pthread_create(&s[i].thread, NULL, storm_main, &s[i]) != 0)
			return -EAGAIN;
	}
	for (i = 0; i < cpus; i++) {
		pthread_join(s[i].thread, NULL);
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%llu\n",
		    (unsigned long long)s[i].calls);
	}
	h->end = instant_now();
	return http_respond(c->fd, 200, text);
}

static int
drop_next(struct connection *c, const struct request *r, struct harm *h)
{
	(void)r, (void)h; /* the harm is the next one's */
	c->drop_next = 1;
	return http_respond(c->fd, 200, "dropping the next\n");
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

injection *
injection_find(const char *path)
{
	static const struct {
		const char *path;
		injection *inject;
	} all[] = {
	    {"/", nothing},
	    {"/compute", compute},
	    {"/nagle", nagle},
	    {"/fault-huge", fault_huge},
	    {"/fault-small", fault_small},
	    {"/hold", hold},
	    {"/lock", lock},
	    {"/disk", disk},
	    {"/big", big},
	    {"/drop-next", drop_next},
	    {"/storm", storm},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(path, all[i].path) == 0)
			return all[i].inject;
	return NULL;
}
