/*
 * bench_pairs.c: how soon batch work leaves the CPU beside a busy one.
 *
 *     bench_pairs [TAILOR [CPU BESIDE [ROUNDS [SECONDS]]]]
 *
 * Requests arrive as a Poisson process and are served by one thread on CPU,
 * which sleeps between them; two CPUs of any machine can play the part.  On
 * BESIDE runs nothing, or a batch loop: free, under `tailor borrow --pairs`
 * (guard), or under it and asking itself (talechain/talechain_borrow.h).
 *
 * All of them in each round, with the same arrivals.  A batch loop stores when
 * it did not run; stop and resume are from the switch to the server's thread,
 * and from it (lanes/), until then.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/instant.h"
#include "base/random.h"
#include "lanes/lanes.h"
#include "talechain/talechain_borrow.h"

#define SPANS (1 << 20)
#define GAP_NS 1000 /* shorter ones are the loop's own */

enum mode { ALONE, FREE, GUARDED, ASKING, MODES };
static const char *const mode_name[] = {"alone", "free", "guarded", "asking"};
static const double service_us[] = {300, 2000};
static const double loads[] = {0.05, 0.3, 0.6};

struct span {
	uint64_t from, to;
	uint64_t resume_ns; /* of a gap that ended in idle time; else 0 */
};

/* Shared with the batch loop. */
struct gaps {
	atomic_uint count;
	atomic_ullong first, last; /* it ran between these */
	struct span gap[SPANS];
};
static struct gaps *gaps;

/* What a mode's rounds have given. */
struct figures {
	double *stop_us, *resume_us, *begin_us, *latency_ms;
	size_t stops, resumes, requests;
	double busy_ns, idle_ns, overlap_ns, used_ns;
};

#define SHARED "/dev/shm/tailor-bench-pairs"
static const char *tailor = "build/tailor", *self;
static int cpu = 0, beside = 1;

_Noreturn static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
pin(int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)to, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

/* --- the batch loop ------------------------------------------------------- */

_Noreturn static void
batch(bool asks)
{
	const volatile struct talechain_lane *core;
	struct talechain_borrow b = {.hold = &talechain_borrow_none};
	uint64_t now, before;
	const char *fd;
	void *at = NULL;
	struct span gap;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = getenv(TALECHAIN_BORROW);
	core = fd == NULL ? NULL
			  : talechain_borrow_map(&at, (int)strtol(fd, NULL, 10),
				sizeof(*core), PROT_READ);
	if (core == NULL)
		die(TALECHAIN_BORROW);
	core += beside;
	if (asks && talechain_borrow_open(&b, 0) < 0)
		die("talechain_borrow_open");
	before = instant_now().ns;
	atomic_store(&gaps->first, before);
	for (;;) {
		unsigned n = atomic_load(&gaps->count);

		if (asks)
			talechain_borrow_check(&b);
		now = instant_now().ns;
		if (now - before > GAP_NS && n < SPANS) {
			gap = (struct span){before, now, 0};
			if (core->hold == 0 && core->changed_ns > before &&
			    core->changed_ns < now)
				gap.resume_ns = now - core->changed_ns;
			gaps->gap[n] = gap;
			atomic_store(&gaps->count, n + 1);
		}
		atomic_store_explicit(&gaps->last, now, memory_order_relaxed);
		before = now;
	}
}

static pid_t
batch_start(enum mode mode)
{
	char pair[32], at[16];
	char *argv[MODES][12] = {
	    [FREE] = {"taskset", "-c", at, (char *)(uintptr_t)self, "batch",
		at},
	    [GUARDED] = {(char *)(uintptr_t)tailor, "borrow", "-q", "--pairs",
		pair, (char *)(uintptr_t)self, "batch", at},
	    [ASKING] = {(char *)(uintptr_t)tailor, "borrow", "-q", "--pairs",
		pair, (char *)(uintptr_t)self, "batch", at, "asks"},
	};
	pid_t pid;

	atomic_store(&gaps->count, 0);
	atomic_store(&gaps->first, 0);
	if (mode == ALONE)
		return 0;
	snprintf(pair, sizeof(pair), "%d:%d", cpu, beside);
	snprintf(at, sizeof(at), "%d", beside);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		cpu_set_t both;

		CPU_ZERO(&both);
		CPU_SET((size_t)cpu, &both);
		CPU_SET((size_t)beside, &both);
		sched_setaffinity(0, sizeof(both), &both);
		setsid();
		execvp(argv[mode][0], argv[mode]);
		die(argv[mode][0]);
	}
	for (int i = 0; atomic_load(&gaps->first) == 0; i++) {
		if (i == 10000)
			die("the batch loop does not begin");
		usleep(1000);
	}
	return pid;
}

/* --- the server ----------------------------------------------------------- */

static double
exponential(struct prng *p)
{
	return -log(1 - random_unit(prng_next(p)));
}

/* Serve for some seconds; busy: when it computed.  Returns how many times. */
static size_t
serve(const volatile struct talechain_lane *core, struct figures *f,
    struct span *busy, double load, double service_ns, double seconds,
    uint64_t seed)
{
	struct instant begun = instant_now(), due = begun, now;
	struct timespec at;
	size_t n = 0;
	struct prng p;

	prng_init(&p, seed);
	for (;;) {
		double ns = exponential(&p) * service_ns;

		due = instant_plus(
		    due, (int64_t)(exponential(&p) * service_ns / load));
		if (instant_since(due, begun) > (int64_t)(seconds * 1e9) ||
		    n == SPANS || f->requests == SPANS)
			return n;
		at = (struct timespec){
		    (time_t)(due.ns / NS_PER_S), (long)(due.ns % NS_PER_S)};
		now = instant_now();
		if (n == 0 || instant_before(now, due)) {
			while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				   &at, NULL) == EINTR)
				;
			now = instant_now();
			f->begin_us[f->requests] =
			    (double)instant_since(now, due) / 1e3;
			busy[n].from = core->changed_ns;
			if (n > 0 && busy[n].from < busy[n - 1].to)
				busy[n].from = now.ns; /* it did not idle */
			n++;
		} else {
			f->begin_us[f->requests] = NAN;
		}
		while (instant_since(instant_now(), now) < (int64_t)ns)
			;
		now = instant_now();
		busy[n - 1].to = now.ns;
		f->latency_ms[f->requests++] =
		    (double)instant_since(now, due) / 1e6;
	}
}

/* --- figures -------------------------------------------------------------- */

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* How long batch work ran within a span, ns; *stopped: since when it did not
 * for the first time in it, 0 if it always did. */
static uint64_t
ran_in(struct span s, unsigned *at, uint64_t *stopped)
{
	unsigned n = atomic_load(&gaps->count);
	uint64_t begin = s.from, ran_ns = 0;

	*stopped = 0;
	while (*at < n && gaps->gap[*at].to <= s.from)
		++*at;
	for (unsigned i = *at; i < n && gaps->gap[i].from < s.to; i++) {
		struct span gap = gaps->gap[i];

		if (gap.from > begin)
			ran_ns += gap.from - begin;
		if (*stopped == 0)
			*stopped = later(gap.from, s.from);
		begin = later(gap.to, begin);
	}
	if (begin < s.to)
		ran_ns += s.to - begin;
	return ran_ns;
}

static void
account(struct figures *f, enum mode mode, const struct span *busy, size_t n)
{
	uint64_t stopped;
	unsigned at = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		struct span idle = {busy[i].to, busy[i + 1].from, 0};

		f->busy_ns += (double)(busy[i].to - busy[i].from);
		f->idle_ns += (double)(idle.to - idle.from);
		if (mode == ALONE)
			continue;
		f->overlap_ns += (double)ran_in(busy[i], &at, &stopped);
		if (stopped != 0 && f->stops < SPANS)
			f->stop_us[f->stops++] =
			    (double)(stopped - busy[i].from) / 1e3;
		f->used_ns += (double)ran_in(idle, &at, &stopped);
	}
	for (unsigned i = 0; i < atomic_load(&gaps->count); i++)
		if (gaps->gap[i].resume_ns != 0 && f->resumes < SPANS)
			f->resume_us[f->resumes++] =
			    (double)gaps->gap[i].resume_ns / 1e3;
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return isnan(*x) ? !isnan(*y) : isnan(*y) ? -1 : (*x > *y) - (*x < *y);
}

static double
quantile(double *v, size_t n, double q)
{
	qsort(v, n, sizeof(v[0]), compare);
	while (n > 0 && isnan(v[n - 1]))
		n--;
	return n > 0 ? v[(size_t)(q * (double)(n - 1))] : NAN;
}

static void
figures_init(struct figures *f)
{
	*f = (struct figures){.stop_us = calloc(SPANS, sizeof(double)),
	    .resume_us = calloc(SPANS, sizeof(double)),
	    .begin_us = calloc(SPANS, sizeof(double)),
	    .latency_ms = calloc(SPANS, sizeof(double))};
	if (f->stop_us == NULL || f->resume_us == NULL || f->begin_us == NULL ||
	    f->latency_ms == NULL)
		die("calloc");
}

static void
measure(const volatile struct talechain_lane *core, double load, double us,
    unsigned rounds, double seconds)
{
	static struct figures figures[MODES];
	static struct span busy[SPANS];

	for (unsigned m = 0; m < MODES; m++)
		if (figures[m].stop_us == NULL)
			figures_init(&figures[m]);
	for (unsigned i = 0; i < rounds; i++)
		for (unsigned k = 0; k < MODES; k++) {
			enum mode m = (enum mode)((k + i) % MODES);
			struct figures *f = &figures[m];
			pid_t pid = batch_start(m);
			size_t n =
			    serve(core, f, busy, load, us * 1e3, seconds, i);

			if (pid != 0) {
				kill(pid, SIGTERM);
				waitpid(pid, NULL, 0);
			}
			account(f, m, busy, n);
		}
	for (unsigned m = 0; m < MODES; m++) {
		struct figures *f = &figures[m];

		printf("%3.0f %%  %4.0f us  %-8s %6.1f %6.1f   %6.1f %6.1f   "
		       "%6.2f %6.1f   %6.1f   %7.3f\n",
		    load * 100, us, mode_name[m],
		    quantile(f->stop_us, f->stops, 0.5),
		    quantile(f->stop_us, f->stops, 0.99),
		    quantile(f->resume_us, f->resumes, 0.5),
		    quantile(f->resume_us, f->resumes, 0.99),
		    100 * f->overlap_ns / f->busy_ns,
		    100 * f->used_ns / f->idle_ns,
		    quantile(f->begin_us, f->requests, 0.5),
		    quantile(f->latency_ms, f->requests, 0.99));
		f->stops = f->resumes = f->requests = 0;
		f->busy_ns = f->idle_ns = f->overlap_ns = f->used_ns = 0;
	}
	fflush(stdout);
}

static void
gaps_map(void)
{
	int fd = open(SHARED, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*gaps)) < 0)
		die(SHARED);
	gaps = mmap(
	    NULL, sizeof(*gaps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (gaps == MAP_FAILED)
		die(SHARED);
}

int
main(int argc, char **argv)
{
	static struct lanes_pairs pairs;
	const volatile struct talechain_lane *core;
	char why[LANES_WHY], pair[32];
	unsigned rounds = 4;
	struct lanes *lanes;
	double seconds = 2;

	gaps_map();
	if (argc > 1 && strcmp(argv[1], "batch") == 0) {
		beside = (int)strtol(argv[2], NULL, 10);
		batch(argc > 3);
	}
	self = argv[0];
	if (argc > 1)
		tailor = argv[1];
	if (argc > 3) {
		cpu = (int)strtol(argv[2], NULL, 10);
		beside = (int)strtol(argv[3], NULL, 10);
	}
	if (argc > 4)
		rounds = (unsigned)strtoul(argv[4], NULL, 10);
	if (argc > 5)
		seconds = strtod(argv[5], NULL);
	snprintf(pair, sizeof(pair), "%d:%d", cpu, beside);
	if (lanes_pairs_parse(&pairs, pair, why) < 0 ||
	    lanes_open(&lanes, &pairs, why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	lanes_pass_on(lanes);
	core = &lanes_words(lanes)[beside];
	pin(cpu);
	prctl(PR_SET_TIMERSLACK, 1);
	puts("load  service  beside   stop us:     resume us:      % of  % of "
	     "   begin us   latency ms\n"
	     "                          p50    p99      p50    p99     busy  "
	     "idle      p50         p99");
	for (unsigned k = 0; k < COUNT(service_us); k++)
		for (unsigned l = 0; l < COUNT(loads); l++)
			measure(core, loads[l], service_us[k], rounds, seconds);
	unlink(SHARED);
	return 0;
}
