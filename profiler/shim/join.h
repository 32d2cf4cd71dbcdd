/*
 * join.h: rates over a time, without choosing among its periods.
 *
 * Error correction drops periods whose two ends took different times to
 * read.  A word takes longer to read when it has just changed, so that drops
 * periods by what happened in them, and where a line takes long to come over
 * the rates of those kept are wrong by half.  So for a rate over a longer
 * time nothing is dropped: a sample that took much longer to read than they
 * usually do ends no period, which is joined with the next.  A sample's time
 * is that of its end, because that is when the line has come.  Only time in
 * which we did not look at all is left out: a tag may have changed and come
 * back.
 *
 * Cost: some comparisons.
 */
#ifndef TAILOR_PROFILER_SHIM_JOIN_H
#define TAILOR_PROFILER_SHIM_JOIN_H

#include "profiler/shim/sampler.h"

#define JOIN_TIMES 4   /* longer than usual, */
#define JOIN_CYCLES 50 /* and so much: distorted */
#define JOIN_AWAY 8    /* times as far from the last: we were away */
#define JOIN_MEMORY 16 /* samples that tell what is usual */

struct join {
	bool begun;
	/* What is usual of late, cycles, times JOIN_MEMORY; 0: not known. */
	uint64_t typical;   /* that a sample takes */
	uint64_t distant;   /* from one to the next */
	uint64_t last;	    /* clock of the last one */
	struct sample base; /* where the running period begins */
};

/* Begin anew: whatever came before the next sample belongs to no period. */
static inline void
join_reset(struct join *j)
{
	j->begun = false;
}

/*
 * Whether a value is more than so many times the usual one and some, and take
 * it in: a little of it, if it is, for it may be usual from now on.
 */
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

/* Whether a signal fell since the period began: it was reset. */
static inline bool
join_fell(const struct join *j, const struct sample *now, unsigned signals)
{
	for (unsigned i = 0; i < signals; i++)
		if ((int64_t)(now->value[i] - j->base.value[i]) < 0)
			return true;
	return false;
}

/*
 * join_end(j, now, signals, begin):
 * Whether a sample of so many signals ends a period.  If so *begin is the
 * sample that began it; it lasted from the one's clock.end to the other's.
 */
static inline bool
join_end(struct join *j, const struct sample *now, unsigned signals,
    struct sample *begin)
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

#endif
