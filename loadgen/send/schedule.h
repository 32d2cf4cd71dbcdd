/* schedule.h: when each request is due, computed before the first is sent.
 *
 * A Poisson process has gaps -log1p(-u)/rate with u in [0, 1) of xoshiro256**
 * (base/random.h), seeded with the iteration's seed.  Each gap is rounded to
 * whole nanoseconds before it is added, so the same seed gives the same
 * instants on every machine, for ever; tests hold vectors.
 *
 * Warm-up requests have a random stream of their own: changing their number
 * does not change the gaps of the measured requests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum arrivals {
	ARRIVALS_POISSON, /* exponential gaps */
	ARRIVALS_UNIFORM, /* equal gaps */
	ARRIVALS_FILE,	  /* instants from a file (trace.h) */
	ARRIVALS_CLOSED,  /* none are planned: the responses decide */
};

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
