/* join.h: rates over longer times, without dropping periods.
 *
 * Error correction drops periods whose two ends took different times to read.
 * A word takes longer to read when it has just changed, so the drop depends on
 * what happened in the period.  Where cache lines travel slowly, the rates of
 * the kept periods are wrong by half.  So for a rate over a longer time nothing
 * is dropped: a sample that took much longer than usual to read does not end
 * the period, which goes on to the next sample.  A sample's time is that of its
 * end, because the line has arrived then.  Only time without any samples is
 * left out: a tag may have changed and changed back in it.
 *
 * Cost: some comparisons. */
#pragma once

#include "shim/sampler.h"

#define JOIN_TIMES 4   /* a sample this many times as long is distorted */
#define JOIN_CYCLES 50 /* added to both limits, cycles */
#define JOIN_AWAY 8    /* a distance this many times as long: preempted */
#define JOIN_MEMORY 16 /* weight of the average, samples */

struct join {
	bool begun;
	/* Running averages, cycles, times JOIN_MEMORY; 0: unknown. */
	uint64_t typical;	 /* duration of a sample */
	uint64_t distant;	 /* distance of samples */
	uint64_t last;		 /* clock.begin of the last sample */
	struct shim_sample base; /* begin of the running period */
};

/* Begin anew: time before the next sample belongs to no period. */
static inline void
join_reset(struct join *j)
{
	j->begun = false;
}

/* True if a value is more than so many times the typical one, plus JOIN_CYCLES.
 * Updates the average: an untypical value counts a little, as it may last. */
static inline bool
join_untypical(uint64_t *typical, uint64_t value, unsigned times)
{
	uint64_t mean = *typical / JOIN_MEMORY;
	uint64_t most = times * mean + JOIN_CYCLES;

	if (*typical == 0) {
		*typical = value * JOIN_MEMORY;
		return false;
	}
	*typical = *typical - mean + (value < most ? value : most);
	return value > most;
}

/* True if a signal fell since the period began: it was reset. */
static inline bool
join_fell(const struct join *j, const struct shim_sample *now, unsigned signals)
{
	for (unsigned i = 0; i < signals; i++)
		if ((int64_t)(now->value[i] - j->base.value[i]) < 0)
			return true;
	return false;
}

/* True if a sample of so many signals ends a period.  If so, *begin receives
 * the sample that began the period, which lasted from one's clock.end to the
 * other's. */
static inline bool
join_end(struct join *j, const struct shim_sample *now, unsigned signals,
    struct shim_sample *begin)
{
	uint64_t distance = now->clock.begin - j->last;
	bool known = j->last != 0, ends;

	j->last = now->clock.begin;
	if (known && join_untypical(&j->distant, distance, JOIN_AWAY))
		join_reset(j);
	if (join_untypical(
		&j->typical, now->clock.end - now->clock.begin, JOIN_TIMES))
		return false;
	ends = j->begun && !join_fell(j, now, signals) &&
	       (int64_t)(now->clock.end - j->base.clock.end) > 0;
	if (ends)
		*begin = j->base;
	j->base = *now;
	j->begun = true;
	return ends;
}
