/* story_lock.c: a wait for another thread in words: for what, which threads had
 * it, and what these did meanwhile. */

#include "talechain/explain/explainer.h"

#define HOLDERS 64 /* that are counted */

/* What a holder did, as words. */
enum doing {
	DOING_RUN,
	DOING_SLEEP,
	DOING_WAIT,
	DOING_DISK,
	DOING_READY,
	DOING_QUOTA,
	DOING_STOPPED,
	DOINGS
};

/* The threads that another waited for, and the time each thing took them. */
struct holders {
	uint32_t tid[HOLDERS];
	unsigned count;
	int64_t ns[DOINGS];
};

static enum doing
doing_of(const struct explainer *ex, const struct thread_interval *p)
{
	switch (p->state) {
	case THREAD_RUN:
		return DOING_RUN;
	case THREAD_DISK:
		return DOING_DISK;
	case THREAD_STOPPED:
		return DOING_STOPPED;
	case THREAD_READY:
	case THREAD_PREEMPTED:
		return DOING_READY;
	case THREAD_THROTTLED:
		return DOING_QUOTA;
	case THREAD_SLEEP:
	case THREAD_BLOCKED:
		break;
	}
	return thread_is_peer(ex, p) ? DOING_WAIT : DOING_SLEEP;
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

/* What a thread did within a piece. */
static void
doing_add(const struct explainer *ex, struct holders *h, uint32_t tid,
    const struct story_segment *piece)
{
	size_t count;
	const struct thread_interval *p = threads_of(ex, tid, &count);
	int64_t from, to;

	for (; count > 0; count--, p++) {
		from = p->begin_ns > piece->begin_ns ? p->begin_ns
						     : piece->begin_ns;
		to = p->end_ns < piece->end_ns ? p->end_ns : piece->end_ns;
		if (from < to && p->doubt == NULL)
			h->ns[doing_of(ex, p)] += to - from;
	}
}

/* All pieces in which the thread of a claim waited for the same thing. */
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

static void
say_doing(const struct holders *h, const struct line *l)
{
	static const char *const words[DOINGS] = {
	    [DOING_RUN] = "computed",
	    [DOING_SLEEP] = "slept",
	    [DOING_WAIT] = "waited for another thread",
	    [DOING_DISK] = "waited for disk",
	    [DOING_READY] = "waited for a CPU",
	    [DOING_QUOTA] = "had used up its CPU quota",
	    [DOING_STOPPED] = "was stopped",
	};
	unsigned most = 0;

	for (unsigned i = 1; i < DOINGS; i++)
		if (h->ns[i] > h->ns[most])
			most = i;
	if (h->ns[most] > 0)
		line_add(l, ", which %s meanwhile", words[most]);
}

void
say_lock(
    const struct explainer *ex, const struct claim *c, const struct line *l)
{
	char other[NAME_SIZE];
	struct holders h = {.count = 0};

	line_add(l, "waited");
	say_call(ex, c, l);
	if (c->other == 0) {
		line_add(l, " for %s",
		    c->note != NULL ? c->note : "a lock in the kernel");
		return;
	}
	holders_find(ex, c, &h);
	thread_name(ex, c->other, other, sizeof(other));
	if (c->note == NULL)
		line_add(l, " until %s woke it", other);
	else
		line_add(l, " for %s, held by %s", c->note, other);
	if (h.count > 1)
		line_add(l, " and %u other%s in turn", h.count - 1,
		    h.count > 2 ? "s" : "");
	say_doing(&h, l);
}
