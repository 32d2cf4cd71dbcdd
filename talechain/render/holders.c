/* holders.c: the threads that the request waited for, each on a lane.
 *
 * A thread that held a lock, or woke a sleeping thread, has a lane with what it
 * did in those waits, as far as the scheduler's events show.  An arrow leads
 * from there to the thread that was woken. */

#include "talechain/render/scene.h"

#define HOLDERS_MAX 4	/* lanes: threads waited for longest */
#define CANDIDATES 64	/* most threads compared */
#define HOLDER_BARS 200 /* most bars of all these lanes */
#define SEEN_PART 4000	/* request / this: shorter bars are not drawn */

struct holder {
	uint32_t tid;
	int64_t waited_ns;
};

/* The thread that a piece waited for, or 0. */
static uint32_t
holder_of(const struct claim *c)
{
	switch ((int)c->cause) {
	case TALE_CAUSE_LOCK:
		return c->other;
	case TALE_CAUSE_SLEEP:
		return c->other == 0 && c->sender != NULL ? c->sender->tid
							  : c->other;
	case TALE_CAUSE_CLASS_LOADING: /* RANK_CPU: it ran itself */
		return c->rank == RANK_CPU ? 0 : c->other;
	}
	return 0;
}

static struct holder *
holder_get(struct holder *h, uint32_t tid)
{
	for (unsigned i = 0; i < CANDIDATES; i++) {
		if (h[i].tid == 0)
			h[i].tid = tid;
		if (h[i].tid == tid)
			return &h[i];
	}
	return NULL;
}

/* Draw what the holder did within a piece. */
static void
draw_holder(struct explainer *ex, unsigned lane, uint32_t tid,
    const struct story_segment *g, unsigned *drawn)
{
	const struct thread_interval *p = NULL;
	struct story_bar b = {
	    .kind = STORY_BAR_HOLDER, .lane = lane, .tid = tid};

	while ((p = threads_next(ex, tid, p, g->end_ns)) != NULL) {
		b.begin_ns =
		    p->begin_ns > g->begin_ns ? p->begin_ns : g->begin_ns;
		b.end_ns = p->end_ns < g->end_ns ? p->end_ns : g->end_ns;
		if (b.end_ns - b.begin_ns <= ex->s->total_ns / SEEN_PART ||
		    p->doubt != NULL || *drawn >= HOLDER_BARS)
			continue;
		b.cpu = p->cpu;
		b.cause = interval_cause(ex, p);
		snprintf(b.name, sizeof(b.name), "%s",
		    p->state == THREAD_RUN ? "running"
					   : tale_cause_label(b.cause));
		bar_add(ex, &b);
		(*drawn)++;
	}
}

/* Draw one lane, and an arrow to each thread that was woken from it. */
static void
draw_lane(struct explainer *ex, uint32_t tid, unsigned *drawn)
{
	const struct story *s = ex->s;
	unsigned lane = lane_get(ex, STORY_LANE_HOLDER, -1, tid);
	struct story_arrow a = {.kind = STORY_ARROW_WAKE, .from_lane = lane};
	char name[NAME_SIZE];

	snprintf(a.name, sizeof(a.name), "woken by %s",
	    thread_name(ex, tid, name, sizeof(name)));
	for (size_t i = 0; i < s->segments; i++) {
		if (holder_of(&ex->segment_claim[i]) != tid ||
		    segment_ns(&s->segment[i]) <= s->total_ns / SEEN_PART)
			continue;
		draw_holder(ex, lane, tid, &s->segment[i], drawn);
		a.from_ns = a.to_ns = s->segment[i].end_ns;
		a.to_lane = s->segment[i].lane;
		arrow_add(ex, &a);
	}
}

void
draw_holders(struct explainer *ex)
{
	struct holder all[CANDIDATES] = {{0}}, *h;
	const struct story *s = ex->s;
	unsigned drawn = 0;

	for (size_t i = 0; i < s->segments; i++) {
		uint32_t tid = holder_of(&ex->segment_claim[i]);

		h = tid != 0 ? holder_get(all, tid) : NULL;
		if (h != NULL)
			h->waited_ns += segment_ns(&s->segment[i]);
	}
	for (unsigned n = 0; n < HOLDERS_MAX; n++) {
		h = all;
		for (unsigned i = 1; i < CANDIDATES; i++)
			if (all[i].waited_ns > h->waited_ns)
				h = &all[i];
		if (h->waited_ns == 0)
			break;
		h->waited_ns = 0;
		draw_lane(ex, h->tid, &drawn);
	}
}
