/*
 * drawing_time.c: the parts of a picture that explain time: the overview,
 * the axis, folds, and what the marks mean.
 */
#include "talechain/render/drawing.h"

#include <stdio.h>
#include <string.h>

#define STRIP 5 /* height of a lane in the overview */
#define AXIS_HEIGHT 26

/* A bar of the overview: x and width to scale. */
static void
strip_draw(struct drawing *d, const struct story_bar *b)
{
	const struct story *s = d->p->story;
	double scale = (PICTURE_RIGHT - PICTURE_LEFT) /
		       (double)(s->total_ns > 0 ? s->total_ns : 1);
	int64_t begin_ns =
	    b->begin_ns < s->total_ns ? b->begin_ns : s->total_ns;
	int64_t end_ns = b->end_ns < s->total_ns ? b->end_ns : s->total_ns;
	double width = scale * (double)(end_ns - begin_ns);
	static const char *const class[] = {
	    [STORY_BAR_STAGE] = "work",
	    [STORY_BAR_DELAY] = "delay",
	    [STORY_BAR_OTHER] = "other",
	    [STORY_BAR_BLIND] = "unseen",
	};

	text_add(d->x,
	    "<rect class=\"body %s\" data-b=\"%lld\" data-e=\"%lld\" "
	    "x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"/>\n",
	    class[b->kind], (long long)begin_ns, (long long)end_ns,
	    PICTURE_LEFT + scale * (double)begin_ns, d->y + b->lane * STRIP,
	    width < 1 ? 1 : width, STRIP - 1);
}

void
drawing_overview(struct drawing *d)
{
	const struct story *s = d->p->story;
	double height = (double)s->lanes * STRIP + 1;

	if (s->bars == 0)
		return;
	drawing_name(d, "overview", d->p->folds > 0 ? "to scale" : "",
	    d->y + height / 2);
	text_add(d->x,
	    "<g class=\"overview\"><rect class=\"paper\" x=\"%d\" y=\"%.1f\" "
	    "width=\"%d\" height=\"%.1f\"/>\n",
	    PICTURE_LEFT, d->y - 1, PICTURE_RIGHT - PICTURE_LEFT, height + 1);
	for (size_t i = 0; i < s->bars; i++)
		strip_draw(d, &s->bar[i]);
	text_add(d->x, "</g>\n");
	d->y += height + (height < 30 ? 30 - height : 0) + 6;
}

/* A number of the axis, with as many digits as its step needs. */
static void
tick_text(
    const struct picture *p, int64_t ns, int64_t step_ns, char out[MARKUP_TIME])
{
	int64_t total_ns = p->story->total_ns;
	int64_t unit_ns = total_ns >= 10 * NS_PER_S ? NS_PER_S
			  : total_ns >= NS_PER_MS   ? NS_PER_MS
						    : NS_PER_US;
	int digits = 0;

	if (ns == 0) {
		snprintf(out, MARKUP_TIME, "0");
		return;
	}
	for (; step_ns < unit_ns && digits < 6; step_ns *= 10)
		digits++;
	snprintf(out, MARKUP_TIME, "%.*f %s", digits,
	    (double)ns / (double)unit_ns,
	    unit_ns == NS_PER_S	   ? "s"
	    : unit_ns == NS_PER_MS ? "ms"
				   : "\xc2\xb5s");
}

/* Whether a moment or its number would lie on a fold. */
static bool
tick_folded(const struct picture *p, int64_t ns)
{
	double at = picture_x(p, ns), begin, end;

	for (unsigned f = 0; f < p->folds; f++) {
		begin = picture_x(p, p->fold[f].begin_ns);
		end = picture_x(p, p->fold[f].end_ns);
		if (at > begin - 26 && at < end + 26)
			return true;
	}
	return false;
}

static void
axis_draw(struct drawing *d)
{
	const struct picture *p = d->p;
	int64_t step_ns = picture_tick_ns(p), ns;
	double at, bottom = d->lanes_y + p->height;
	char number[MARKUP_TIME];

	text_add(d->x, "<g class=\"axis\">\n");
	for (ns = 0; ns <= p->story->total_ns; ns += step_ns) {
		if (tick_folded(p, ns)) {
			/* On to the first one behind this fold's middle. */

			for (unsigned f = 0; f < p->folds; f++)
				if (ns > p->fold[f].begin_ns &&
				    ns < p->fold[f].end_ns)
					ns = p->fold[f].end_ns / step_ns *
					     step_ns;
			continue;
		}
		at = picture_x(p, ns);
		tick_text(p, ns, step_ns, number);
		text_add(d->x,
		    "<path d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" "
		    "y=\"%.1f\"%s>%s</text>\n",
		    at, d->lanes_y - 5, bottom, at, d->lanes_y - 9,
		    at > PICTURE_RIGHT - 30 ? " class=\"last\"" : "", number);
	}
	text_add(d->x, "</g>\n");
}

static void
lane_draw(struct drawing *d, size_t i, bool even)
{
	const struct picture *p = d->p;
	const struct story_lane *l = &p->story->lane[i];
	double y = d->lanes_y + p->lane[i].y;
	double height =
	    (i + 1 < p->story->lanes ? p->lane[i + 1].y : p->height) -
	    p->lane[i].y;

	text_add(d->x,
	    "<g class=\"lane %s%s\"><rect class=\"paper\" x=\"0\" y=\"%.1f\" "
	    "width=\"%d\" height=\"%.1f\"/><text x=\"%d\" y=\"%.1f\">",
	    story_lane_name(l->kind), even ? " even" : "", y, PICTURE_WIDTH,
	    height, DRAWING_MARGIN, y + PICTURE_PAD + PICTURE_BAR / 2.0 + 4);
	markup_cut(d->x, l->name, 17);
	text_add(d->x, "<title>");
	markup_text(d->x, l->name);
	if (l->tid != 0)
		text_add(d->x, ", thread %u", l->tid);
	text_add(d->x, "</title></text></g>\n");
}

void
drawing_lanes(struct drawing *d)
{
	bool even;
	size_t i;

	if (d->p->folds > 0)
		text_add(d->x,
		    "<text class=\"note scale\" x=\"%d\" y=\"%.1f\">not to "
		    "scale: folded</text>\n",
		    DRAWING_MARGIN, d->y + AXIS_HEIGHT - 9);
	d->lanes_y = d->y + AXIS_HEIGHT;
	text_add(d->x, "<g class=\"lanes\">\n");
	for (i = 0, even = true; i < d->p->story->lanes; i++) {
		if (d->p->lane[i].rows == 0)
			continue;
		lane_draw(d, i, even);
		even = !even;
	}
	text_add(d->x, "</g>\n");
	if (d->p->story->total_ns > 0)
		axis_draw(d);
	d->y = d->lanes_y + d->p->height;
}

/* A line from top to bottom with teeth. */
static void
zigzag(struct drawing *d, double at, double top, double bottom)
{
	int teeth = (int)((bottom - top) / 6);

	text_add(d->x, "<path class=\"edge\" d=\"M%.1f %.1f", at, top);
	for (int n = 1; n < teeth; n++)
		text_add(
		    d->x, "L%.1f %.1f", at + (n % 2 == 0 ? 0 : 4), top + 6 * n);
	text_add(d->x, "L%.1f %.1f\"/>", at, bottom);
}

void
drawing_folds(struct drawing *d)
{
	const struct picture *p = d->p;
	double top = d->lanes_y - 22, bottom = d->lanes_y + p->height;
	double begin, end;
	char span[MARKUP_TIME];
	int64_t length_ns;

	text_add(d->x, "<g class=\"folds\">\n");
	for (unsigned f = 0; f < p->folds; f++) {
		begin = picture_x(p, p->fold[f].begin_ns);
		end = picture_x(p, p->fold[f].end_ns);
		length_ns = p->fold[f].end_ns - p->fold[f].begin_ns;
		markup_span(span, length_ns);
		text_add(d->x,
		    "<g class=\"fold\" data-b=\"%lld\" data-e=\"%lld\">"
		    "<title>%s in which nothing happened, folded</title>"
		    "<rect class=\"paper\" x=\"%.1f\" y=\"%.1f\" "
		    "width=\"%.1f\" height=\"%.1f\"/>",
		    (long long)p->fold[f].begin_ns,
		    (long long)p->fold[f].end_ns, span, begin + 2, top,
		    end - begin, bottom - top);
		zigzag(d, begin, top, bottom);
		zigzag(d, end, top, bottom);
		text_add(d->x, "<text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
		    (begin + end) / 2 + 2, d->lanes_y - 9, span);
	}
	text_add(d->x, "</g>\n");
}

void
drawing_key(struct drawing *d)
{
	double y = d->y + 22;
	struct text *x = d->x;

	text_add(x,
	    "<g class=\"key\">"
	    "<g class=\"work\"><rect class=\"body\" x=\"150\" y=\"%.1f\" "
	    "width=\"22\" height=\"12\"/></g><text x=\"178\" y=\"%.1f\">"
	    "working on the request</text>\n",
	    y - 10, y);
	text_add(x,
	    "<g class=\"delay\"><rect class=\"body\" x=\"336\" y=\"%.1f\" "
	    "width=\"22\" height=\"12\"/><rect class=\"cue\" x=\"336\" "
	    "y=\"%.1f\" width=\"22\" height=\"12\" fill=\"url(#hatch)\"/></g>"
	    "<text x=\"364\" y=\"%.1f\">waiting</text>\n",
	    y - 10, y - 10, y);
	text_add(x,
	    "<g class=\"arrow flow\"><path class=\"line\" d=\"M430 %.1fh22\"/>"
	    "<path class=\"head\" d=\"M460 %.1fl-9 -4.5v9z\"/></g>"
	    "<text x=\"466\" y=\"%.1f\">the request's bytes</text>\n",
	    y - 4, y - 4, y);
	text_add(x,
	    "<g class=\"arrow wake\"><path class=\"line\" d=\"M602 %.1fh24\"/>"
	    "<path class=\"head\" d=\"M623 %.1fl8 4.5l-8 4.5\"/></g>"
	    "<text x=\"638\" y=\"%.1f\">wake-ups</text>\n",
	    y - 4, y - 8.5, y);
	text_add(x,
	    "<g class=\"other\"><rect class=\"body\" x=\"746\" y=\"%.1f\" "
	    "width=\"22\" height=\"6\"/></g><text x=\"774\" y=\"%.1f\">"
	    "others' work on that CPU</text></g>\n",
	    y - 7, y);
	d->y = y + 14;
}
