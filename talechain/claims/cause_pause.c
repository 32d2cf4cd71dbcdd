/* cause_pause.c: what stops a whole server, and times without observation.
 *
 * A collection, a safepoint or the end of a process stops every thread, so
 * these claims win over what a thread's own events say. */
#include "talechain/claims/explainer.h"

/* A JVM that prepares this many classes is busy with them. */
#define CLASSES_PER_S 1000
/* All threads of a process stop, and go on, within this time. */
#define STOP_EDGE_NS NS_PER_MS
/* A leg of own work alone is shorter than this. */
#define OWN_WORK_NS NS_PER_MS

const enum claim_rank pause_ranks[] = {
#define HAZARD_X(                                                            \
    symbol, code, words, colour, stops, acted, waited, expires, cause, rank) \
	[HAZARD_##symbol] = RANK_##rank,
    HAZARD_KINDS(HAZARD_X)
#undef HAZARD_X
};

/* The process that had an attempt: that of the thread that read the request or,
 * if not known, that of all its threads; 0: these are of several. */
static uint32_t
process_of(const struct explainer *ex, int attempt)
{
	const struct tale_thread *thread =
	    tale_thread_find(ex->t, ex->chain.attempt[attempt].taker);
	uint32_t pid = 0;

	if (thread != NULL)
		return thread->pid;
	for (unsigned i = 0; i < ex->t->threads; i++) {
		thread = &ex->t->thread[i];
		if (thread->attempt != attempt)
			continue;
		if (pid != 0 && pid != thread->pid)
			return 0;
		pid = thread->pid;
	}
	return pid;
}

/* When a stop was over: when its last thread was woken.  The hazard ends later,
 * when a thread has a CPU again; the wait for that CPU is no stop. */
static int64_t
stop_end(const struct explainer *ex, int attempt, const struct claim *c)
{
	const struct thread_interval *p = ex->interval;
	const struct tale_thread *thread;
	int64_t end_ns = NEVER;

	for (size_t i = 0; i < ex->intervals; i++, p++) {
		if (p->state != THREAD_STOPPED || p->woken_ns == NEVER ||
		    p->doubt != NULL || p->begin_ns >= c->end_ns ||
		    p->end_ns <= c->begin_ns)
			continue;
		thread = tale_thread_find(ex->t, p->tid);
		if (thread != NULL && thread->attempt == attempt &&
		    (end_ns == NEVER || p->end_ns > end_ns))
			end_ns = p->end_ns;
	}
	return end_ns != NEVER && end_ns < c->end_ns ? end_ns : c->end_ns;
}

void
cause_pauses(struct explainer *ex, int attempt)
{
	const struct tale *t = ex->t;
	const struct chain_attempt *a = &ex->chain.attempt[attempt];
	const struct tale_pause *p;
	struct claim c;

	for (size_t i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		if (p->server != t->request.attempt[attempt].server)
			continue;
		c = (struct claim){
		    .cause = tale_cause_of_hazard(p->kind),
		    .rank = pause_ranks[p->kind],
		    .attempt = attempt,
		    .cpu = -1,
		    .likely = !p->begin_seen,
		    .pause = p,
		    .begin_ns = instant_since(p->begin, t->t0),
		    .end_ns = instant_since(p->end, t->t0),
		};
		/* A process that takes a request runs, even if its start
		 * was not seen yet. */
		if (p->kind == HAZARD_EXIT && a->taken > c.begin_ns &&
		    a->taken < c.end_ns)
			c.end_ns = a->taken;
		if (p->kind == HAZARD_STOPPED) {
			c.pid = process_of(ex, attempt);
			c.end_ns = stop_end(ex, attempt, &c);
		}
		claim_add(ex, &c);
	}
}

/* Cut a stop to exclude a run, before or after it, of a thread of the
 * process. */
static void
stop_cut(struct claim *c, const struct thread_interval *run, bool before)
{
	if (before && run->end_ns > c->begin_ns)
		c->begin_ns = run->end_ns;
	if (!before && run->begin_ns < c->end_ns)
		c->end_ns = run->begin_ns;
}

/* True if a stop was of one thread alone: another thread of the process ran or
 * slept meanwhile, though a signal that stops a process stops all its threads,
 * sleeping ones too.  *stopped counts threads that did stop.  c is cut to when
 * all had. */
static bool
is_of_one_thread(const struct explainer *ex, const struct thread_interval *stop,
    const struct tale_thread *other, struct claim *c, unsigned *stopped)
{
	const struct thread_interval *p = NULL;
	int64_t begin = stop->begin_ns + STOP_EDGE_NS;
	int64_t end = stop->end_ns - STOP_EDGE_NS;

	while ((p = threads_next(ex, other->tid, p, INT64_MAX)) != NULL) {
		if (p->begin_ns >= end || p->end_ns <= begin) {
			if (p->state == THREAD_RUN)
				stop_cut(c, p, p->end_ns <= begin);
			continue;
		}
		*stopped += p->state == THREAD_STOPPED;
		/* A sleep from before the first event is a guess. */
		if (p->state == THREAD_RUN ||
		    (p->state == THREAD_SLEEP && p->begin_ns != 0))
			return true;
	}
	return false;
}

static void
claim_stop(struct explainer *ex, const struct tale_thread *thread,
    const struct thread_interval *stop)
{
	const struct tale *t = ex->t;
	struct claim c = {
	    .cause = TALE_CAUSE_STOPPED,
	    .rank = RANK_STOP,
	    .attempt = thread->attempt,
	    .cpu = -1,
	    .begin_ns = stop->begin_ns,
	    .end_ns = stop->end_ns,
	};
	unsigned stopped = 1;

	for (unsigned i = 0; i < t->threads; i++)
		if (t->thread[i].pid == thread->pid &&
		    t->thread[i].tid != thread->tid &&
		    is_of_one_thread(ex, stop, &t->thread[i], &c, &stopped))
			return;
	c.tid = stopped > 1 ? 0 : thread->tid;
	c.pid = thread->pid;
	claim_add(ex, &c);
}

void
cause_stops(struct explainer *ex, int attempt)
{
	const struct tale_thread *thread;
	const struct thread_interval *p;
	uint32_t pid = process_of(ex, attempt);

	for (unsigned i = 0; i < ex->t->threads; i++) {
		thread = &ex->t->thread[i];
		if (thread->attempt != attempt || thread->pid != pid)
			continue;
		p = NULL;
		while (
		    (p = threads_next(ex, thread->tid, p, INT64_MAX)) != NULL)
			if (p->state == THREAD_STOPPED && p->doubt == NULL)
				claim_stop(ex, thread, p);
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
	    .likely = true, /* the rate is of the whole JVM */
	};

	for (size_t i = 0; i < ex->t->entries; i++) {
		const struct tale_entry *e = &ex->t->entry[i];

		if (!cause_is_classes(ex, e, attempt))
			continue;
		c.value = e->slot.event.arg[0];
		c.end_ns = moment_at(ex->t, e->at);
		c.begin_ns = c.end_ns - (int64_t)e->slot.event.arg[2];
		claim_add(ex, &c);
	}
}

void
cause_losses(struct explainer *ex, enum claim_rank rank)
{
	struct claim c = {.cause = TALE_CAUSE_LOST,
	    .rank = rank,
	    .attempt = -1,
	    .cpu = -1,
	    .note = "events of that time were lost"};

	for (size_t i = 0; i < ex->losses; i++) {
		c.begin_ns = ex->loss[i].begin_ns;
		c.end_ns = ex->loss[i].end_ns;
		claim_add(ex, &c);
	}
	if (rank != RANK_LOSS)
		return;
	c.begin_ns = ex->switches_end_ns;
	c.end_ns = ex->s->total_ns;
	claim_add(ex, &c);
}

/* True if a leg is known from what Tailor itself recorded, whatever its thread
 * did meanwhile.  Its own work is brief; in a longer leg it may have had no
 * CPU. */
static bool
is_own(const struct explainer *ex, const struct claim *leg)
{
	switch (leg->cause) {
	case TALE_CAUSE_PROXY:
		return ex->leg_end_ns - ex->leg_begin_ns < OWN_WORK_NS;
	case TALE_CAUSE_ACCEPT_QUEUE:
	case TALE_CAUSE_CLIENT_NETWORK:
	case TALE_CAUSE_CLIENT_SEND:
	case TALE_CAUSE_PROXY_QUEUE:
	case TALE_CAUSE_SWITCHED:
	case TALE_CAUSE_WINDOW:
		return true;
	default:
		return false;
	}
}

void
cause_unsampled(struct explainer *ex, const struct claim *leg)
{
	struct claim c = {.cause = TALE_CAUSE_NOT_OBSERVED,
	    .rank = is_own(ex, leg) ? RANK_GAP : RANK_UNSAMPLED,
	    .attempt = leg->attempt,
	    .cpu = -1};
	const struct tale_entry *e;

	for (size_t i = 0; i < ex->t->entries; i++) {
		e = &ex->t->entry[i];
		if (e->slot.event.type != TALECHAIN_META_UNSAMPLED)
			continue;
		c.value = e->slot.event.arg[1];
		c.begin_ns = moment_at(ex->t, e->at);
		c.end_ns =
		    moment_at(ex->t, (struct instant){e->slot.event.arg[0]});
		claim_add(ex, &c);
	}
}

void
cause_unread(struct explainer *ex, const struct claim *leg)
{
	struct claim c = {.cause = TALE_CAUSE_NOT_OBSERVED,
	    .rank = is_own(ex, leg) ? RANK_GAP : RANK_UNREAD,
	    .attempt = -1,
	    .cpu = -1,
	    .end_ns = ex->s->total_ns};
	size_t i = ex->t->entries;

	/* Overwritten events had been read in time. */
	if (tale_whole(ex->t) || ex->t->stale)
		return;
	while (i > 0 && ex->t->entry[i - 1].slot.event.type >> 12 > 1)
		i--;
	if (i > 0)
		c.begin_ns = moment_at(ex->t, ex->t->entry[i - 1].at);
	claim_add(ex, &c);
}

void
cause_gaps(struct explainer *ex)
{
	const struct tale *t = ex->t;
	struct claim c = {.cause = TALE_CAUSE_BLIND,
	    .rank = RANK_GAP,
	    .attempt = -1,
	    .cpu = -1,
	    .note = "Tailor's observer thread was not running"};

	for (size_t i = 0; i < t->entries; i++) {
		if (t->entry[i].slot.event.type != TALECHAIN_META_BLIND)
			continue;
		c.end_ns = moment_at(ex->t, t->entry[i].at);
		c.begin_ns =
		    c.end_ns - tale_event_latency_ns(&t->entry[i].slot.event);
		claim_add(ex, &c);
	}
	cause_losses(ex, RANK_GAP);
}
