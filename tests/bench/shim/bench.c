/* bench.c: the experiments, one after the other. */
#include "tests/bench/shim/bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/instant.h"
#include "base/topology.h"
#include "tests/bench/shim/bench_parts.h"
#include "profiler/counters/cycles.h"

#define WHOLE 0.9 /* least share of a window on the CPU */
#define STEP_READINGS 100000

/* The clock's step: all differences are multiples of it.  Many clocks count in
 * steps of more than one tick (26 of 2596 MHz: one of 100 MHz). */
static uint64_t
cycles_step(void)
{
	uint64_t last = cycles_in_order(), step = 0, now, apart, rest;

	for (unsigned i = 0; i < STEP_READINGS; i++) {
		now = cycles_in_order();
		apart = now - last;
		last = now;
		/* Euclid: the greatest common divisor so far. */
		while (apart != 0) {
			rest = step % apart;
			step = apart;
			apart = rest;
		}
	}
	return step;
}

double
bench_median(double *value, unsigned n)
{
	array_sort_double(value, n);
	return value[n / 2];
}

void
bench_say(const struct bench *b, const char *what, unsigned percent)
{
	if (b->progress != NULL)
		b->progress(what, percent);
}

static double
clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		return 0;
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int
bench_writer_start(struct bench *b)
{
	int err = workload_start(b->w, b->o->producer_cpu);

	if (err < 0)
		return err;
	err = -pthread_getcpuclockid(b->w->thread, &b->writer_clock);
	if (err < 0)
		workload_stop(b->w);
	return err;
}

void
bench_window_begin(const struct bench *b, struct bench_window *w)
{
	w->own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	w->writer_ns = clock_ns(b->writer_clock);
	w->begin = cycles_in_order();
}

void
bench_window_end(const struct bench *b, struct bench_window *w)
{
	double ns;

	w->cycles = cycles_in_order() - w->begin;
	w->writer_ns = clock_ns(b->writer_clock) - w->writer_ns;
	w->own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - w->own_ns;
	ns = (double)w->cycles / b->r->hz * 1e9;
	w->whole = w->own_ns > WHOLE * ns && w->writer_ns > WHOLE * ns;
}

/* Whether two CPUs are lanes of one core. */
static bool
siblings(int one, int other)
{
	struct topology *t;
	cpu_set_t beside;

	if (topology_open(&t, NULL) < 0)
		return false;
	topology_neighbours(t, one, &beside);
	topology_close(&t);
	return CPU_ISSET((size_t)other, &beside);
}

/* The host may move our CPUs: measure the line's travel time repeatedly. */
static int
parts(struct bench *b)
{
	double *line = b->r->line_cycles;
	int err = bench_line(b, &line[0]);

	if (err == 0)
		err = bench_costs(b);
	if (err == 0)
		err = bench_counted(b);
	if (err == 0)
		err = bench_line(b, &line[1]);
	if (err == 0)
		err = bench_rates(b);
	return err < 0 ? err : bench_line(b, &line[2]);
}

int
bench_run(struct bench_result *out, const struct bench_options *options,
    void (*progress)(const char *what, unsigned percent))
{
	struct bench b = {.o = options, .r = out, .progress = progress};
	struct instant begun;
	uint64_t pushed;
	int err;

	if (options->piece_ns < NS_PER_MS ||
	    options->piece_ns > 3600 * NS_PER_S)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	/* Before we are pinned: afterwards no other CPU is allowed. */
	out->siblings = siblings(options->producer_cpu, options->observer_cpu);
	err = workload_pin(options->observer_cpu);
	if (err < 0)
		return err;
	out->hz = cycles_hz();
	out->clock_step = (double)cycles_step();
	b.w = aligned_alloc(_Alignof(struct workload), sizeof(*b.w));
	if (b.w == NULL)
		return -ENOMEM;
	memset(b.w, 0, sizeof(*b.w));
	pushed = workload_pushed();
	begun = instant_now();
	out->quiet_cycles = bench_quiet(&b);
	err = parts(&b);
	out->took_s = (double)instant_since(instant_now(), begun) / 1e9;
	out->pushed = workload_pushed() - pushed + b.w->pushed;
	bench_say(&b, "done", 100);
	free(b.w);
	return err;
}
