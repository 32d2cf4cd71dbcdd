/*
 * bench_borrow.c: what batch work on a server's own CPU costs its requests.
 *
 *     bench_borrow [TAILOR [CPU [ROUNDS [SECONDS]]]]
 *
 * Requests arrive as a Poisson process; one thread on CPU serves them first
 * come, first served, each by computing for an exponential time of 300 us in
 * the mean.  Latency is from when a request was due.  Beside it on the same CPU
 * runs nobody, or a batch program (a session of its own, as in another
 * terminal) at normal priority, at nice 19, under SCHED_IDLE, or under
 * `tailor borrow`.
 *
 * All of them in each round, in random order, with the same arrivals; p99 is of
 * all rounds, its ratio to nobody's has the 95 % interval of 200 samples of the
 * rounds with replacement.  used: of the CPU, by both together.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/instant.h"
#include "base/random.h"

#define SERVICE_NS 300e3
#define ROUNDS_MAX 100
#define REQUESTS_MAX 100000
#define RESAMPLES 200
#define MEMORY (64 << 20)

enum mode { NOBODY, NORMAL, NICE_19, IDLE, BORROWED, MODES };
static const char *const mode_name[] = {
    "nobody", "normal", "nice 19", "SCHED_IDLE", "tailor borrow"};
static const char *const kinds[] = {"loop", "memory", "calls", "faults"};
static const double loads[] = {0.05, 0.3, 0.6};

/* What was measured in one round. */
struct block {
	float *latency_ms;
	unsigned requests;
	double used; /* of the CPU */
};
static struct block block[MODES][ROUNDS_MAX];

static const char *tailor = "build/tailor", *self;
static int cpu;
static double turns_per_ns;

_Noreturn static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- the batch program ---------------------------------------------------- */

static void
batch_memory(void)
{
	unsigned char *p = calloc(1, MEMORY);

	for (;;)
		for (size_t i = 0; p != NULL && i < MEMORY; i += 64)
			p[i]++;
}

static void
batch_calls(void)
{
	unsigned char *p = malloc(8 << 20);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (p != NULL && read(fd, p, 8 << 20) > 0)
		;
}

static void
batch_faults(void)
{
	for (;;) {
		unsigned char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			die("mmap");
		for (size_t i = 0; i < 1 << 20; i += 4096)
			p[i] = 1;
		munmap(p, 1 << 20);
	}
}

_Noreturn static void
batch(const char *kind)
{
	static volatile unsigned turns;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(kind, "memory") == 0)
		batch_memory();
	else if (strcmp(kind, "calls") == 0)
		batch_calls();
	else if (strcmp(kind, "faults") == 0)
		batch_faults();
	for (;;)
		turns++;
}

static pid_t
batch_start(enum mode mode, const char *kind)
{
	char at[16];
	const char *argv[MODES][10] = {[NORMAL] = {self, "batch", kind},
	    [NICE_19] = {"nice", "-n", "19", self, "batch", kind},
	    [IDLE] = {"chrt", "-i", "0", self, "batch", kind},
	    [BORROWED] = {
		tailor, "borrow", "-q", "--cpus", at, self, "batch", kind}};
	char *words[10];
	pid_t pid;

	if (mode == NOBODY)
		return 0;
	snprintf(at, sizeof(at), "%d", cpu);
	memcpy(words, argv[mode], sizeof(words));
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	setsid();
	execvp(words[0], words);
	die(words[0]);
}

/* End it; returns its CPU time, ns. */
static double
batch_end(pid_t pid)
{
	struct rusage u;

	if (pid == 0)
		return 0;
	kill(pid, SIGTERM);
	if (wait4(pid, NULL, 0, &u) < 0)
		die("wait4");
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

/* --- the server ----------------------------------------------------------- */

static void
compute(uint64_t turns)
{
	static volatile unsigned sink;

	while (turns-- > 0)
		sink++;
}

/* Find how fast compute() is while nothing disturbs it. */
static void
calibrate(void)
{
	struct instant begun;
	double rate;

	for (int i = 0; i < 200; i++) {
		begun = instant_now();
		compute(100000);
		rate = 1e5 / (double)instant_since(instant_now(), begun);
		if (rate > turns_per_ns)
			turns_per_ns = rate;
	}
}

static double
exponential(struct prng *p)
{
	return -log(1 - random_unit(prng_next(p)));
}

static double
own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * NS_PER_S + (double)t.tv_nsec;
}

/* Serve for some seconds; the seed decides the arrivals. */
static void
serve(struct block *out, double load, double seconds, uint64_t seed)
{
	struct instant begun = instant_now(), due = begun;
	struct timespec at;
	struct prng p;

	prng_init(&p, seed);
	out->requests = 0;
	for (;;) {
		double service_ns = exponential(&p) * SERVICE_NS;

		due = instant_plus(
		    due, (int64_t)(exponential(&p) * SERVICE_NS / load));
		if (instant_since(due, begun) > (int64_t)(seconds * 1e9) ||
		    out->requests == REQUESTS_MAX)
			break;
		at = (struct timespec){
		    (time_t)(due.ns / NS_PER_S), (long)(due.ns % NS_PER_S)};
		while (clock_nanosleep(
			   CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		compute((uint64_t)(service_ns * turns_per_ns));
		out->latency_ms[out->requests++] =
		    (float)instant_since(instant_now(), due) / 1e6F;
	}
}

static void
run_block(struct block *out, enum mode mode, const char *kind, double load,
    double seconds, uint64_t seed)
{
	struct instant begun = instant_now();
	double cpu_ns = own_cpu_ns();
	pid_t pid = batch_start(mode, kind);

	serve(out, load, seconds, seed);
	cpu_ns = own_cpu_ns() - cpu_ns + batch_end(pid);
	out->used = cpu_ns / (double)instant_since(instant_now(), begun);
}

/* --- figures -------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A quantile of a mode's latencies in these rounds. */
static double
quantile(enum mode mode, const unsigned *round, unsigned rounds, double q)
{
	static float all[ROUNDS_MAX * 4096];
	size_t n = 0;

	for (unsigned i = 0; i < rounds; i++) {
		const struct block *b = &block[mode][round[i]];

		for (unsigned k = 0; k < b->requests && n < COUNT(all); k++)
			all[n++] = b->latency_ms[k];
	}
	qsort(all, n, sizeof(all[0]), compare);
	return n > 0 ? (double)all[(size_t)(q * (double)(n - 1))] : NAN;
}

static void
report(double load, const char *kind, unsigned rounds)
{
	unsigned every[ROUNDS_MAX], some[ROUNDS_MAX];
	float ratio[RESAMPLES];
	struct prng p;

	for (unsigned i = 0; i < rounds; i++)
		every[i] = i;
	for (enum mode m = NOBODY; m < MODES; m++) {
		double used = 0;

		prng_init(&p, 1);
		for (unsigned s = 0; s < RESAMPLES; s++) {
			for (unsigned i = 0; i < rounds; i++)
				some[i] = (unsigned)(prng_next(&p) % rounds);
			ratio[s] =
			    (float)(quantile(m, some, rounds, 0.99) /
				    quantile(NOBODY, some, rounds, 0.99));
		}
		qsort(ratio, RESAMPLES, sizeof(ratio[0]), compare);
		for (unsigned i = 0; i < rounds; i++)
			used += block[m][i].used / rounds;
		printf("%3.0f %%  %-7s %-14s %7.3f %7.3f   %5.2f (%.2f to "
		       "%.2f)   %.3f\n",
		    load * 100, kind, mode_name[m],
		    quantile(m, every, rounds, 0.5),
		    quantile(m, every, rounds, 0.99),
		    quantile(m, every, rounds, 0.99) /
			quantile(NOBODY, every, rounds, 0.99),
		    (double)ratio[RESAMPLES / 40],
		    (double)ratio[RESAMPLES - 1 - RESAMPLES / 40], used);
	}
	fflush(stdout);
}

static void
measure(double load, const char *kind, unsigned rounds, double seconds)
{
	enum mode order[MODES] = {NOBODY};
	struct prng p;

	prng_init(&p, (uint64_t)(load * 100));
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned m = 0; m < MODES; m++) {
			unsigned k = (unsigned)(prng_next(&p) % (m + 1));

			order[m] = order[k];
			order[k] = (enum mode)m;
		}
		for (unsigned m = 0; m < MODES; m++)
			run_block(&block[order[m]][i], order[m], kind, load,
			    seconds, i);
	}
	report(load, kind, rounds);
}

int
main(int argc, char **argv)
{
	unsigned rounds = 10;
	double seconds = 1;
	cpu_set_t set;

	if (argc > 2 && strcmp(argv[1], "batch") == 0)
		batch(argv[2]);
	self = argv[0];
	if (argc > 1)
		tailor = argv[1];
	if (argc > 2)
		cpu = (int)strtol(argv[2], NULL, 10);
	if (argc > 3)
		rounds = (unsigned)strtoul(argv[3], NULL, 10);
	if (argc > 4)
		seconds = strtod(argv[4], NULL);
	if (rounds < 1 || rounds > ROUNDS_MAX)
		rounds = ROUNDS_MAX;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
	for (unsigned m = 0; m < MODES; m++)
		for (unsigned i = 0; i < rounds; i++)
			block[m][i].latency_ms =
			    calloc(REQUESTS_MAX, sizeof(float));
	calibrate();
	puts("load  batch   beside             p50     p99   p99 to nobody "
	     "(95 %)  used");
	for (unsigned l = 0; l < COUNT(loads); l++)
		for (unsigned k = 0; k < COUNT(kinds); k++)
			measure(loads[l], kinds[k], rounds, seconds);
	return 0;
}
