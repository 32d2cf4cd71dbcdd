/* bench_parts.h: what the parts of the bench share.  Private to it. */
#pragma once

#include <time.h>

#include "tests/bench/shim/bench.h"
#include "shim/sampler.h"
#include "tests/bench/shim/workload.h"

struct bench {
	const struct bench_options *o;
	struct bench_result *r;
	struct workload *w;	/* owned; lines of its own */
	clockid_t writer_clock; /* CPU time of the running workload */
	void (*progress)(const char *what, unsigned percent);
};

/* A window of time, and whether both threads had whole CPUs in it. */
struct bench_window {
	uint64_t begin, cycles;
	double own_ns, writer_ns; /* CPU time */
	bool whole;
};

void bench_say(const struct bench *b, const char *what, unsigned percent);

/* Run the workload; workload_stop() ends it.  0 or a negative errno. */
int bench_writer_start(struct bench *b);

/* Begin and end a window around a measurement. */
void bench_window_begin(const struct bench *b, struct bench_window *w);
void bench_window_end(const struct bench *b, struct bench_window *w);

/* Sort ascending and return the middle one, n > 0. */
double bench_median(double *value, unsigned n);

/* How many values are <= value: exact at bucket edges and from the maximum on,
 * elsewhere without those in value's own bucket.  O(buckets). */
uint64_t histogram_count_to(const struct histogram *h, uint64_t value);

/* The travel time of a line from one CPU to the other: half a round trip. */
int bench_line(struct bench *b, double *out);

/* The shortest sampling period of a constant word, cycles. */
double bench_quiet(struct bench *b);

/* The parts; each fills in its part of the result.  0 or negative errno. */
int bench_costs(struct bench *b);
int bench_counted(struct bench *b);
int bench_rates(struct bench *b);
