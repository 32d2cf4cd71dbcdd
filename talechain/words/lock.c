/* lock.c: sentences about a wait for another thread: for what, which threads
 * had it, and what they did meanwhile. */

#include "talechain/words/say.h"

#define HOLDERS 64   /* that are counted */
#define CHAIN_SAID 4 /* in longer chains only the last is named */

/* The threads that another waited for, and how long they spent on each
 * cause. */
struct holders {
	uint32_t tid[HOLDERS];
	unsigned count;
	int64_t ns[TALE_CAUSE_COUNT];
};

static enum tale_cause
doing_of(const struct explainer *ex, const struct thread_interval *p)
{
	if (p->state == THREAD_PREEMPTED)
		return TALE_CAUSE_RUNQ;
	if (p->state == THREAD_BLOCKED && !thread_is_peer(ex, p))
		return TALE_CAUSE_SLEEP;
	return interval_cause(ex, p);
}

static void
holder_add(struct holders *h, uint32_t tid)
{
	for (unsigned i = 0; i < h->count; i++)
		if (h->tid[i] == tid)
			return;
	if (h->count < HOLDERS)
		h->tid[h->count++] = tid;
}

/* Add what a thread did within a piece. */
static void
doing_add(const struct explainer *ex, struct holders *h, uint32_t tid,
    const struct story_segment *piece)
{
	const struct thread_interval *p = NULL;

	while ((p = threads_next(ex, tid, p, piece->end_ns)) != NULL)
		if (p->doubt == NULL)
			h->ns[doing_of(ex, p)] += interval_within_ns(
			    p, piece->begin_ns, piece->end_ns);
}

/* Add up all pieces in which the thread of a claim waited for the same
 * thing. */
static void
holders_find(
    const struct explainer *ex, const struct claim *c, struct holders *h)
{
	const struct claim *k;

	for (size_t i = 0; i < ex->s->segments; i++) {
		k = &ex->segment_claim[i];
		if (k->cause != c->cause || k->tid != c->tid ||
		    k->note != c->note || k->other == 0 ||
		    (c->note == NULL && k->other != c->other))
			continue;
		holder_add(h, k->other);
		doing_add(ex, h, k->other, &ex->s->segment[i]);
	}
}

/* The cause that took most of the time of the threads that were waited for. */
static enum tale_cause
doing_most(const struct holders *h)
{
	unsigned most = 0;

	for (unsigned i = 1; i < TALE_CAUSE_COUNT; i++)
		if (h->ns[i] > h->ns[most])
			most = i;
	return (enum tale_cause)most;
}

static void
say_doing(const struct holders *h, const struct phrase *l)
{
	static const char *const words[TALE_CAUSE_COUNT] = {
	    [TALE_CAUSE_WORK] = "computed",
	    [TALE_CAUSE_SLEEP] = "slept",
	    [TALE_CAUSE_LOCK] = "waited for another thread",
	    [TALE_CAUSE_DISK] = "waited for disk",
	    [TALE_CAUSE_RUNQ] = "waited for a CPU",
	    [TALE_CAUSE_QUOTA] = "had used up its CPU quota",
	    [TALE_CAUSE_STOPPED] = "was stopped",
	};
	enum tale_cause most = doing_most(h);
	int64_t sum_ns = 0;

	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		sum_ns += h->ns[i];
	if (h->ns[most] > sum_ns / 2)
		phrase_add(l, ", which %s meanwhile", words[most]);
}

/* Append the threads of a chain after the first; of a long chain only the
 * last. */
static void
say_chain(
    const struct explainer *ex, const struct root *r, const struct phrase *l)
{
	char other[NAME_SIZE];
	unsigned between = r->count > CHAIN_SAID ? r->count - 2 : 0;

	if (between > 0)
		phrase_add(l, ", which waited through %u more threads for %s",
		    between,
		    thread_name(
			ex, r->tid[r->count - 1], other, sizeof(other)));
	for (unsigned i = 1; i < r->count && between == 0; i++)
		phrase_add(l, ", which waited for %s",
		    thread_name(ex, r->tid[i], other, sizeof(other)));
}

/* Append for which thread the only holder waited itself, and what that one
 * did. */
static void
say_root(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	struct holders h = {.count = 0};
	struct story_segment piece;
	struct root r;

	root_find(ex, &r, c->tid, c->other, c->begin_ns, c->end_ns);
	say_chain(ex, &r, l);
	piece.begin_ns = r.begin_ns;
	piece.end_ns = r.end_ns;
	doing_add(ex, &h, r.tid[r.count - 1], &piece);
	if (h.ns[doing_most(&h)] == 0)
		phrase_add(l, " (no event shows what that thread did)");
	say_doing(&h, l);
}

void
say_timer(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	char other[NAME_SIZE];
	struct root r;

	root_find(ex, &r, c->tid, c->other, c->begin_ns, c->end_ns);
	phrase_add(l, " until woken by %s",
	    thread_name(ex, c->other, other, sizeof(other)));
	say_part_of_other(ex, c, l);
	say_chain(ex, &r, l);
	if (c->cause == TALE_CAUSE_LOCK)
		phrase_add(l, ", which slept until a timer woke it: it held a "
			      "lock, or kept the time for others");
	else
		phrase_add(l, ", which slept until timers woke it");
}

void
say_lock(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	char other[NAME_SIZE];
	struct holders h = {.count = 0};
	bool part;

	phrase_add(l, "waited");
	say_call(ex, c, l);
	if (c->other == 0) {
		phrase_add(l, " for %s",
		    c->note != NULL ? c->note : "a lock in the kernel");
		return;
	}
	if (c->timer) {
		say_timer(ex, c, l);
		return;
	}
	holders_find(ex, c, &h);
	thread_name(ex, c->other, other, sizeof(other));
	if (c->note == NULL)
		phrase_add(l, " until woken by %s", other);
	else
		phrase_add(l, " for %s, held by %s", c->note, other);
	part = say_part_of_other(ex, c, l);
	if (part && h.count > 1) {
		say_others(ex, c, " and ", l);
		phrase_add(l, " in turn");
	}
	if (h.count == 1 && h.ns[doing_most(&h)] > 0 &&
	    doing_most(&h) == TALE_CAUSE_LOCK)
		say_root(ex, c, l);
	else
		say_doing(&h, l);
	if (part && h.count == 1)
		say_others(ex, c, ", and by ", l);
}
