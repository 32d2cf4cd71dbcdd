/* cause_taken.c: the time that was taken from a thread's run without a
 * switch.
 *
 * The scheduler sees a thread run while the host of a virtual machine runs
 * something else on its CPU (steal time), and while the CPU handles interrupts.
 * The profiler reports at each switch how much of the run was taken, not when.
 * If only a part of the run is the request's, only time that does not fit into
 * the other part is claimed.  The claim is placed at the end of the run,
 * between the faults and softirqs, whose times are known; stolen time that does
 * not fit there was taken during these.
 *
 * The host may take a CPU during an interrupt, and the handler then seems to
 * last longer: interrupts are claimed only beyond the stolen time. */
#include "talechain/claims/explainer.h"

/* A run, and what was taken of it; ns. */
struct run {
	int64_t begin, end; /* since the story's begin */
	int64_t stolen, handled;
};

/* Read from an event how much was taken of the run that ends with it.  False:
 * it is no such event, or the figures cannot be true. */
static bool
run_read(
    const struct explainer *ex, const struct tale_entry *e, struct run *out)
{
	const struct talechain_event *v = &e->slot.event;
	int64_t taken;

	if ((v->type != TALECHAIN_STEAL && v->type != TALECHAIN_INTERRUPT) ||
	    e->doubtful || v->arg[0] == 0 || v->arg[1] == 0 ||
	    v->arg[1] > (uint64_t)FAR)
		return false;
	taken = (int64_t)(v->arg[0] < v->arg[1] ? v->arg[0] : v->arg[1]);
	*out = (struct run){.end = moment_at(ex->t, e->at)};
	out->begin = out->end - (int64_t)v->arg[1];
	if (v->type == TALECHAIN_STEAL)
		out->stolen = taken;
	else
		out->handled = taken;
	return true;
}

/* Time that is still to be claimed, backwards from at. */
struct rest {
	int64_t at, ns;
	enum tale_cause cause;
};

/* Claim up to ns of the rest; nothing if ns <= 0. */
static void
rest_claim(struct explainer *ex, const struct claim *run, struct rest *rest,
    int64_t ns, enum claim_rank rank)
{
	struct claim c = *run;

	if (ns > rest->ns)
		ns = rest->ns;
	if (ns <= 0)
		return;
	c.cause = rest->cause;
	c.rank = rank;
	c.end_ns = rest->at;
	c.begin_ns = rest->at - ns;
	claim_add(ex, &c);
	rest->at -= ns;
	rest->ns -= ns;
}

/* The last fault or softirq of a thread before entry *from that ends after
 * begin_ns, or NULL.  *took_ns: how long it was.  *from moves to it. */
static const struct tale_entry *
held_before(const struct explainer *ex, uint32_t tid, int64_t begin_ns,
    size_t *from, int64_t *took_ns)
{
	const struct tale_entry *e;

	while (*from > 0) {
		e = &ex->t->entry[--*from];
		if (moment_at(ex->t, e->at) <= begin_ns)
			return NULL;
		if (e->slot.event.tid == tid && !e->doubtful &&
		    (e->slot.event.type == TALECHAIN_PAGEFAULT ||
			e->slot.event.type == TALECHAIN_SOFTIRQ)) {
			*took_ns = tale_event_latency_ns(&e->slot.event);
			return e;
		}
	}
	return NULL;
}

/* Claim the rest between the faults and softirqs of a run. */
static void
rest_between(struct explainer *ex, const struct claim *run, struct rest *rest)
{
	size_t from = entry_from(ex->t, run->end_ns + 1);
	const struct tale_entry *e;
	int64_t took_ns, end;

	while (rest->ns > 0 && (e = held_before(ex, run->tid, run->begin_ns,
				    &from, &took_ns)) != NULL) {
		end = moment_at(ex->t, e->at);
		rest_claim(ex, run, rest, rest->at - end, RANK_TAKEN);
		if (end - took_ns < rest->at)
			rest->at = end - took_ns;
	}
	rest_claim(ex, run, rest, rest->at - run->begin_ns, RANK_TAKEN);
}

/* Claim the rest that did not fit between faults and softirqs as taken during
 * them. */
static void
rest_within(struct explainer *ex, const struct claim *run, struct rest *rest)
{
	size_t from = entry_from(ex->t, run->end_ns + 1);
	const struct tale_entry *e;
	int64_t took_ns, begin;

	rest->at = run->end_ns;
	while (rest->ns > 0 && (e = held_before(ex, run->tid, run->begin_ns,
				    &from, &took_ns)) != NULL) {
		begin = moment_at(ex->t, e->at) - took_ns;
		if (begin < run->begin_ns)
			begin = run->begin_ns;
		if (moment_at(ex->t, e->at) < rest->at)
			rest->at = moment_at(ex->t, e->at);
		rest_claim(ex, run, rest, rest->at - begin, RANK_STOLEN);
	}
}

/* Claim what must have been taken within a run's claim. */
static void
claim_run(struct explainer *ex, const struct claim *claim, const struct run *r)
{
	struct claim c = *claim;
	struct rest rest;
	int64_t other;

	if ((r->stolen == 0 && r->handled == 0) ||
	    !claim_cut(&c, r->begin, r->end))
		return;
	/* The taken time may be in the part of the run outside the claim. */
	other = (r->end - r->begin) - (c.end_ns - c.begin_ns);
	rest = (struct rest){c.end_ns, r->stolen - other, TALE_CAUSE_STEAL};
	rest_between(ex, &c, &rest);
	other += r->stolen;
	if (rest.ns > 0)
		rest_within(ex, &c, &rest);
	rest.ns = r->handled - other;
	rest.cause = TALE_CAUSE_IRQ;
	rest_between(ex, &c, &rest);
}

void
cause_taken(struct explainer *ex, const struct claim *run)
{
	struct run last = {.end = INT64_MIN}, r;
	const struct tale_entry *e;

	for (size_t i = entry_from(ex->t, run->begin_ns); i < ex->t->entries;
	     i++) {
		e = &ex->t->entry[i];
		if (e->slot.event.tid != run->tid)
			continue;
		if (run_read(ex, e, &r)) {
			if (r.end == last.end) {
				r.stolen += last.stolen;
				r.handled += last.handled;
			} else {
				claim_run(ex, run, &last);
			}
			last = r;
		}
		/* The thread left the CPU: its run's events come before the
		 * switch. */
		if (e->slot.event.type == TALECHAIN_SCHEDULE &&
		    moment_at(ex->t, e->at) >= run->end_ns)
			break;
	}
	claim_run(ex, run, &last);
}
