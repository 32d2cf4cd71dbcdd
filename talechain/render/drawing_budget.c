/* drawing_budget.c: where the time went: the pieces of a story's time side by
 * side, and under them what they add up to.
 *
 * Pieces are to scale, except that each is at least two pixels wide. */
#include "talechain/render/drawing.h"
#include "talechain/render/kind.h"

#define BUDGET_HEIGHT 28
#define PIECES_MAX 200
#define BUDGET_LEAST 2.0 /* pixels, so that no segment is hidden */

void
drawing_name(struct drawing *d, const char *name, const char *below, double y)
{
	text_add(d->x, "<text class=\"part\" x=\"%d\" y=\"%.1f\">%s</text>\n",
	    DRAWING_MARGIN, below[0] != '\0' ? y - 3 : y + 4, name);
	if (below[0] == '\0')
		return;
	drawing_note(d, DRAWING_MARGIN, y + 12, strlen(below));
	text_add(d->x, "%s</text>\n", below);
}

void
drawing_note(struct drawing *d, double x, double y, size_t chars)
{
	double room = PICTURE_LEFT - DRAWING_MARGIN - x;

	text_add(d->x, "<text class=\"note\" x=\"%.0f\" y=\"%.1f\"", x, y);
	if ((double)chars * DRAWING_KEY_CHAR > room)
		text_add(d->x,
		    " textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"",
		    room);
	text_add(d->x, ">");
}

/* Write the label of a segment, cut to the room there is. */
static void
segment_words(
    struct drawing *d, const struct story_segment *g, double left, double width)
{
	const char *words = tale_cause_label(g->cause);
	double room = width - 8;
	char span[MARKUP_TIME];

	markup_span(span, g->end_ns - g->begin_ns);
	if ((double)strlen(span) * DRAWING_CHAR > room)
		return;
	text_add(d->x, "<text x=\"%.1f\" y=\"%.1f\">", left + width / 2,
	    d->y + BUDGET_HEIGHT / 2.0 + 4);
	if ((double)(strlen(words) + 1 + strlen(span)) * DRAWING_CHAR <= room) {
		markup_text(d->x, words);
		text_add(d->x, " ");
	}
	text_add(d->x, "%s</text>", span);
}

static void
segment_draw(
    struct drawing *d, const struct story_segment *g, double left, double width)
{
	enum kind kind = kind_of_cause(g->cause);
	char span[MARKUP_TIME], from[MARKUP_TIME], to[MARKUP_TIME];
	struct text *x = d->x;

	markup_span(span, g->end_ns - g->begin_ns);
	text_add(x,
	    "<g class=\"segment %s\" data-b=\"%lld\" data-e=\"%lld\" "
	    "tabindex=\"0\" role=\"img\" aria-label=\"",
	    kind_class(kind), (long long)g->begin_ns, (long long)g->end_ns);
	markup_text(x, tale_cause_label(g->cause));
	text_add(x, ", %s\"><title>", span);
	markup_text(x, tale_cause_label(g->cause));
	text_add(x, " %s (%s to %s)", span, markup_moment(from, g->begin_ns),
	    markup_moment(to, g->end_ns));
	if (g->who[0] != '\0')
		text_add(x, ": ");
	markup_text(x, g->who);
	text_add(x, "</title>");
	kind_box(x, kind, left, d->y, width, BUDGET_HEIGHT);
	segment_words(d, g, left, width);
	text_add(x, "</g>\n");
}

/* Draw the sum of each cause, largest first, in as many lines as needed. */
static void
sums_draw(struct drawing *d)
{
	bool done[TALE_CAUSE_COUNT] = {false};
	const struct story *s = d->p->story;
	double left = PICTURE_LEFT, width;
	char span[MARKUP_TIME];
	const char *words;
	enum tale_cause c;

	for (; (c = story_cause_largest(s, done)) != TALE_CAUSE_COUNT;
	     done[c] = true) {
		words = tale_cause_label(c);
		markup_span(span, s->cause_ns[c]);
		width = (double)(strlen(words) + strlen(span) + 1) *
			    DRAWING_CHAR * 0.95 +
			34;
		if (left > PICTURE_LEFT && left + width > DRAWING_LIST_RIGHT) {
			left = PICTURE_LEFT;
			d->y += 18;
		}
		text_add(
		    d->x, "<g class=\"sum %s\">", kind_class(kind_of_cause(c)));
		kind_box(d->x, kind_of_cause(c), left, d->y - 10, KIND_KEY, 11);
		text_add(d->x, "<text x=\"%.1f\" y=\"%.1f\">",
		    left + KIND_KEY + 5, d->y);
		markup_text(d->x, words);
		text_add(d->x,
		    " <tspan class=\"number\">%s</tspan></text></g>\n", span);
		left += width;
	}
}

/* The largest of some sums. */
static enum tale_cause
sum_largest(const int64_t sum_ns[TALE_CAUSE_COUNT])
{
	unsigned best = 0;

	for (unsigned c = 1; c < TALE_CAUSE_COUNT; c++)
		if (sum_ns[c] > sum_ns[best])
			best = c;
	return (enum tale_cause)best;
}

/* The pieces to draw; the caller frees them.  If there are more than fit, short
 * neighbours become one piece, of the cause that most of it has; the sums below
 * and the tables have all pieces. */
static struct story_segment *
pieces_merge(const struct story *s, size_t *count)
{
	struct story_segment *out = calloc(s->segments + 1, sizeof(*out)), *p;
	int64_t sum_ns[TALE_CAUSE_COUNT], least_ns = 0, length_ns;
	size_t n = 0, held = 0;

	if (out == NULL)
		return NULL;
	if (s->segments > PIECES_MAX)
		least_ns = s->total_ns / PIECES_MAX;
	for (size_t i = 0; i < s->segments; i++) {
		const struct story_segment *g = &s->segment[i];

		length_ns = g->end_ns - g->begin_ns;
		if (held == 0 || length_ns >= least_ns ||
		    out[n - 1].end_ns - out[n - 1].begin_ns >= least_ns) {
			memset(sum_ns, 0, sizeof(sum_ns));
			out[n++] = *g;
			held = 0;
		}
		p = &out[n - 1];
		p->end_ns = g->end_ns;
		sum_ns[g->cause] += length_ns;
		p->cause = sum_largest(sum_ns);
		if (held++ > 0)
			snprintf(p->who, sizeof(p->who),
			    "mostly, of %zu pieces", held);
	}
	*count = n;
	return out;
}

void
drawing_budget(struct drawing *d)
{
	const struct story *s = d->p->story;
	double room = PICTURE_RIGHT - PICTURE_LEFT, left = PICTURE_LEFT;
	double least = BUDGET_LEAST, scale, width;
	char total[MARKUP_TIME], below[64];
	struct story_segment *piece;
	size_t pieces;

	piece = pieces_merge(s, &pieces);
	if (piece == NULL) {
		d->x->failed = true;
		return;
	}
	if (least * (double)pieces > room / 4)
		least = room / 4 / (double)pieces;
	scale = (room - least * (double)pieces) /
		(double)(s->total_ns > 0 ? s->total_ns : 1);
	snprintf(
	    below, sizeof(below), "%s in all", markup_span(total, s->total_ns));
	drawing_name(d, "where time went", below, d->y + BUDGET_HEIGHT / 2.0);
	text_add(d->x, "<g class=\"budget\">\n");
	for (size_t i = 0; i < pieces; i++) {
		width = least +
			scale * (double)(piece[i].end_ns - piece[i].begin_ns);
		segment_draw(d, &piece[i], left, width);
		left += width;
	}
	free(piece);
	text_add(d->x, "</g>\n");
	d->y += BUDGET_HEIGHT + 18;
	sums_draw(d);
	d->y += 20;
}
