/*
 * bench_kernel.c: what the kernel's events cost the machine.
 *
 * Four small workloads, each run by this process, whose events are recorded,
 * and by a child, whose are not; with each profile, in rotation, so that
 * what else the machine does meets all alike.  All on one CPU.  Figures are
 * the least of many short turns: what else ran meanwhile only adds to them.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/kernel/kernel.h"

#define TURNS 31
#define ROUNDS 500

struct workload {
	const char *name;
	void (*run)(unsigned rounds);
	unsigned rounds;
};

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
run_calls(unsigned rounds)
{
	while (rounds-- > 0)
		syscall(SYS_getppid);
}

static void
run_faults(unsigned rounds)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i;
	char *p = mmap(NULL, rounds * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, rounds * page, MADV_NOHUGEPAGE);
	for (i = 0; i < rounds; i++)
		p[i * page] = 1;
	munmap(p, rounds * page);
}

static void *
echo(void *arg)
{
	const int *fd = arg;
	char c;

	while (read(fd[0], &c, 1) == 1)
		if (write(fd[1], &c, 1) != 1)
			break;
	return NULL;
}

/* One byte there and back, out and in being ours, far those of the echo. */
static void
run_echo(unsigned rounds, int out, int in, int *far)
{
	pthread_t thread;
	char c = 0;

	if (pthread_create(&thread, NULL, echo, far) != 0)
		die("pthread_create");
	while (rounds-- > 0)
		if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
			die("echo");
	shutdown(out, SHUT_WR);
	close(out);
	pthread_join(thread, NULL);
}

static void
run_pipes(unsigned rounds)
{
	int there[2], back[2];

	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	run_echo(rounds, there[1], back[0], (int[2]){there[0], back[1]});
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

static void
run_tcp(unsigned rounds)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), c, s, on = 1;

	if (bind(l, (struct sockaddr *)&a, length) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (struct sockaddr *)&a, &length) < 0)
		die("listen");
	c = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(c, (struct sockaddr *)&a, length) < 0)
		die("connect");
	s = accept(l, NULL, NULL);
	setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	run_echo(rounds, dup(c), c, (int[2]){s, s});
	close(c);
	close(s);
	close(l);
}

static const struct workload workloads[] = {
    {"system call", run_calls, 50 * ROUNDS},
    {"page fault", run_faults, ROUNDS},
    {"pipe, there and back", run_pipes, ROUNDS},
    {"TCP, there and back", run_tcp, ROUNDS},
};
#define WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

#define PAUSE_NS (60 * NS_PER_S)

static const struct {
	const char *name;
	enum profiler_kernel profile;
	bool syscalls, paused, parked;
} profiles[] = {
    {"off", PROFILER_KERNEL_OFF, false, false, false},
    {"lite", PROFILER_KERNEL_LITE, false, false, false},
    {"lite, paused", PROFILER_KERNEL_LITE, false, true, false},
    {"lite, parked", PROFILER_KERNEL_LITE, false, true, true},
    {"sums, parked", PROFILER_KERNEL_SUMS, false, true, true},
    {"full", PROFILER_KERNEL_FULL, false, false, false},
    {"all", PROFILER_KERNEL_FULL, true, false, false},
};
#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

/* ns per round. */
static double
measure(const struct workload *w)
{
	struct instant begin = instant_now();

	w->run(w->rounds);
	return (double)instant_since(instant_now(), begin) / w->rounds;
}

static double
measure_stranger(const struct workload *w)
{
	double result = 0;
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0 || (pid = fork()) < 0)
		die("fork");
	if (pid == 0) {
		result = measure(w);
		_exit(write(fd[1], &result, sizeof(result)) < 0);
	}
	if (read(fd[0], &result, sizeof(result)) != sizeof(result))
		die("child");
	waitpid(pid, NULL, 0);
	close(fd[0]);
	close(fd[1]);
	return result;
}

static double took[2][WORKLOADS][PROFILES][TURNS];

static int
turn(unsigned t, unsigned profile)
{
	struct kernel_options o = {.profile = profiles[profile].profile,
	    .syscalls = profiles[profile].syscalls,
	    .slot_log2 = 13};
	struct profiler_signal_state state[PROFILER_SIGNALS];
	struct kernel *k = NULL;
	unsigned w;

	if (o.profile != PROFILER_KERNEL_OFF && kernel_new(&k, &o, state) < 0) {
		printf("not measured, because %s\n", state[0].why);
		return -1;
	}
	if (k != NULL)
		kernel_gate(k, profiles[profile].paused
				   ? instant_plus(instant_now(), PAUSE_NS)
				   : INSTANT_NONE);
	if (k != NULL && profiles[profile].parked)
		kernel_park(k, instant_now());
	for (w = 0; w < WORKLOADS; w++) {
		took[0][w][profile][t] = measure(&workloads[w]);
		took[1][w][profile][t] = measure_stranger(&workloads[w]);
	}
	kernel_free(&k);
	return 0;
}

static double
least(const double *value)
{
	double min = value[0];
	unsigned t;

	for (t = 1; t < TURNS; t++)
		if (value[t] < min)
			min = value[t];
	return min;
}

static void
report(unsigned who, unsigned w)
{
	const double(*of)[TURNS] = took[who][w];
	unsigned profile;

	for (profile = 0; profile < PROFILES; profile++)
		printf("%-22s %-9s %-15s %7.0f ns  %5.2f\n", workloads[w].name,
		    who == 0 ? "recorded" : "other", profiles[profile].name,
		    least(of[profile]), least(of[profile]) / least(of[0]));
}

int
main(void)
{
	unsigned t, i;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (t = 0; t < TURNS; t++)
		for (i = 0; i < PROFILES; i++)
			if (turn(t, (t + i) % PROFILES) < 0)
				return 0;
	for (i = 0; i < 2 * WORKLOADS; i++)
		report(i % 2, i / 2);
	return 0;
}
