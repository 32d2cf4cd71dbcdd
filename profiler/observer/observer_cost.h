/* observer_cost.h: the cost of the observer's sweeps, by source.
 *
 * One sweep in OBSERVER_COST_EVERY is timed piece by piece with the CPU's
 * clock; the others pay one branch for each piece.  Periods are counted in
 * buckets of powers of two.  All numbers are counters with one writer, the
 * observer; any thread may read them, as output.h's.
 *
 * The times include the timing itself: one reading of the clock, 20 to 40
 * cycles, for each piece and each ring. */
#pragma once

#include "profiler/counters/cycles.h"
#include "profiler/options/stats.h"
#include "profiler/channels/output.h"

#define OBSERVER_COST_EVERY 1024

struct observer_cost {
	bool timing; /* the present sweep is timed */
	uint32_t sweep;
	uint64_t mark;
	struct profiler_cost seen; /* relaxed atomics */
};

/* A sweep begins, period_ns after the one before (0: there was none). */
static inline void
observer_cost_begin(struct observer_cost *s, int64_t period_ns)
{
	unsigned bucket;

	if (period_ns > 0) {
		bucket = 64 - (unsigned)__builtin_clzll((uint64_t)period_ns);
		if (bucket >= PROFILER_PERIODS)
			bucket = PROFILER_PERIODS - 1;
		counter_add(&s->seen.period[bucket], 1);
		counter_add(&s->seen.periods_ns, (uint64_t)period_ns);
	}
	s->timing = s->sweep++ % OBSERVER_COST_EVERY == 0;
	if (!s->timing)
		return;
	counter_add(&s->seen.timed, 1);
	s->mark = cycles_in_order();
}

/* Add the time since the last mark to a part. */
static inline void
observer_cost_mark(struct observer_cost *s, enum profiler_part part)
{
	uint64_t now;

	if (!s->timing)
		return;
	now = cycles_in_order();
	/* Another CPU's clock may be behind: skip. */
	if ((int64_t)(now - s->mark) > 0)
		counter_add(&s->seen.cycles[part], now - s->mark);
	s->mark = now;
}
