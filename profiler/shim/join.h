/*
 * join.h: rates over a time, without choosing among its periods.
 *
 * Error correction drops periods whose two ends took different times to
 * read.  A word takes longer to read when it has just changed, so that drops
 * periods by what happened in them, and where a line takes long to come over
 * the rates of those kept are wrong by half.  So for a rate over a longer
 * time nothing is dropped: a sample that took much longer to read than they
 * usually do ends no period, which is joined with the next.  A sample's time
 * is that of its end, because that is when the line has come.
 *
 * Cost: some comparisons.
 */
#ifndef TAILOR_PROFILER_SHIM_JOIN_H
#define TAILOR_PROFILER_SHIM_JOIN_H

#include "profiler/shim/sampler.h"

#define JOIN_TIMES 2   /* longer than usual, */
#define JOIN_CYCLES 50 /* and so much: distorted */
#define JOIN_MEMORY 16 /* samples that tell what is usual */

struct join {
	bool begun;
	uint64_t usual;	    /* cycles that a sample takes, times JOIN_MEMORY */
	struct sample base; /* where the running period begins */
};

/* Begin anew: whatever came before the next sample belongs to no period. */
static inline void
join_reset(struct join *j)
{
	j->begun = false;
}

/* Whether a sample took much longer than they do of late. */
static inline bool
join_distorted(struct join *j, const struct sample *now)
{
	uint64_t took = now->clock.end - now->clock.begin;
	uint64_t usual = j->usual / JOIN_MEMORY;
	uint64_t most = JOIN_TIMES * usual + JOIN_CYCLES;

	if (j->usual == 0) {
		j->usual = took * JOIN_MEMORY;
		return false;
	}
	/* What is distorted may be what is usual from now on. */
	j->usual = j->usual - usual + (took < most ? took : most);
	return took > most;
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
	bool ends;

	if (join_distorted(j, now))
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
