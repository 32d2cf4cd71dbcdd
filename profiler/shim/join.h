/*
 * join.h: rates over a time, without choosing among its periods.
 *
 * Error correction drops periods whose two ends took different times to
 * read.  Where reading a word takes longer when it has just changed, that
 * drops more of the periods in which it changed, and the rates of those kept
 * are wrong: with a line that takes 570 cycles to come over, by half.  So for
 * a rate over a longer time a period that cannot be trusted is not dropped
 * but joined with the next, until both ends are read alike or what they
 * differ by is small against the whole; and of two unlike ends the one that
 * took longer is left out.
 *
 * Cost: as dte_keep().
 */
#ifndef TAILOR_PROFILER_SHIM_JOIN_H
#define TAILOR_PROFILER_SHIM_JOIN_H

#include "profiler/shim/sampler.h"

struct join {
	bool begun;
	struct sample base; /* where the running period begins */
};

/* Begin anew: whatever came before the next sample belongs to no period. */
static inline void
join_reset(struct join *j)
{
	j->begun = false;
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
 * Whether a sample of so many signals ends a period that can be trusted,
 * within the paper's margin.  If so *begin is the sample that began it.
 */
static inline bool
join_end(struct join *j, const struct sample *now, unsigned signals,
    struct sample *begin)
{
	uint64_t took = now->clock.end - now->clock.begin;
	bool fell = j->begun && join_fell(j, now, signals);
	bool keep = j->begun && !fell &&
		    dte_keep(j->base.clock, now->clock, DTE_MARGIN_PPM);

	if (keep)
		*begin = j->base;
	if (!j->begun || keep || fell ||
	    took < j->base.clock.end - j->base.clock.begin)
		j->base = *now;
	j->begun = true;
	return keep;
}

#endif
