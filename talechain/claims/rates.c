/* rates.c: how fast a server and its CPUs went while the request was
 * there: curves for the picture, and whether slowness explains computing.
 *
 * The observer's RATE events hold a signal's value in a period, and its usual
 * value.  A piece of computing is explained by low IPC if the server's threads
 * together had less than half of their usual instructions per cycle, and by a
 * slow clock if the thread's CPU ran at less than half of its nominal clock.
 * Without a usual value no low IPC is claimed.  A period is longer than many
 * pieces, and of all threads: such claims are only likely. */

#include "talechain/claims/explainer.h"
#include "talechain/events/events.h"

#define PERIOD_MAX_NS (60 * NS_PER_S) /* longer periods are not believed */
#define LOW 2			      /* under 1/2 of usual is low */

bool
rate_period_of(const struct explainer *ex, const struct tale_entry *e,
    struct rate_period *out)
{
	const struct talechain_event *v = &e->slot.event;
	int64_t interval_ns = (int64_t)(v->arg[3] & ((UINT64_C(1) << 40) - 1));

	if (v->type != TALECHAIN_RATE || e->doubtful || v->arg[2] == 0 ||
	    interval_ns == 0 || interval_ns > PERIOD_MAX_NS ||
	    talechain_rate_find(v->arg[0]) == NULL)
		return false;
	out->signal = v->arg[0];
	out->server = e->slot.server;
	out->cpu = v->cpu <= INT16_MAX ? (int)v->cpu : -1;
	out->count = (double)v->arg[1];
	out->base = (double)v->arg[2];
	out->usual = (double)(v->arg[3] >> 40) / 1000;
	out->end_ns = moment_at(ex->t, e->at);
	out->begin_ns = out->end_ns - interval_ns;
	return true;
}

/* True if a period shows that a piece of computing was slow for a cause. */
static bool
period_slow(const struct explainer *ex, const struct rate_period *p,
    const struct claim *work, enum tale_cause cause)
{
	if (p->begin_ns >= work->end_ns || p->end_ns <= work->begin_ns)
		return false;
	if (cause == TALE_CAUSE_LOW_IPC)
		return p->signal == TALECHAIN_RATE_IPC &&
		       p->server ==
			   ex->t->request.attempt[work->attempt].server &&
		       p->usual > 0 && p->count * LOW < p->usual * p->base;
	return p->signal == TALECHAIN_RATE_CLOCK && p->cpu >= 0 &&
	       p->cpu == work->cpu && p->count * LOW < p->base;
}

/* The value of a claim for "0.41, usually 1.60": both in thousandths, the usual
 * one in the upper half. */
static uint64_t
slow_value(double ratio, double usual)
{
	uint64_t milli = (uint64_t)(ratio * 1000 + 0.5);

	return (uint64_t)(usual * 1000 + 0.5) << 32 | (milli & UINT32_MAX);
}

/* Claim the slow periods within a piece of computing, all with their mean
 * value. */
static void
claim_slow(
    struct explainer *ex, const struct claim *work, enum tale_cause cause)
{
	struct claim c = *work;
	double count = 0, base = 0, usual = 0;
	size_t i, first = entry_from(ex->t, work->begin_ns);
	struct rate_period p;

	for (i = first; i < ex->t->entries; i++) {
		if (!rate_period_of(ex, &ex->t->entry[i], &p) ||
		    !period_slow(ex, &p, work, cause))
			continue;
		count += p.count;
		base += p.base;
		usual = p.usual;
	}
	if (base <= 0)
		return;
	c.cause = cause;
	c.likely = true; /* a period is longer, and of all threads */
	c.rank = work->rank + 1;
	c.value = slow_value(count / base, usual);
	ex->leg_begin_ns = work->begin_ns;
	ex->leg_end_ns = work->end_ns;
	for (i = first; i < ex->t->entries; i++) {
		if (!rate_period_of(ex, &ex->t->entry[i], &p) ||
		    !period_slow(ex, &p, work, cause))
			continue;
		c.begin_ns = p.begin_ns;
		c.end_ns = p.end_ns;
		claim_add(ex, &c);
	}
}

/* Claim where a thread computed on a slow clock, CPU by CPU. */
static void
claim_slow_clock(struct explainer *ex, const struct claim *work)
{
	const struct thread_interval *ran = NULL;
	struct claim piece;

	while ((ran = threads_next(ex, work->tid, ran, work->end_ns)) != NULL) {
		piece = *work;
		piece.cpu = ran->cpu;
		if (ran->state == THREAD_RUN &&
		    claim_cut(&piece, ran->begin_ns, ran->end_ns))
			claim_slow(ex, &piece, TALE_CAUSE_SLOW_CLOCK);
	}
}

void
cause_rates(struct explainer *ex)
{
	size_t claims = ex->claims;
	struct claim work;

	for (size_t i = 0; i < claims && !ex->failed; i++) {
		work = ex->claim[i];
		if (work.cause != TALE_CAUSE_WORK || work.attempt < 0 ||
		    (work.rank != RANK_APP && work.rank != RANK_THREAD))
			continue;
		claim_slow(ex, &work, TALE_CAUSE_LOW_IPC);
		claim_slow_clock(ex, &work);
	}
}
