/* drawing_lanes.c: draw bars, arrows and labels on the lanes of a picture.  A
 * label stands in its bar, else in free room right or left of it, else nowhere:
 * the bar's title always has all of it. */
#include "talechain/render/drawing.h"
#include "talechain/render/kind.h"

#include <math.h>

#define BAR_LEAST 2.5  /* pixels */
#define CUT_LEAST 6    /* fewest characters of a cut name */
#define HEAD 9.0       /* length of an arrow's head */
#define ARROW_LEAST 12 /* least way to the right for a corner, pixels */
#define ARROW_SHORT 60 /* up to this way there is always a corner */
#define ARROW_LINE 160

/* Where an arrow ends, and in which direction. */
struct tip {
	double x, y, dx, dy;
};

/* Class of a label, by the kind of its bar. */
static const char *
label_class(const struct story_bar *b)
{
	enum kind k = kind_of_bar(b);

	return kind_is_wait(k) ? " d" : k == KIND_WORK ? " w" : " u";
}

/* Left and right edge of a bar as it is drawn. */
static void
bar_edges(const struct picture *p, const struct story_bar *b, double *left,
    double *right)
{
	*left = picture_x(p, b->begin_ns);
	*right = picture_x(p, b->end_ns);
	if (*right < *left + BAR_LEAST)
		*right = *left + BAR_LEAST;
	if (*right > PICTURE_RIGHT + BAR_LEAST)
		*right = PICTURE_RIGHT + BAR_LEAST;
}

/* Write " of a", the owner of a thread, if it is known. */
static void
owner_words(struct drawing *d, uint32_t tid)
{
	const struct story *s = d->p->story;

	for (size_t i = 0; i < s->threads && tid != 0; i++)
		if (s->thread[i].tid == tid && s->thread[i].owner[0] != '\0') {
			text_add(d->x, " of ");
			markup_text(d->x, s->thread[i].owner);
		}
}

/* "query, CPU 2, 0.950 ms to 2.260 ms, 1.31 ms", for title and ARIA label. */
static void
bar_words(struct drawing *d, const struct story_bar *b)
{
	char from[MARKUP_TIME], to[MARKUP_TIME], span[MARKUP_TIME];

	markup_text(d->x, bar_name(b));
	if (b->kind == STORY_BAR_DELAY &&
	    strcmp(bar_name(b), tale_cause_label(b->cause)) != 0) {
		text_add(d->x, " (");
		markup_text(d->x, tale_cause_label(b->cause));
		text_add(d->x, ")");
	}
	text_add(d->x, ", ");
	markup_text(d->x, d->p->story->lane[b->lane].name);
	if (b->cpu >= 0 && d->p->story->lane[b->lane].kind != STORY_LANE_CPU)
		text_add(d->x, ", CPU %d", b->cpu);
	if (b->tid != 0)
		text_add(d->x, ", thread %u", b->tid);
	owner_words(d, b->tid);
	text_add(d->x, ", %s to %s, %s", markup_moment(from, b->begin_ns),
	    markup_moment(to, b->end_ns),
	    markup_span(span, b->end_ns - b->begin_ns));
}

static void
bar_draw(struct drawing *d, size_t i)
{
	const struct story_bar *b = &d->p->story->bar[i];
	double y = d->lanes_y + picture_bar_y(d->p, i), left, right;
	int height = PICTURE_BAR;
	struct text *x = d->x;

	bar_edges(d->p, b, &left, &right);
	text_add(x,
	    "<g class=\"bar %s\" data-i=\"%zu\" data-b=\"%lld\" "
	    "data-e=\"%lld\" data-l=\"%u\" data-y=\"%.1f\" data-n=\"",
	    kind_class(kind_of_bar(b)), i, (long long)b->begin_ns,
	    (long long)b->end_ns, b->lane, y);
	markup_text(x, bar_name(b));
	text_add(x, "\" tabindex=\"0\" role=\"img\" aria-label=\"");
	bar_words(d, b);
	text_add(x, "\"><title>");
	bar_words(d, b);
	if (b->kind == STORY_BAR_OTHER) {
		height = 6;
		y += (PICTURE_BAR - height) / 2.0;
	}
	text_add(x, "</title>");
	kind_box(x, kind_of_bar(b), left, y, right - left, height);
	text_add(x, "</g>\n");
}

void
drawing_bars(struct drawing *d)
{
	text_add(d->x, "<g class=\"bars\">\n");
	for (size_t i = 0; i < d->p->story->bars; i++)
		bar_draw(d, d->p->order[i]);
	text_add(d->x, "</g>\n");
}

/* True if an arrow has a corner: to near lanes, or if it is short. */
static bool
arrow_turns(double right, double down)
{
	return right >= ARROW_LEAST &&
	       (right <= ARROW_SHORT || right > 2 * fabs(down));
}

/* Make the line of an arrow.  *tip receives its end and direction.
 *   on the same lane: in a bow above it
 *   with a corner:    down (or up) and then to the right, into the bar
 *   otherwise:        upright at both ends, a curve between them */
static void
arrow_line(const struct picture *p, const struct story_arrow *a, double y1,
    double y2, char line[ARROW_LINE], struct tip *tip)
{
	double x1 = picture_x(p, a->from_ns), x2 = picture_x(p, a->to_ns);
	double way = y2 < y1 ? -1 : 1, bend;

	*tip = (struct tip){x2, y2, 0, way};
	if (a->from_lane == a->to_lane) {
		if (x2 < x1 + ARROW_LEAST)
			tip->x = x2 = x1 + ARROW_LEAST;
		tip->dy = 1;
		snprintf(line, ARROW_LINE,
		    "M%.1f %.1fC%.1f %.1f %.1f %.1f "
		    "%.1f %.1f",
		    x1, y1, x1, y1 - 14, x2, y2 - 14, x2, y2 - HEAD);
	} else if (arrow_turns(x2 - x1, y2 - y1)) {
		*tip = (struct tip){x2, y2 + way * PICTURE_BAR / 2, 1, 0};
		snprintf(line, ARROW_LINE,
		    "M%.1f %.1fV%.1fQ%.1f %.1f %.1f %.1f"
		    "H%.1f",
		    x1, y1, tip->y - way * 4, x1, tip->y, x1 + 4, tip->y,
		    x2 - HEAD);
	} else {
		bend = (y2 - way * HEAD - y1) / 2;
		snprintf(line, ARROW_LINE,
		    "M%.1f %.1fC%.1f %.1f %.1f %.1f "
		    "%.1f %.1f",
		    x1, y1, x1, y1 + bend, x2, y2 - way * HEAD - bend, x2,
		    y2 - way * HEAD);
	}
}

static void
arrow_path(struct drawing *d, const struct story_arrow *a, double y1, double y2)
{
	char line[ARROW_LINE];
	struct tip t;
	double bx, by;

	arrow_line(d->p, a, y1, y2, line, &t);
	bx = t.x - t.dx * HEAD;
	by = t.y - t.dy * HEAD;
	text_add(d->x,
	    "<path class=\"halo\" d=\"%s\"/><path class=\"line\" d=\"%s\"/>"
	    "<path class=\"head\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f%s",
	    line, line, bx - t.dy * HEAD / 2, by + t.dx * HEAD / 2, t.x, t.y,
	    bx + t.dy * HEAD / 2, by - t.dx * HEAD / 2,
	    a->kind == STORY_ARROW_FLOW ? "z" : "");
	/* An arrow that ends at no bar points at a dot. */
	if (!picture_touches(d->p, a->to_lane, a->to_ns))
		text_add(d->x,
		    "M%.1f %.1fa3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
		    t.x + t.dx * 4 - 3.5, t.y + t.dy * 4);
	text_add(d->x, "\"/>");
}

static void
arrow_draw(struct drawing *d, size_t i)
{
	const struct story *s = d->p->story;
	const struct story_arrow *a = &s->arrow[i];
	double y1 =
	    d->lanes_y + picture_touch_y(d->p, a->from_lane, a->from_ns);
	double y2 = d->lanes_y + picture_touch_y(d->p, a->to_lane, a->to_ns);
	char from[MARKUP_TIME], span[MARKUP_TIME];

	/* An arrow down goes from a lower edge to an upper one, an arrow up the
	 * other way. */
	if (a->from_lane < a->to_lane)
		y1 += PICTURE_BAR;
	else if (a->from_lane > a->to_lane)
		y2 += PICTURE_BAR;
	text_add(d->x,
	    "<g class=\"arrow %s\" data-b=\"%lld\" data-e=\"%lld\" "
	    "data-f=\"%u\" data-l=\"%u\" data-y1=\"%.1f\" data-y2=\"%.1f\">"
	    "<title>",
	    a->kind == STORY_ARROW_FLOW ? "flow" : "wake",
	    (long long)a->from_ns, (long long)a->to_ns, a->from_lane,
	    a->to_lane, y1, y2);
	markup_text(d->x, a->name);
	text_add(d->x, ", %s, %s later</title>",
	    markup_moment(from, a->from_ns),
	    markup_span(span, a->to_ns - a->from_ns));
	arrow_path(d, a, y1, y2);
	text_add(d->x, "</g>\n");
}

void
drawing_arrows(struct drawing *d)
{
	text_add(d->x, "<g class=\"arrows\">\n");
	for (size_t i = 0; i < d->p->story->arrows; i++)
		arrow_draw(d, i);
	text_add(d->x, "</g>\n");
}

/* Left edge of the next bar in the same row after the n-th of the order. */
static double
next_begin(const struct picture *p, size_t n)
{
	const struct story *s = p->story;
	size_t bar = p->order[n];
	double left, right;

	for (size_t i = n + 1; i < s->bars; i++) {
		if (s->bar[p->order[i]].lane != s->bar[bar].lane ||
		    p->row[p->order[i]] != p->row[bar])
			continue;
		bar_edges(p, &s->bar[p->order[i]], &left, &right);
		return left;
	}
	return PICTURE_RIGHT + DRAWING_MARGIN;
}

/* True if an arrow ends at the left end of a bar. */
static bool
bar_is_met(const struct picture *p, const struct story_bar *b, double left)
{
	const struct story_arrow *a;

	for (size_t i = 0; i < p->story->arrows; i++) {
		a = &p->story->arrow[i];
		if (a->to_lane == b->lane && a->from_lane != b->lane &&
		    fabs(picture_x(p, a->to_ns) - left) < HEAD)
			return true;
	}
	return false;
}

/* Where a bar's label may stand: in it, right or left of it. */
struct room {
	double left, right; /* the bar */
	double inside;	    /* width of it that nothing covers */
	double after;	    /* where the next bar begins */
	double before;	    /* left end of free room before it */
	double gap;	    /* room for an arrow to it */
};

/* True if an arrow may be in the way of a bar's label: it ends on the bar's
 * lane, at no bar, and the bar is in the first row.  *from and *to receive the
 * edges of what it covers. */
static bool
arrow_covers(const struct picture *p, const struct story_arrow *a, size_t bar,
    double *from, double *to)
{
	if (a->to_lane != p->story->bar[bar].lane || p->row[bar] != 0 ||
	    picture_touches(p, a->to_lane, a->to_ns))
		return false;
	*from = picture_x(p, a->from_ns);
	*to = picture_x(p, a->to_ns);
	if (*from > *to - HEAD)
		*from = *to - HEAD;
	*to += HEAD + 4;
	return true;
}

static void
room_find(struct drawing *d, size_t n, double taken, struct room *r)
{
	const struct story_bar *b = &d->p->story->bar[d->p->order[n]];
	double from, to;

	bar_edges(d->p, b, &r->left, &r->right);
	r->after = next_begin(d->p, n);
	r->inside = (r->after < r->right ? r->after : r->right) - r->left;
	if (taken > r->left)
		r->inside = 0;
	r->gap = bar_is_met(d->p, b, r->left) ? HEAD + 4 : 0;
	r->before = taken;
	for (size_t i = 0; i < d->p->story->arrows; i++) {
		if (!arrow_covers(d->p, &d->p->story->arrow[i], d->p->order[n],
			&from, &to))
			continue;
		if (from >= r->right && from < r->after)
			r->after = from;
		if (to <= r->left && to > r->before)
			r->before = to;
	}
}

/* The class of a label's place, and where it begins; NULL: it does not fit. */
static const char *
label_place(const struct room *r, double taken, size_t chars, double *at)
{
	double width = (double)chars * DRAWING_CHAR + 8;

	*at = r->left + 5;
	if (r->inside >= width)
		return "in";
	*at = r->right + 4;
	if (r->after >= r->right + width && taken <= r->right)
		return "out";
	*at = r->left - 4 - r->gap;
	return r->left - r->gap - r->before >= width ? "before" : NULL;
}

/* Write a bar's label where there is room for it. */
static void
label_draw(struct drawing *d, size_t n, double *taken)
{
	size_t i = d->p->order[n], chars;
	const struct story_bar *b = &d->p->story->bar[i];
	char span[MARKUP_TIME + 1] = " "; /* and the length, if it has room */
	const char *name = bar_name(b), *place = NULL;
	struct room r;
	double at = 0;

	room_find(d, n, *taken, &r);
	chars = markup_width(name);
	if (kind_is_wait(kind_of_bar(b))) {
		markup_span(span + 1, b->end_ns - b->begin_ns);
		place = label_place(&r, *taken, chars + strlen(span), &at);
	}
	if (place == NULL) {
		span[0] = '\0';
		place = label_place(&r, *taken, chars, &at);
	}
	if (place == NULL && r.inside >= CUT_LEAST * DRAWING_CHAR + 8) {
		chars = (size_t)((r.inside - 8) / DRAWING_CHAR);
		place = "in";
		at = r.left + 5;
	}
	if (r.right > *taken)
		*taken = r.right;
	if (place == NULL || b->kind == STORY_BAR_OTHER)
		return;
	if (place[0] == 'o')
		*taken =
		    r.right + (double)(chars + strlen(span)) * DRAWING_CHAR + 8;
	text_add(d->x,
	    "<text class=\"label %s%s\" data-i=\"%zu\" x=\"%.1f\" "
	    "y=\"%.1f\">",
	    place, label_class(b), i, at,
	    d->lanes_y + picture_bar_y(d->p, i) + PICTURE_BAR / 2.0 + 4);
	markup_cut(d->x, name, chars);
	text_add(d->x, "%s</text>\n", span);
}

int
drawing_labels(struct drawing *d)
{
	const struct story *s = d->p->story;
	double *taken; /* end of the part taken of each row */
	size_t i;

	taken = calloc((s->lanes + 1) * PICTURE_ROWS, sizeof(*taken));
	if (taken == NULL)
		return -ENOMEM;
	for (i = 0; i < (s->lanes + 1) * PICTURE_ROWS; i++)
		taken[i] = PICTURE_LEFT;
	text_add(d->x, "<g class=\"labels\" aria-hidden=\"true\">\n");
	for (size_t n = 0; n < s->bars; n++) {
		i = d->p->order[n];
		label_draw(
		    d, n, &taken[s->bar[i].lane * PICTURE_ROWS + d->p->row[i]]);
	}
	text_add(d->x, "</g>\n");
	free(taken);
	return 0;
}
