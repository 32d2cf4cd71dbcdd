/*
 * cause_pause.c: what stops a whole server, and times without observation.
 *
 * A collection, a safepoint or the end of a process stops every thread, so
 * these claims win over what a thread's own events say.
 */
#include "talechain/explain/explainer.h"

/* A JVM that prepares so many classes is busy with that. */
#define CLASSES_PER_S 1000

void
cause_pauses(struct explainer *ex, int attempt)
{
	static const struct {
		enum tale_cause cause;
		enum claim_rank rank;
	} of[HAZARD_KIND_COUNT] = {
	    [HAZARD_GC] = {TALE_CAUSE_GC, RANK_GC},
	    [HAZARD_SAFEPOINT] = {TALE_CAUSE_SAFEPOINT, RANK_SAFEPOINT},
	    [HAZARD_EXIT] = {TALE_CAUSE_EXIT, RANK_EXIT},
	};
	const struct tale *t = ex->t;
	const struct story_attempt *a = &ex->chain.attempt[attempt];
	const struct tale_pause *p;
	struct claim c;

	for (size_t i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		if (p->server != t->request.attempt[attempt].server)
			continue;
		c = (struct claim){
		    .cause = of[p->kind].cause,
		    .rank = of[p->kind].rank,
		    .attempt = attempt,
		    .cpu = -1,
		    .pause = p,
		    .begin_ns = instant_since(p->begin, t->t0),
		    .end_ns = instant_since(p->end, t->t0),
		};
		/* A process that takes a request runs, even if its start
		 * was not seen yet. */
		if (p->kind == HAZARD_EXIT && a->taken > c.begin_ns &&
		    a->taken < c.end_ns)
			c.end_ns = a->taken;
		path_add(ex, &c);
	}
}

bool
cause_is_classes(
    const struct explainer *ex, const struct tale_entry *e, int attempt)
{
	const struct talechain_event *v = &e->slot.event;

	return v->type == TALECHAIN_JVM_RATES && !e->doubtful &&
	       e->slot.server == ex->t->request.attempt[attempt].server &&
	       v->arg[2] > 0 && v->arg[2] <= (uint64_t)NS_PER_S * 10 &&
	       (double)v->arg[0] >=
		   CLASSES_PER_S * (double)v->arg[2] / (double)NS_PER_S;
}

void
cause_classes(struct explainer *ex, int attempt)
{
	struct claim c = {
	    .cause = TALE_CAUSE_CLASS_LOADING,
	    .rank = RANK_CLASSES,
	    .attempt = attempt,
	    .cpu = -1,
	};

	for (size_t i = 0; i < ex->t->entries; i++) {
		const struct tale_entry *e = &ex->t->entry[i];

		if (!cause_is_classes(ex, e, attempt))
			continue;
		c.value = e->slot.event.arg[0];
		c.end_ns = moment_at(ex, e->at);
		c.begin_ns = c.end_ns - (int64_t)e->slot.event.arg[2];
		path_add(ex, &c);
	}
}

/* Whether events of the kernel came from a channel. */
static bool
is_kernel_channel(const struct tale *t, uint64_t channel)
{
	for (size_t i = 0; i < t->entries; i++)
		if (t->entry[i].slot.event.type >> 12 == 0 &&
		    t->entry[i].slot.channel == channel)
			return true;
	return false;
}

/* When the last event before entry i was read from its channel. */
static int64_t
channel_before(const struct explainer *ex, size_t i, uint64_t channel)
{
	while (i > 0)
		if (ex->t->entry[--i].slot.channel == channel &&
		    ex->t->entry[i].slot.event.type != TALECHAIN_THREAD)
			return moment_at(ex, ex->t->entry[i].at);
	return ex->leg_begin_ns;
}

void
cause_losses(struct explainer *ex, enum claim_rank rank)
{
	const struct tale *t = ex->t;
	const struct talechain_event *v;
	struct claim c = {
	    .cause = TALE_CAUSE_LOST, .rank = rank, .attempt = -1, .cpu = -1};

	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		if (v->type != TALECHAIN_META_LOST ||
		    !is_kernel_channel(t, v->arg[0]))
			continue;
		c.end_ns = moment_at(ex, t->entry[i].at);
		c.begin_ns = channel_before(ex, i, v->arg[0]);
		path_add(ex, &c);
	}
}

void
cause_gaps(struct explainer *ex)
{
	const struct tale *t = ex->t;
	struct claim c = {.cause = TALE_CAUSE_BLIND,
	    .rank = RANK_GAP,
	    .attempt = -1,
	    .cpu = -1};

	for (size_t i = 0; i < t->entries; i++) {
		if (t->entry[i].slot.event.type != TALECHAIN_META_BLIND)
			continue;
		c.end_ns = moment_at(ex, t->entry[i].at);
		c.begin_ns =
		    c.end_ns - tale_event_latency_ns(&t->entry[i].slot.event);
		path_add(ex, &c);
	}
	cause_losses(ex, RANK_GAP);
}
