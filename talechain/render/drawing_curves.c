/* drawing_curves.c: how fast things went, as strips under the lanes.
 *
 * The largest value of a strip has its full height.  Each period is a step, and
 * there is no step where nothing is known.  A dashed line is the usual value.
 * The steps carry their times, so that the page's script can move them, and a
 * title with their value; the strip as a whole has an ARIA label. */
#include "talechain/render/drawing.h"

#include <ctype.h>

#define CURVE_HEIGHT (PICTURE_CURVE - 3)
#define STEP_LEAST 1.0 /* least width and height of a step, pixels */

/* Format a number with three digits. */
static const char *
number(char out[32], double v)
{
	if (v >= 1e6)
		snprintf(out, 32, "%.3g", v);
	else
		snprintf(out, 32, "%.*f", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	return out;
}

static void
step_draw(struct drawing *d, const struct story_series *c,
    const struct story_point *p, double y)
{
	double left = picture_x(d->p, p->begin_ns);
	double width = picture_x(d->p, p->end_ns) - left;
	double height = c->most > 0 ? p->value / c->most * CURVE_HEIGHT : 0;
	char from[MARKUP_TIME], to[MARKUP_TIME], value[32];

	if (height < STEP_LEAST)
		height = STEP_LEAST;
	text_add(d->x,
	    "<rect class=\"point\" data-b=\"%lld\" data-e=\"%lld\" "
	    "x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">"
	    "<title>%s %s %s, %s to %s</title></rect>\n",
	    (long long)p->begin_ns, (long long)p->end_ns, left,
	    y + CURVE_HEIGHT - height, width < STEP_LEAST ? STEP_LEAST : width,
	    height, c->name, number(value, p->value), c->unit,
	    markup_moment(from, p->begin_ns), markup_moment(to, p->end_ns));
}

/* Length of the part of a unit that is written: "MiB" of "MiB of eden", all of
 * "CPUs"; nothing of a unit without a capital. */
static int
short_unit(const char *unit)
{
	return isupper((unsigned char)unit[0]) ? (int)strcspn(unit, " ") : 0;
}

static void
curve_draw(struct drawing *d, size_t i)
{
	const struct story_series *c = &d->p->story->series[i];
	double y = d->lanes_y + picture_curve_y(d->p, i);
	double usual = c->most > 0 ? c->usual / c->most : 0;
	char most[32], value[32], note[80];

	text_add(d->x, "<g class=\"curve\" role=\"img\" aria-label=\"%s of ",
	    c->name);
	markup_text(d->x, d->p->story->lane[c->lane].name);
	text_add(d->x, ", at most %s %s", number(most, c->most), c->unit);
	if (c->usual > 0)
		text_add(d->x, ", usually %s", number(value, c->usual));
	text_add(d->x, "\">");
	snprintf(note, sizeof(note), "%s, up to %s%s%.*s", c->name, most,
	    short_unit(c->unit) > 0 ? " " : "", short_unit(c->unit), c->unit);
	drawing_note(
	    d, DRAWING_MARGIN + 10, y + CURVE_HEIGHT - 4, strlen(note));
	text_add(d->x, "%s</text>\n", note);
	for (size_t k = 0; k < c->points; k++)
		step_draw(d, c, &c->point[k], y);
	if (usual > 0 && usual <= 1)
		text_add(d->x, "<path class=\"usual\" d=\"M%d %.2fH%d\"/>\n",
		    PICTURE_LEFT, y + CURVE_HEIGHT * (1 - usual),
		    PICTURE_RIGHT);
	text_add(d->x, "</g>\n");
}

void
drawing_curves(struct drawing *d)
{
	if (d->p->story->curves == 0)
		return;
	text_add(d->x, "<g class=\"curves\">\n");
	for (size_t i = 0; i < d->p->story->curves; i++)
		curve_draw(d, i);
	text_add(d->x, "</g>\n");
}
