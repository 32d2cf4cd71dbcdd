/* cause_steal.c: time that the host of a virtual machine took.
 *
 * The guest's scheduler sees a thread run while the host runs something else
 * on its CPU.  The kernel accounts for that (steal time), and the profiler
 * reports at each switch how much of the thread's run it was; not when within
 * the run.  Of a run that is only partly the request's, as much is claimed as
 * cannot lie in the other part.  It is drawn at the end of the run, and faults
 * and softirqs, whose time is known, stay what they are. */
#include "talechain/explain/explainer.h"

/* A run, of which something was stolen; false: the event cannot be true. */
static bool
stolen_run(const struct explainer *ex, const struct tale_entry *e,
    int64_t *begin_ns, int64_t *end_ns, int64_t *stolen_ns)
{
	const struct talechain_event *v = &e->slot.event;

	if (v->type != TALECHAIN_STEAL || e->doubtful || v->arg[0] == 0 ||
	    v->arg[1] == 0 || v->arg[1] > (uint64_t)FAR)
		return false;
	*end_ns = moment_at(ex, e->at);
	*begin_ns = *end_ns - (int64_t)v->arg[1];
	*stolen_ns =
	    v->arg[0] < v->arg[1] ? (int64_t)v->arg[0] : (int64_t)v->arg[1];
	return true;
}

/* What of a run must have been stolen within a claim. */
static void
claim_stolen(struct explainer *ex, const struct claim *run, int64_t begin_ns,
    int64_t end_ns, int64_t stolen_ns)
{
	struct claim c = *run;

	if (c.begin_ns < begin_ns)
		c.begin_ns = begin_ns;
	if (c.end_ns > end_ns)
		c.end_ns = end_ns;
	/* The rest of the run may have been stolen first. */
	stolen_ns -= (end_ns - begin_ns) - (c.end_ns - c.begin_ns);
	if (c.begin_ns >= c.end_ns || stolen_ns <= 0)
		return;
	c.begin_ns = c.end_ns - stolen_ns;
	c.cause = TALE_CAUSE_STEAL;
	c.rank = RANK_STEAL;
	path_add(ex, &c);
}

void
cause_steal(struct explainer *ex, const struct claim *run)
{
	int64_t begin_ns, end_ns, stolen_ns;
	const struct tale_entry *e;

	for (size_t i = entry_from(ex, run->begin_ns); i < ex->t->entries;
	     i++) {
		e = &ex->t->entry[i];
		if (e->slot.event.tid != run->tid)
			continue;
		if (stolen_run(ex, e, &begin_ns, &end_ns, &stolen_ns))
			claim_stolen(ex, run, begin_ns, end_ns, stolen_ns);
		/* It left the CPU: what was stolen stands before that. */
		if (e->slot.event.type == TALECHAIN_SCHEDULE &&
		    moment_at(ex, e->at) >= run->end_ns)
			return;
	}
}
