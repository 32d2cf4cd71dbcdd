/* cost.c: timing small pieces of work under each profile.
 *
 * The work is done in child processes: one that the kernel source watches
 * like a server, and one that it does not know. */
#include "profiler/cost.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "profiler/kernel/kernel.h"

#define ROUNDS_MAX 100
#define SLICE_NS (12 * NS_PER_MS)
#define SLOT_LOG2 12
#define PAGES 256
#define CALLS_AT_ONCE 64

static const char *const work_names[] = {
#define COST_X(symbol, name, meaning) name,
    COST_WORKS(COST_X)
#undef COST_X
};
static const char *const work_meanings[] = {
#define COST_X(symbol, name, meaning) meaning,
    COST_WORKS(COST_X)
#undef COST_X
};
static const char *const profile_names[] = {"off", "lite", "full", "all"};

const char *
cost_work_name(enum cost_work work)
{
	return work_names[work];
}

const char *
cost_work_meaning(enum cost_work work)
{
	return work_meanings[work];
}

const char *
cost_profile_name(enum cost_profile profile)
{
	return profile_names[profile];
}

/* --- the work ------------------------------------------------------------- */

/* Echo bytes until the end of the connection. */
static void *
echo_main(void *user)
{
	int fd = *(const int *)user;
	char bytes[64];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, (size_t)n) != n)
			break;
	close(fd);
	return NULL;
}

/* Exchange bytes with a thread at the other end of a pair; ns each, or -1. */
static double
bounce(int mine, int other)
{
	char bytes[64] = "";
	struct instant begin, now;
	pthread_t thread;
	unsigned n = 0;

	if (pthread_create(&thread, NULL, echo_main, &other) != 0)
		return -1;
	begin = now = instant_now();
	while (instant_since(now, begin) < SLICE_NS) {
		if (write(mine, bytes, sizeof(bytes)) != sizeof(bytes) ||
		    recv(mine, bytes, sizeof(bytes), MSG_WAITALL) !=
			sizeof(bytes))
			break;
		n++;
		now = instant_now();
	}
	shutdown(mine, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(mine);
	return n > 0 ? (double)instant_since(now, begin) / n : -1;
}

static double
work_switch(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	return bounce(pair[0], pair[1]);
}

/* A loopback connection within this process.  0 or -1. */
static int
tcp_pair(int pair[2])
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	int err = -1;

	pair[0] = pair[1] = -1;
	if (listener < 0)
		return -1;
	if (bind(listener, (struct sockaddr *)&a, size) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &size) < 0)
		goto out;
	pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (pair[0] < 0 || connect(pair[0], (struct sockaddr *)&a, size) < 0)
		goto out;
	pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (pair[1] < 0)
		goto out;
	setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(pair[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	err = 0;
out:
	close(listener);
	if (err < 0 && pair[0] >= 0)
		close(pair[0]);
	return err;
}

static double
work_tcp(void)
{
	int pair[2];

	return tcp_pair(pair) < 0 ? -1 : bounce(pair[0], pair[1]);
}

static double
work_fault(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page, i;
	struct instant begin, end;
	int64_t spent_ns = 0;
	unsigned n = 0;
	volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	madvise((void *)(uintptr_t)p, bytes, MADV_NOHUGEPAGE);
	while (spent_ns < SLICE_NS) {
		begin = instant_now();
		for (i = 0; i < bytes; i += page)
			p[i] = 1;
		end = instant_now();
		spent_ns += instant_since(end, begin);
		n += PAGES;
		madvise((void *)(uintptr_t)p, bytes, MADV_DONTNEED);
	}
	munmap((void *)(uintptr_t)p, bytes);
	return (double)spent_ns / n;
}

static double
work_call(void)
{
	struct instant begin = instant_now(), now = begin;
	unsigned n = 0;

	while (instant_since(now, begin) < SLICE_NS) {
		for (unsigned i = 0; i < CALLS_AT_ONCE; i++)
			syscall(SYS_getppid);
		n += CALLS_AT_ONCE;
		now = instant_now();
	}
	return (double)instant_since(now, begin) / n;
}

static void
work_all(double ns[COST_WORK_COUNT])
{
	ns[COST_SWITCH] = work_switch();
	ns[COST_TCP] = work_tcp();
	ns[COST_FAULT] = work_fault();
	ns[COST_CALL] = work_call();
}

/* --- processes that do it ------------------------------------------------- */

/* A child that does the work once for each byte it is sent. */
struct worker {
	pid_t pid;
	int fd; /* owned */
};

static void __attribute__((noreturn)) worker_main(int fd)
{
	double ns[COST_WORK_COUNT];
	cpu_set_t set, one;
	char go;
	int cpu;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* On one CPU each exchange is exactly two switches. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
			if (CPU_ISSET((size_t)cpu, &set)) {
				CPU_ZERO(&one);
				CPU_SET((size_t)cpu, &one);
				sched_setaffinity(0, sizeof(one), &one);
				break;
			}
	while (read(fd, &go, 1) == 1) {
		work_all(ns);
		if (write(fd, ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

static int
worker_start(struct worker *w, const struct worker *before)
{
	int pair[2], err;

	w->fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	fflush(NULL); /* the child must not write our buffered output */
	w->pid = fork();
	if (w->pid < 0) {
		err = -errno;
		close(pair[0]);
		close(pair[1]);
		return err;
	}
	if (w->pid == 0) {
		close(pair[0]);
		if (before != NULL)
			close(before->fd);
		worker_main(pair[1]);
	}
	close(pair[1]);
	w->fd = pair[0];
	return 0;
}

static int
worker_work(const struct worker *w, double ns[COST_WORK_COUNT])
{
	size_t bytes = COST_WORK_COUNT * sizeof(double);

	if (write(w->fd, "", 1) != 1 ||
	    recv(w->fd, ns, bytes, MSG_WAITALL) != (ssize_t)bytes)
		return -EPIPE;
	return 0;
}

static void
worker_stop(struct worker *w)
{
	if (w->fd < 0)
		return;
	close(w->fd);
	waitpid(w->pid, NULL, 0);
}

/* --- the measurement ------------------------------------------------------ */

/* Results of all rounds, [watched?][work][profile][round]. */
struct costs {
	double ns[2][COST_WORK_COUNT][COST_PROFILES][ROUNDS_MAX];
};

static int
kernel_for(struct kernel **out, enum cost_profile profile,
    struct profiler_signal_state *state)
{
	struct kernel_options o = {
	    .profile = profile == COST_LITE ? PROFILER_KERNEL_LITE
					    : PROFILER_KERNEL_FULL,
	    .syscalls = profile == COST_ALL,
	    .slot_log2 = SLOT_LOG2,
	    .first_number = 1,
	};

	*out = NULL;
	return profile == COST_BARE ? 0 : kernel_new(out, &o, state);
}

static int
cost_round(struct costs *c, unsigned round, struct worker worker[2])
{
	struct profiler_signal_state state[PROFILER_SIGNALS];
	double ns[COST_WORK_COUNT] = {0};
	unsigned profile, who, work;
	struct kernel *k;
	int err;

	for (profile = 0; profile < COST_PROFILES; profile++) {
		err = kernel_for(&k, (enum cost_profile)profile, state);
		if (err < 0)
			return err;
		if (k != NULL)
			kernel_watch(k, 0, worker[1].pid, true);
		for (who = 0; err == 0 && who < 2; who++) {
			err = worker_work(&worker[who], ns);
			for (work = 0; work < COST_WORK_COUNT; work++)
				c->ns[who][work][profile][round] = ns[work];
		}
		kernel_free(&k);
		if (err < 0)
			return err;
	}
	return 0;
}

/* The best of the rounds: interference can only add time. */
static double
best(const double *v, unsigned n)
{
	double least = v[0];

	for (unsigned i = 1; i < n; i++)
		if (v[i] < least)
			least = v[i];
	return least;
}

/* The signals that can be on with everything enabled. */
static int
cost_signals(struct profiler_signal_state *state)
{
	struct kernel_options o = {.profile = PROFILER_KERNEL_FULL,
	    .syscalls = true,
	    .sums = true,
	    .slot_log2 = SLOT_LOG2,
	    .first_number = 1};
	struct kernel *k;
	int err = kernel_new(&k, &o, state);

	kernel_free(&k);
	return err;
}

int
cost_measure(
    struct cost *out, unsigned rounds, struct profiler_signal_state *state)
{
	struct worker worker[2] = {{0, -1}, {0, -1}};
	struct costs *c;
	unsigned profile;
	int err = cost_signals(state);

	if (err < 0)
		return err;
	if (rounds < 1 || rounds > ROUNDS_MAX)
		return -EINVAL;
	c = malloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	err = worker_start(&worker[0], NULL);
	if (err == 0)
		err = worker_start(&worker[1], &worker[0]);
	for (unsigned i = 0; err == 0 && i < rounds; i++)
		err = cost_round(c, i, worker);
	worker_stop(&worker[0]);
	worker_stop(&worker[1]);
	for (unsigned i = 0; err == 0 && i < COST_WORK_COUNT; i++)
		for (profile = 0; profile < COST_PROFILES; profile++) {
			out->others_ns[i][profile] =
			    best(c->ns[0][i][profile], rounds);
			out->watched_ns[i][profile] =
			    best(c->ns[1][i][profile], rounds);
		}
	free(c);
	return err;
}
