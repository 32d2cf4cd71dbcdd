/* tile.c: claims become segments that tile the request's time.
 *
 * The ends of all claims cut [0, total] into cells.  Claims are gone through
 * from the strongest down, and each takes the cells within it that are still
 * free; a cell's "next free" pointer skips what is taken, so the whole costs
 * n log n.  Whatever the claims were, the result is a tiling. */
#include <assert.h>

#include "base/array.h"
#include "talechain/claims/explainer.h"

#define NO_CLAIM SIZE_MAX
#define SHARES 128 /* pairs of threads that are distinguished */

struct tiling {
	int64_t *point; /* owned; ascending, cell i is [point[i], point[i+1]) */
	size_t *next;	/* owned; the first free cell at or after i */
	size_t *owner;	/* owned; a claim, or NO_CLAIM */
	size_t *order;	/* owned; claims, strongest first */
	size_t cells;
};

static int
claim_compare(const void *va, const void *vb, void *user)
{
	const struct claim *claim = user;
	const size_t *a = va, *b = vb;

	return COMPARE(claim[*b].rank, claim[*a].rank)
		   ?: COMPARE(*a, *b); /* the earlier made one */
}

static size_t
cell_free_from(struct tiling *g, size_t cell)
{
	size_t root = cell, next;

	while (g->next[root] != root)
		root = g->next[root];
	for (; g->next[cell] != cell; cell = next) {
		next = g->next[cell];
		g->next[cell] = root;
	}
	return root;
}

/* The cell that begins at ns, which must be one of the points. */
static size_t
cell_at(const struct tiling *g, int64_t ns)
{
	size_t cell = FIRST_WHERE(i, g->cells, g->point[i] >= ns);

	assert(g->point[cell] == ns);
	return cell;
}

static void
tiling_take(struct tiling *g, const struct claim *c, size_t owner)
{
	size_t cell = cell_free_from(g, cell_at(g, c->begin_ns));
	size_t end = cell_at(g, c->end_ns);

	while (cell < end) {
		g->owner[cell] = owner;
		g->next[cell] = cell + 1;
		cell = cell_free_from(g, cell + 1);
	}
}

static bool
tiling_init(struct tiling *g, const struct explainer *ex)
{
	size_t n = 0, i, k;

	g->point = calloc(2 * ex->claims + 2, sizeof(*g->point));
	g->next = calloc(2 * ex->claims + 2, sizeof(*g->next));
	g->owner = calloc(2 * ex->claims + 2, sizeof(*g->owner));
	g->order = calloc(ex->claims + 1, sizeof(*g->order));
	if (g->point == NULL || g->next == NULL || g->owner == NULL ||
	    g->order == NULL)
		return false;
	g->point[n++] = 0;
	g->point[n++] = ex->s->total_ns;
	for (i = 0; i < ex->claims; i++) {
		g->point[n++] = ex->claim[i].begin_ns;
		g->point[n++] = ex->claim[i].end_ns;
		g->order[i] = i;
	}
	array_sort_int64(g->point, n);
	for (i = 1, k = 1; i < n; i++)
		if (g->point[i] != g->point[k - 1])
			g->point[k++] = g->point[i];
	g->cells = k - 1;
	assert(g->cells > 0); /* 0 and total_ns are two points */
	for (i = 0; i <= g->cells; i++) {
		g->next[i] = i;
		g->owner[i] = NO_CLAIM;
	}
	qsort_r(
	    g->order, ex->claims, sizeof(*g->order), claim_compare, ex->claim);
	return true;
}

static void
tiling_fini(struct tiling *g)
{
	free(g->point);
	free(g->next);
	free(g->owner);
	free(g->order);
}

/* True if two neighbours say the same thing. */
static bool
claim_same(const struct claim *a, const struct claim *b)
{
	return a->cause == b->cause && a->attempt == b->attempt &&
	       a->tid == b->tid && a->other == b->other && a->last == b->last &&
	       a->cpu == b->cpu && a->pause == b->pause && a->note == b->note &&
	       a->likely == b->likely && a->call == b->call &&
	       a->unseen == b->unseen && a->peer == b->peer &&
	       a->sender == b->sender && claim_request(a) == claim_request(b);
}

/* Join the shortest segments to the one before until at most STORY_SEGMENTS_MAX
 * are left, which a picture can hold. */
static void
tile_join(struct explainer *ex)
{
	struct story *s = ex->s;
	int64_t least_ns = 1000;
	size_t i, k;

	for (; s->segments > STORY_SEGMENTS_MAX; least_ns *= 2) {
		for (i = 1, k = 1; i < s->segments; i++) {
			if (segment_ns(&s->segment[i]) < least_ns) {
				s->segment[k - 1].end_ns = s->segment[i].end_ns;
				continue;
			}
			s->segment[k] = s->segment[i];
			ex->segment_claim[k++] = ex->segment_claim[i];
		}
		s->segments = k;
	}
}

static enum story_confidence
claim_confidence(const struct claim *c)
{
	if (tale_causes[c->cause].nature == TALE_NATURE_BLIND)
		return STORY_NOT_OBSERVED;
	return c->likely ? STORY_LIKELY : STORY_OBSERVED;
}

/* Set which part of the time is observed, and which is observed or likely. */
static void
tile_coverage(struct story *s)
{
	int64_t ns[STORY_NOT_OBSERVED + 1] = {0};

	for (size_t i = 0; i < s->segments; i++)
		ns[s->segment[i].confidence] += segment_ns(&s->segment[i]);
	ns[STORY_LIKELY] += ns[STORY_NOT_OBSERVED];
	s->coverage = 1 - (double)ns[STORY_LIKELY] / (double)s->total_ns;
	s->known = 1 - (double)ns[STORY_NOT_OBSERVED] / (double)s->total_ns;
}

static void
tile_segments(struct explainer *ex, const struct tiling *g)
{
	static const struct claim unclaimed = {
	    .cause = TALE_CAUSE_UNKNOWN, .attempt = -1, .cpu = -1};
	struct story *s = ex->s;
	struct story_segment *last;
	const struct claim *c;

	for (size_t i = 0; i < g->cells; i++) {
		c = g->owner[i] == NO_CLAIM ? &unclaimed
					    : &ex->claim[g->owner[i]];
		s->cause_ns[c->cause] += g->point[i + 1] - g->point[i];
		if (s->segments > 0 &&
		    claim_same(&ex->segment_claim[s->segments - 1], c)) {
			s->segment[s->segments - 1].end_ns = g->point[i + 1];
			continue;
		}
		last = &s->segment[s->segments];
		ex->segment_claim[s->segments++] = *c;
		last->begin_ns = g->point[i];
		last->end_ns = g->point[i + 1];
		last->cause = c->cause;
		last->confidence = claim_confidence(c);
	}
}

void
tile_make(struct explainer *ex)
{
	struct story *s = ex->s;
	struct tiling g = {0};

	if (s->total_ns == 0)
		return;
	ex->failed = !tiling_init(&g, ex);
	if (ex->failed)
		goto free_tiling;
	s->segment = calloc(g.cells, sizeof(*s->segment));
	ex->segment_claim = calloc(g.cells, sizeof(*ex->segment_claim));
	ex->failed = s->segment == NULL || ex->segment_claim == NULL;
	if (ex->failed)
		goto free_tiling;
	for (size_t i = 0; i < ex->claims; i++)
		tiling_take(&g, &ex->claim[g.order[i]], g.order[i]);
	tile_segments(ex, &g);
	tile_coverage(s);
	tile_join(ex);
	for (size_t i = 0; i < s->segments; i++)
		claim_where(ex, &ex->segment_claim[i], &s->segment[i]);

free_tiling:
	tiling_fini(&g);
}

enum story_confidence
tile_confidence(const struct explainer *ex, enum tale_cause cause)
{
	const struct story *s = ex->s;
	int64_t likely_ns = 0;

	if (tale_causes[cause].nature == TALE_NATURE_BLIND)
		return STORY_NOT_OBSERVED;
	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i].cause == cause &&
		    s->segment[i].confidence == STORY_LIKELY)
			likely_ns += segment_ns(&s->segment[i]);
	return likely_ns > s->cause_ns[cause] / 2 ? STORY_LIKELY
						  : STORY_OBSERVED;
}

/* Sum of the pieces of a cause in which one thread, or another request that it
 * had, delayed another. */
struct share {
	uint32_t tid, other, last;
	uint64_t request;
	int attempt;
	int64_t sum_ns, longest_ns;
	size_t segment; /* the longest piece */
};

static struct share *
share_of(struct share *shares, unsigned *count, const struct claim *c)
{
	struct share *h;

	for (unsigned i = 0; i < *count; i++)
		if (shares[i].tid == c->tid && shares[i].other == c->other &&
		    shares[i].last == c->last &&
		    shares[i].request == claim_request(c) &&
		    shares[i].attempt == c->attempt)
			return &shares[i];
	if (*count == SHARES)
		return NULL;
	h = &shares[(*count)++];
	*h = (struct share){.tid = c->tid,
	    .other = c->other,
	    .last = c->last,
	    .request = claim_request(c),
	    .attempt = c->attempt};
	return h;
}

const struct claim *
tile_longest(const struct explainer *ex, enum tale_cause cause, size_t *segment)
{
	const struct story *s = ex->s;
	struct share shares[SHARES], *h;
	const struct share *best = NULL;
	unsigned count = 0;
	int64_t length_ns;

	for (size_t i = 0; i < s->segments; i++) {
		if (s->segment[i].cause != cause)
			continue;
		h = share_of(shares, &count, &ex->segment_claim[i]);
		if (h == NULL)
			continue;
		length_ns = segment_ns(&s->segment[i]);
		h->sum_ns += length_ns;
		if (length_ns > h->longest_ns) {
			h->longest_ns = length_ns;
			h->segment = i;
		}
		if (best == NULL || h->sum_ns > best->sum_ns)
			best = h;
	}
	if (best == NULL)
		return NULL;
	*segment = best->segment;
	return &ex->segment_claim[best->segment];
}

enum tale_cause
story_cause_largest(const struct story *s, const bool done[TALE_CAUSE_COUNT])
{
	unsigned best = TALE_CAUSE_COUNT;

	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		if (!done[c] && s->cause_ns[c] > 0 &&
		    (best == TALE_CAUSE_COUNT ||
			s->cause_ns[c] > s->cause_ns[best]))
			best = c;
	return (enum tale_cause)best;
}
