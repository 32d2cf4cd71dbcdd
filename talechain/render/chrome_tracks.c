/* chrome_tracks.c: bars become slices, arrows become hops of flows.
 *
 * Each hop of a flow must be later than the one before.  An arrow that does not
 * go forward in time after its ends were moved inside slices is left out.  If
 * an arrow of the request's bytes begins on the lane where another ended, and
 * later, both are in one flow; each wake-up is a flow of its own. */
#include "talechain/render/chrome_tracks.h"

#include "base/array.h"
#include "talechain/render/kind.h"

#define ANCHOR_NS 1000 /* length of a slice made for an arrow */
#define INSIDE_NS 2    /* a slice shorter than this has no inside */
#define NESTED 32      /* most slices in each other on one track */
#define NONE SIZE_MAX

/* Lanes after those of the story. */
#define LANE_ROOT(s) ((s)->lanes)
#define LANE_SEGMENTS(s) ((s)->lanes + 1)
#define LANES(s) ((s)->lanes + 2)

static struct chrome_slice *
slice_add(struct chrome *c, size_t lane, int64_t begin_ns, int64_t end_ns)
{
	struct chrome_slice *x = &c->slice[c->slices++];

	*x = (struct chrome_slice){.lane = lane,
	    .begin_ns = begin_ns < 0 ? 0 : begin_ns,
	    .end_ns = end_ns > begin_ns ? end_ns : begin_ns};
	return x;
}

static void
bars_add(struct chrome *c)
{
	static const char *const category[] = {
	    [STORY_BAR_STAGE] = "stage",
	    [STORY_BAR_WORK] = "work",
	    [STORY_BAR_DELAY] = "delay",
	    [STORY_BAR_REQUEST] = "other request",
	    [STORY_BAR_HOLDER] = "holder",
	    [STORY_BAR_OTHER] = "other",
	    [STORY_BAR_BLIND] = "blind",
	};
	const struct story_bar *b;
	struct chrome_slice *x;

	for (size_t i = 0; i < c->story->bars; i++) {
		b = &c->story->bar[i];
		x = slice_add(c, b->lane, b->begin_ns, b->end_ns);
		x->bar = b;
		x->category = category[b->kind];
		x->name = bar_name(b);
	}
}

static void
request_add(struct chrome *c)
{
	const struct story *s = c->story;
	struct chrome_slice *x;

	x = slice_add(c, LANE_ROOT(s), 0, s->total_ns);
	x->root = true;
	x->category = "request";
	x->name = "request";
	for (size_t i = 0; i < s->segments; i++) {
		x = slice_add(c, LANE_SEGMENTS(s), s->segment[i].begin_ns,
		    s->segment[i].end_ns);
		x->segment = &s->segment[i];
		x->category = "path";
		x->name = tale_cause_label(s->segment[i].cause);
	}
}

/* True if a moment lies in a bar of a lane, edges included, that is INSIDE_NS
 * or longer. */
static bool
lane_is_busy(const struct story *s, unsigned lane, int64_t ns)
{
	for (size_t i = 0; i < s->bars; i++)
		if (s->bar[i].lane == lane && s->bar[i].begin_ns <= ns &&
		    ns <= s->bar[i].end_ns &&
		    s->bar[i].end_ns - s->bar[i].begin_ns >= INSIDE_NS)
			return true;
	return false;
}

static void
anchor_add(
    struct chrome *c, const struct story_arrow *a, unsigned lane, int64_t ns)
{
	struct chrome_slice *x;

	if (lane_is_busy(c->story, lane, ns))
		return;
	x = slice_add(c, lane, ns, ns + ANCHOR_NS);
	x->category = "arrow";
	x->name = a->name;
}

static int
slice_compare(const void *a, const void *b)
{
	const struct chrome_slice *x = a, *y = b;

	int order = COMPARE(x->begin_ns, y->begin_ns);

	order = order ?: COMPARE(y->end_ns, x->end_ns);
	return order ?: COMPARE(x->lane, y->lane);
}

static enum chrome_process
lane_process(const struct story *s, size_t lane)
{
	if (lane >= s->lanes)
		return CHROME_REQUEST;
	switch (s->lane[lane].kind) {
	case STORY_LANE_CLIENT:
		return CHROME_CLIENT;
	case STORY_LANE_CPU:
	case STORY_LANE_KERNEL:
		return CHROME_CPUS;
	case STORY_LANE_PROXY:
	case STORY_LANE_SERVER:
	case STORY_LANE_HOLDER:
	case STORY_LANE_JVM:
	case STORY_LANE_OBSERVER:
		break;
	}
	return CHROME_REQUEST;
}

/* Open slices of a track, the outermost first. */
struct open_slices {
	int64_t until_ns[NESTED];
	unsigned depth;
};

/* True if a slice fits on a track, where it is then open. */
static bool
stack_take(struct open_slices *k, const struct chrome_slice *x)
{
	while (k->depth > 0 && k->until_ns[k->depth - 1] <= x->begin_ns)
		k->depth--;
	if (k->depth == NESTED ||
	    (k->depth > 0 && k->until_ns[k->depth - 1] < x->end_ns))
		return false;
	/* A slice without length is never open. */
	if (x->end_ns > x->begin_ns)
		k->until_ns[k->depth++] = x->end_ns;
	return true;
}

static size_t
track_add(struct chrome *c, size_t lane, bool further)
{
	const struct story *s = c->story;
	struct chrome_track *t = &c->track[c->tracks];

	t->lane = lane;
	t->process = lane_process(s, lane);
	t->further = further;
	t->name = lane < s->lanes	 ? s->lane[lane].name
		  : lane == LANE_ROOT(s) ? "request"
					 : "where the time went";
	return c->tracks++;
}

/* Put every slice, in order, on the first track of its lane where it fits. */
static int
tracks_fill(struct chrome *c)
{
	struct open_slices *k = calloc(c->slices + 1, sizeof(*k));
	struct chrome_slice *x;
	bool further;

	if (k == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->slices; i++) {
		x = &c->slice[i];
		x->track = NONE;
		further = false;
		for (size_t t = 0; t < c->tracks && x->track == NONE; t++) {
			if (c->track[t].lane != x->lane)
				continue;
			further = true;
			if (stack_take(&k[t], x))
				x->track = t;
		}
		if (x->track == NONE) {
			x->track = track_add(c, x->lane, further);
			stack_take(&k[x->track], x);
		}
	}
	free(k);
	return 0;
}

/* Number the threads, which is their order in a viewer: the request and where
 * its time went first, then the lanes in the story's order. */
static void
tracks_number(struct chrome *c)
{
	size_t lane, at = 0;
	unsigned thread = 1;

	for (at = 0; at < LANES(c->story); at++) {
		lane = (at + c->story->lanes) % LANES(c->story);
		for (size_t t = 0; t < c->tracks; t++)
			if (c->track[t].lane == lane)
				c->track[t].thread = thread++;
	}
}

/* The innermost slice of a lane at a moment, if it has an inside; or NONE. */
static size_t
slice_at(const struct chrome *c, unsigned lane, int64_t ns)
{
	const struct chrome_slice *x;
	size_t best = NONE;

	for (size_t i = 0; i < c->slices && c->slice[i].begin_ns <= ns; i++) {
		x = &c->slice[i];
		if (x->lane == lane && x->end_ns >= ns &&
		    x->end_ns - x->begin_ns >= INSIDE_NS &&
		    (best == NONE || c->slice[best].track == x->track ||
			c->slice[best].end_ns > x->end_ns))
			best = i;
	}
	return best;
}

/* Place one end of an arrow strictly inside a slice, also if the moment that is
 * moved there lies in a slice within the first one.  False: no slice has
 * room. */
static bool
hop_place(
    const struct chrome *c, unsigned lane, int64_t ns, struct chrome_hop *h)
{
	const struct chrome_slice *x;
	size_t track;

	h->slice = slice_at(c, lane, ns);
	if (h->slice == NONE)
		return false;
	x = &c->slice[h->slice];
	track = x->track;
	h->at_ns = ns <= x->begin_ns ? x->begin_ns + 1
		   : ns >= x->end_ns ? x->end_ns - 1
				     : ns;
	for (size_t i = h->slice + 1;
	     i < c->slices && c->slice[i].begin_ns <= h->at_ns; i++) {
		x = &c->slice[i];
		if (x->track != track || x->end_ns <= h->at_ns)
			continue;
		if (h->at_ns == x->begin_ns)
			h->at_ns++;
		if (h->at_ns < x->end_ns)
			h->slice = i;
	}
	x = &c->slice[h->slice];
	return x->begin_ns < h->at_ns && h->at_ns < x->end_ns;
}

/* The last hop of a flow that this arrow continues, or NONE. */
static size_t
flow_before(const struct chrome *c, const struct chrome_hop *from)
{
	size_t best = NONE;

	for (size_t i = 0; i < c->hops; i++)
		if (c->hop[i].phase == CHROME_END && !c->hop[i].wakeup &&
		    c->slice[c->hop[i].slice].lane ==
			c->slice[from->slice].lane &&
		    c->hop[i].at_ns <= from->at_ns &&
		    (best == NONE || c->hop[i].at_ns > c->hop[best].at_ns))
			best = i;
	return best;
}

static void
arrow_add(struct chrome *c, const struct story_arrow *a, unsigned *id)
{
	struct chrome_hop from = {.phase = CHROME_START}, to = from;
	size_t before = NONE;

	if (!hop_place(c, a->from_lane, a->from_ns, &from) ||
	    !hop_place(c, a->to_lane, a->to_ns, &to) || to.at_ns <= from.at_ns)
		return;
	from.wakeup = to.wakeup = a->kind == STORY_ARROW_WAKE;
	if (!from.wakeup)
		before = flow_before(c, &from);
	if (before != NONE) {
		from.phase = CHROME_STEP;
		from.id = c->hop[before].id;
		c->hop[before].phase = CHROME_STEP;
	} else {
		from.id = (*id)++;
	}
	to.id = from.id;
	to.phase = CHROME_END;
	/* An arrow that begins where the bytes came to needs one hop only. */
	if (before == NONE || c->hop[before].slice != from.slice)
		c->hop[c->hops++] = from;
	c->hop[c->hops++] = to;
}

static int
arrow_compare(const void *a, const void *b)
{
	const struct story_arrow *x = a, *y = b;

	return COMPARE(x->from_ns, y->from_ns) ?: COMPARE(x->to_ns, y->to_ns);
}

static int
hop_compare(const void *a, const void *b)
{
	const struct chrome_hop *x = a, *y = b;

	int order = COMPARE(x->at_ns, y->at_ns) ?: COMPARE(x->id, y->id);

	return order ?: COMPARE(x->phase, y->phase);
}

static int
hops_fill(struct chrome *c)
{
	const struct story *s = c->story;
	struct story_arrow *arrow;
	unsigned id = 1;

	arrow = calloc(s->arrows + 1, sizeof(*arrow));
	if (arrow == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->arrows; i++)
		arrow[i] = s->arrow[i];
	qsort(arrow, s->arrows, sizeof(*arrow), arrow_compare);
	for (size_t i = 0; i < s->arrows; i++)
		arrow_add(c, &arrow[i], &id);
	free(arrow);
	qsort(c->hop, c->hops, sizeof(*c->hop), hop_compare);
	return 0;
}

int
chrome_init(struct chrome *c, const struct story *s)
{
	size_t slices = s->bars + s->segments + 2 * s->arrows + 1;
	int err = -ENOMEM;

	*c = (struct chrome){.story = s};
	c->slice = calloc(slices, sizeof(*c->slice));
	c->track = calloc(slices, sizeof(*c->track));
	c->hop = calloc(2 * s->arrows + 1, sizeof(*c->hop));
	if (c->slice == NULL || c->track == NULL || c->hop == NULL)
		goto fail;
	request_add(c);
	bars_add(c);
	for (size_t i = 0; i < s->arrows; i++) {
		anchor_add(c, &s->arrow[i], s->arrow[i].from_lane,
		    s->arrow[i].from_ns);
		anchor_add(
		    c, &s->arrow[i], s->arrow[i].to_lane, s->arrow[i].to_ns);
	}
	qsort(c->slice, c->slices, sizeof(*c->slice), slice_compare);
	err = tracks_fill(c);
	if (err == 0)
		err = hops_fill(c);
	if (err < 0)
		goto fail;
	tracks_number(c);
	return 0;

fail:
	chrome_fini(c);
	return err;
}

void
chrome_fini(struct chrome *c)
{
	free(c->slice);
	free(c->track);
	free(c->hop);
	*c = (struct chrome){0};
}
