/* plan.h: the requests of a run and their schedule, from the command line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arrivals {
	ARRIVALS_POISSON, /* exponential gaps */
	ARRIVALS_UNIFORM, /* equal gaps */
	ARRIVALS_FILE,	  /* instants from a file (trace_read) */
	ARRIVALS_CLOSED,  /* closed loop: each response triggers a request */
};

#define PLAN_HEADERS_MAX 64
#define PLAN_REQUESTS_MAX 100000000u
#define PLAN_CONNECTIONS_MAX 60000u

/* All text is borrowed from argv. */
struct plan {
	/* load */
	double rate_per_s;
	uint64_t requests;   /* per iteration, >= 1 */
	uint64_t iterations; /* >= 1 */
	enum arrivals arrivals;
	uint64_t closed_clients; /* for ARRIVALS_CLOSED */
	const int64_t *trace_ns; /* borrowed; instants of ARRIVALS_FILE */
	uint64_t seed;
	uint64_t warmup; /* requests before each iteration */
	int64_t pause_ns;
	uint64_t connections;
	uint64_t max_connections;
	int64_t timeout_ns;
	bool spin;

	/* request */
	const char *method;
	const char *headers[PLAN_HEADERS_MAX]; /* "Name: value" */
	unsigned header_count;
	const char *data;
	bool expected_status[600];
	bool kernel_stamps;
};

/* When each request is due, computed before the first is sent.
 *
 * A Poisson process has gaps -log1p(-u)/rate with u in [0, 1) of xoshiro256**
 * (base/random.h), seeded with the iteration's seed.  Each gap is rounded to
 * whole nanoseconds before it is added, so the same seed gives the same
 * instants on every machine, for ever; tests hold vectors.
 *
 * Warm-up requests have a random stream of their own: changing their number
 * does not change the gaps of the measured requests. */
/* "poisson", "uniform", "file", "closed". */
const char *arrivals_name(enum arrivals arrivals);

/* The seed of iteration number (counted from 1) of a run. */
uint64_t schedule_iteration_seed(uint64_t seed, unsigned iteration);

/* Compute n due times, ns after the common start, never decreasing.  The
 * first is one gap after the start.
 *   arrivals    ARRIVALS_UNIFORM, or exponential gaps for all others
 *   rate_per_s  > 0
 *   seed        of this iteration; unused if uniform
 *   offset_ns   receives n values
 * O(n); allocates nothing; any thread. */
void schedule_fill(enum arrivals arrivals, double rate_per_s, uint64_t seed,
    int64_t *offset_ns, size_t n);

/* The seed of the warm-up before an iteration with the given seed. */
uint64_t schedule_warmup_seed(uint64_t seed);

/* Arrivals from a file.
 *
 * One request per line: its due time in ms from the iteration's start, which
 * may have a fraction and never decreases.  Text after a tab is
 * ignored, so that the schedules of other tools (instant, tab, path) can be
 * used.  Empty lines and lines that begin with # are ignored. */
/* Read all instants.
 *   offset_ns  receives n of them, ns, never decreasing; the caller's to free
 *   n          receives at least 1
 *   why        receives a message for the person on error
 * Returns 0, -EINVAL (a wrong line) or another negative errno. */
int trace_read(const char *path, int64_t **offset_ns, size_t *n, char *why,
    size_t why_size);
