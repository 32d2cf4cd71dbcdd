/* svg.c: a story as one SVG picture that needs nothing else.
 *
 * The heading has the verdict, the evidence, the advice and the request.  Below
 * are where the time went and the lanes.  Colours are light or dark as the
 * viewer prefers.  There is no script and nothing is fetched; every bar and
 * arrow has a title, which viewers show and read out. */

#include <inttypes.h>

#include "base/embed.h"
#include "talechain/render/drawing.h"
#include "talechain/render/kind.h"
#include "talechain/tale/tale_struct.h"

EMBED(picture_css, "talechain/render/page/picture.css");

#define HEADING_WIDTH (PICTURE_WIDTH - 2 * DRAWING_MARGIN)
#define LEAD 112 /* column of the text after "Evidence", "What to try" */

void
drawing_definitions(struct text *x)
{
	text_add(x, "<defs>");
	kind_patterns(x);
	text_add(x, "</defs>\n");
}

int
drawing_all(struct drawing *d)
{
	int err;

	if (d->p->story->segments > 0)
		drawing_budget(d);
	drawing_overview(d);
	drawing_lanes(d);
	drawing_curves(d);
	drawing_bars(d);
	drawing_folds(d);
	drawing_arrows(d);
	err = drawing_labels(d);
	if (err < 0)
		return err;
	drawing_key(d);
	return 0;
}

/* Write a paragraph in lines that fit in the width, broken at spaces. */
static void
paragraph(struct drawing *d, const char *class, const char *words, int left,
    double height, double char_width)
{
	size_t chars =
	    (size_t)((HEADING_WIDTH + DRAWING_MARGIN - left) / char_width);
	size_t n, last;
	char line[STORY_TEXT];

	while (*words != '\0') {
		for (n = 0, last = 0; words[n] != '\0' && n < chars; n++)
			if (words[n] == ' ')
				last = n;
		if (words[n] != '\0' && last > 0 && words[n] != ' ')
			n = last;
		if (n > sizeof(line) - 1)
			n = sizeof(line) - 1;
		memcpy(line, words, n);
		line[n] = '\0';
		text_add(d->x, "<text class=\"%s\" x=\"%d\" y=\"%.1f\">", class,
		    left, d->y);
		markup_text(d->x, line);
		text_add(d->x, "</text>\n");
		d->y += height;
		words += n + strspn(words + n, " ");
	}
}

static void
lines_draw(struct drawing *d, const char *lead,
    const char lines[STORY_LINES][STORY_TEXT])
{
	size_t i;

	for (i = 0; i < STORY_LINES && lines[i][0] != '\0'; i++) {
		if (i == 0)
			text_add(d->x,
			    "<text class=\"fact lead\" x=\"%d\" y=\"%.1f\">"
			    "%s</text>\n",
			    DRAWING_MARGIN, d->y, lead);
		paragraph(d, "fact", lines[i], LEAD, 18, 7.6);
	}
	if (i > 0)
		d->y += 3;
}

static void
heading_draw(struct drawing *d)
{
	const struct story *s = d->p->story;
	const struct tale_request *r = &s->tale->request;
	struct text *x = d->x;
	char origin[ORIGIN_WORDS], ending[TALE_ENDING];

	d->y = 32;
	paragraph(d, "verdict", s->verdict.text, DRAWING_MARGIN, 25, 11.6);
	d->y += 2;
	lines_draw(d, "Evidence", s->verdict.evidence);
	lines_draw(d, "What to try", s->verdict.advice);
	text_add(x, "<text class=\"identity\" x=\"%d\" y=\"%.1f\">",
	    DRAWING_MARGIN, d->y + 2);
	markup_cut(x, r->method, 16);
	text_add(x, " ");
	markup_cut(x, r->target, 70);
	text_add(x, ", status %d%s, request %016" PRIx64, r->status,
	    tale_ending(r, ending), r->id);
	if (*client_id(r) != '\0')
		text_add(x, ", x-request-id ");
	markup_cut(x, client_id(r), 24);
	text_add(x, "</text>\n");
	d->y += 20;
	paragraph(
	    d, "identity", origin_words(s, origin), DRAWING_MARGIN, 18, 6.8);
	d->y += 4;
}

/* Write the document around body, which was drawn first because its height is
 * part of the beginning. */
static void
document(
    struct text *x, struct text *body, const struct story *s, double height)
{
	text_add(x,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" "
	    "viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
	    "role=\"group\">\n<title>",
	    PICTURE_WIDTH, height, PICTURE_WIDTH, height);
	markup_text(x, s->verdict.text);
	text_add(x, "</title>\n<style>%s</style>\n", picture_css);
	drawing_definitions(x);
	text_add(x,
	    "<rect class=\"sheet\" width=\"%d\" height=\"%.0f\"/>\n"
	    "%.*s</svg>\n",
	    PICTURE_WIDTH, height, (int)body->length,
	    body->at != NULL ? body->at : "");
}

int
story_render_svg(const struct story *s, char **text, size_t *length)
{
	struct text x = {0}, body = {0};
	struct picture p;
	struct drawing d = {.x = &body, .p = &p};
	int err;

	err = picture_init(&p, s);
	if (err < 0)
		return err;
	heading_draw(&d);
	err = drawing_all(&d);
	document(&x, &body, s, d.y + 6);
	if (body.failed || err < 0)
		x.failed = true;
	free(body.at);
	picture_fini(&p);
	return text_take(&x, text, length);
}
