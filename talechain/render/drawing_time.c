/* drawing_time.c: the parts of a picture that explain time: overview, axis,
 * folds, and the legend. */
#include "talechain/render/drawing.h"
#include "talechain/render/kind.h"

#define STRIP 5 /* height of a lane in the overview */
#define AXIS_HEIGHT 26
#define NAME_CHARS 22  /* characters of a lane's name */
#define OWNER_CHARS 16 /* characters of the line below it */

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

	text_add(d->x,
	    "<rect class=\"body %s\" data-b=\"%lld\" data-e=\"%lld\" "
	    "x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"/>\n",
	    kind_class(kind_of_bar(b)), (long long)begin_ns, (long long)end_ns,
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

/* True if a tick is so near to the right edge that its number must end at
 * it. */
static bool
is_last(double at)
{
	return at > PICTURE_RIGHT - 30;
}

/* True if a moment or its number would lie on a fold. */
static bool
tick_folded(const struct picture *p, int64_t ns)
{
	double at = picture_x(p, ns), begin, end;
	double before = is_last(at) ? 52 : 26; /* room for its number */

	for (unsigned f = 0; f < p->folds; f++) {
		begin = picture_x(p, p->fold[f].begin_ns);
		end = picture_x(p, p->fold[f].end_ns);
		if (at > begin - 26 && at < end + before)
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
			/* Go on with the first tick after this fold. */

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
		    is_last(at) ? " class=\"last\"" : "", number);
	}
	text_add(d->x, "</g>\n");
}

/* Write a lane's name.  A thread's name is without its server and number, which
 * stand below; a long name is set narrower. */
static void
lane_name(struct drawing *d, const struct story_lane *l, double y)
{
	const char *name = l->name, *end = name + strlen(name);
	size_t n = strlen(l->owner), chars;
	char shown[STORY_NAME];

	if (l->tid != 0 && n > 0 && strncmp(name, l->owner, n) == 0 &&
	    strncmp(name + n, ": ", 2) == 0)
		name += n + 2;
	if (l->tid != 0 && strrchr(name, '[') != NULL)
		end = strrchr(name, '[');
	snprintf(shown, sizeof(shown), "%.*s", (int)(end - name), name);
	chars = markup_width(shown);
	text_add(d->x, "<text x=\"%d\" y=\"%.1f\"", DRAWING_MARGIN, y);
	if (chars > NAME_CHARS)
		text_add(d->x,
		    " textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\"",
		    PICTURE_LEFT - 2 * DRAWING_MARGIN);
	text_add(d->x, ">");
	markup_cut(d->x, shown, NAME_CHARS * 3 / 2);
	text_add(d->x, "<title>");
	markup_text(d->x, l->name);
	text_add(d->x, "</title></text>");
}

/* Write the owner of a lane's thread below its name. */
static void
lane_owner(struct drawing *d, const struct story_lane *l, double y)
{
	bool holder = l->kind == STORY_LANE_HOLDER;
	const char *owner = l->owner[0] != '\0' ? l->owner : "owner not seen";
	size_t most = holder ? OWNER_CHARS - 10 : OWNER_CHARS;
	size_t chars = markup_width(owner);
	char thread[32];

	snprintf(
	    thread, sizeof(thread), "%s%u", holder ? " " : ", thread ", l->tid);
	drawing_note(d, DRAWING_MARGIN, y,
	    (chars < most ? chars : most) + strlen(thread) +
		(holder ? strlen("waited for, ") : 0));
	text_add(d->x, "%s", holder ? "waited for, " : "");
	markup_cut(d->x, owner, most);
	text_add(d->x, "%s</text>", thread);
}

static void
lane_draw(struct drawing *d, size_t i, bool even)
{
	const struct picture *p = d->p;
	const struct story_lane *l = &p->story->lane[i];
	double y = d->lanes_y + p->lane[i].y;
	double middle = y + PICTURE_PAD + PICTURE_BAR / 2.0;
	double height =
	    (i + 1 < p->story->lanes ? p->lane[i + 1].y : p->height) -
	    p->lane[i].y;

	text_add(d->x,
	    "<g class=\"lane %s%s\"><rect class=\"paper\" x=\"0\" y=\"%.1f\" "
	    "width=\"%d\" height=\"%.1f\"/>",
	    story_lane_name(l->kind), even ? " even" : "", y, PICTURE_WIDTH,
	    height);
	lane_name(d, l, l->tid != 0 ? middle - 2 : middle + 4);
	if (l->tid != 0)
		lane_owner(d, l, middle + 12);
	text_add(d->x, "</g>\n");
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

/* Draw a zigzag line from top to bottom. */
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

/* Find the kinds of bars and pieces that the picture has. */
static void
kinds_find(const struct story *s, bool has[KIND_COUNT])
{
	for (size_t i = 0; i < s->bars; i++)
		has[kind_of_bar(&s->bar[i])] = true;
	for (size_t i = 0; i < s->segments; i++)
		has[kind_of_cause(s->segment[i].cause)] = true;
}

/* Left edge of the next entry of the legend, with so many characters; begins a
 * new line if needed. */
static double
key_place(struct drawing *d, double *left, size_t chars)
{
	double width = (double)chars * DRAWING_KEY_CHAR + KIND_KEY + 22, at;

	if (*left > DRAWING_MARGIN && *left + width > DRAWING_LIST_RIGHT) {
		*left = DRAWING_MARGIN;
		d->y += 18;
	}
	at = *left;
	*left += width;
	return at;
}

/* Draw an entry of the legend for an arrow. */
static void
key_arrow(struct drawing *d, double *left, const char *class, const char *words)
{
	double at = key_place(d, left, strlen(words) + 1);

	text_add(d->x,
	    "<g class=\"arrow %s\"><path class=\"line\" d=\"M%.1f %.1fh14\"/>"
	    "<path class=\"head\" d=\"M%.1f %.1fl8 4.5l-8 4.5%s\"/></g>"
	    "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
	    class, at, d->y - 4, at + 13, d->y - 8.5,
	    class[0] == 'f' ? "z" : "", at + 26, d->y, words);
}

void
drawing_key(struct drawing *d)
{
	bool has[KIND_COUNT] = {false}, waits = false;
	double left = DRAWING_MARGIN, at;

	kinds_find(d->p->story, has);
	d->y += 22;
	text_add(d->x, "<g class=\"key\">\n");
	for (unsigned i = 1; i <= KIND_COUNT; i++) {
		enum kind k = i < KIND_QUEUE	? (enum kind)i
			      : i == KIND_QUEUE ? KIND_UNSEEN
						: (enum kind)(i - 1);
		const char *lead = kind_is_wait(k) && !waits ? "waits: " : "";

		if (!has[k])
			continue;
		waits |= kind_is_wait(k);
		at = key_place(d, &left, strlen(lead) + strlen(kind_words(k)));
		if (lead[0] != '\0')
			text_add(d->x, "<text x=\"%.1f\" y=\"%.1f\">%s</text>",
			    at, d->y, lead);
		at += (double)strlen(lead) * DRAWING_KEY_CHAR;
		text_add(d->x, "<g class=\"%s\">", kind_class(k));
		kind_box(
		    d->x, k, at, d->y - 10, KIND_KEY, k == KIND_OTHER ? 6 : 12);
		text_add(d->x, "</g><text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    at + KIND_KEY + 5, d->y, kind_words(k));
	}
	key_arrow(d, &left, "flow", "the request's bytes");
	key_arrow(d, &left, "wake", "wake-ups");
	text_add(d->x, "</g>\n");
	d->y += 14;
}
