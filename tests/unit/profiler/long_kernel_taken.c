/*
 * Goal: what the host and interrupts take of a thread's run is reported, and
 * never more than other clocks show: the kernel's account of the host, and the
 * gaps that a thread sees which does nothing but look at the clock.
 *
 * Long: shares of a sum are compared, and on a busy machine much more is in
 * the gaps than interrupts.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel_events.h"
#include "profiler/rates/steal.h"

#define RUNS 20
#define RUN_NS (15 * NS_PER_MS)
#define GAP_NS 1000 /* looking at the clock takes less */

/* How long this thread has waited for a CPU, ns: other threads had it. */
static int64_t
waited_by_now(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	long long ran_ns, waited_ns;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lld %lld", &ran_ns, &waited_ns), 2);
	fclose(f);
	return waited_ns;
}

/* Look at the clock for so long; the sum of all that took long. */
static int64_t
spin_gaps(int64_t ns)
{
	struct instant begin = instant_now(), last = begin, now;
	int64_t gaps = 0, gap;

	do {
		now = instant_now();
		gap = instant_since(now, last);
		if (gap >= GAP_NS)
			gaps += gap;
		last = now;
	} while (instant_since(now, begin) < ns);
	return gaps;
}

#define TICK_NS (10 * NS_PER_MS)

/* What /proc/stat says was stolen from a CPU, ns; -1: nothing. */
static int64_t
stolen_by_then(unsigned cpu)
{
	uint64_t ticks[STEAL_CPUS] = {0};
	char text[65536];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return steal_parse(text, ticks) == 0 ? -1
					     : (int64_t)ticks[cpu] * TICK_NS;
}

/* Goal: no more is reported as stolen from a thread than the kernel's own
 * account of its CPU grew, nor more than the thread ran. */
TEST(test_stolen)
{
	uint32_t me = (uint32_t)gettid();
	int64_t before_ns, after_ns, stolen_ns = 0;
	struct recording r;
	unsigned cpu = 0;

	recording_open_usual(&r);
	usable_cpus(&cpu, 1);
	run_on(cpu);
	before_ns = stolen_by_then(cpu);
	recording_begin(&r);
	for (unsigned i = 0; i < RUNS; i++) {
		spin(RUN_NS);
		usleep(500);
	}
	recording_end(&r);
	spin(TICK_NS); /* the next tick accounts for the last */
	after_ns = stolen_by_then(cpu);
	for (unsigned i = 0; i < r.count; i++) {
		if (r.event[i].type != TALECHAIN_STEAL)
			continue;
		assert_true(r.event[i].arg[0] >= KERNEL_TAKEN_NS);
		assert_true(r.event[i].arg[0] <= r.event[i].arg[1] + TICK_NS);
		if (r.event[i].tid == me)
			stolen_ns += (int64_t)r.event[i].arg[0];
	}
	print_message("stolen: %lld us in events, %lld in /proc/stat\n",
	    (long long)stolen_ns / 1000,
	    (long long)(after_ns - before_ns) / 1000);
	assert_true(stolen_ns <= after_ns - before_ns + TICK_NS);
	recording_close(&r);
}

/* The kernel lowers the rate of perf's timers where they take long. */
static bool
interrupts_limited(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	long rate = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld", &rate), 1);
	fclose(f);
	return rate < NS_PER_S / INTERRUPT_EVERY;
}

/* Goal: of the gaps that a thread sees, what interrupts took is reported, and
 * not more; each event lies within its run. */
TEST(test_interrupted)
{
	uint32_t me = (uint32_t)gettid();
	int64_t gaps_ns = 0, handled_ns = 0, stolen_ns = 0, waited_ns = 0;
	const struct talechain_event *e;
	uint64_t handlers = 0;
	struct recording r;
	unsigned cpu = 0;
	int fd;

	recording_open_usual(&r);
	usable_cpus(&cpu, 1);
	run_on(cpu);
	fd = interrupts_open();
	if (fd < 0)
		print_message("no timer of perf: only the kernel's ticks\n");
	recording_begin(&r);
	usleep(500);
	for (unsigned i = 0; i < RUNS; i++) {
		waited_ns -= waited_by_now();
		gaps_ns += spin_gaps(RUN_NS);
		waited_ns += waited_by_now();
		usleep(500);
	}
	recording_end(&r);
	for (unsigned i = 0; i < r.count; i++) {
		e = &r.event[i];
		if (e->tid != me)
			continue;
		if (e->type == TALECHAIN_STEAL)
			stolen_ns += (int64_t)e->arg[0];
		if (e->type != TALECHAIN_INTERRUPT)
			continue;
		assert_true(e->arg[0] >= KERNEL_TAKEN_NS);
		assert_true(e->arg[0] <= e->arg[1]);
		assert_true(e->arg[2] > 0);
		handled_ns += (int64_t)e->arg[0];
		handlers += e->arg[2];
	}
	print_message("%llu handlers: %lld us in events, %lld in gaps, of "
		      "which %lld waiting for the CPU\n",
	    (unsigned long long)handlers, (long long)handled_ns / 1000,
	    (long long)gaps_ns / 1000, (long long)waited_ns / 1000);
	/* Those outside the loop are in no gap. */
	assert_true(handled_ns <= gaps_ns + 2 * RUNS * KERNEL_TAKEN_NS);
	if (fd >= 0 && interrupts_limited()) {
		print_message("perf's timers are limited: too few to judge\n");
	} else if (fd >= 0) {
		assert_true(handlers >= RUNS * RUN_NS / INTERRUPT_EVERY / 20);
		assert_true(
		    handled_ns >= (gaps_ns - waited_ns - stolen_ns) / 4);
	}
	if (fd >= 0)
		close(fd);
	recording_close(&r);
}
