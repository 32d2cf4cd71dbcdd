/* html.c: a story as one page that needs nothing else.
 *
 * The page shows fully without its scripts: verdict, picture, tables of
 * all events.  The scripts make the picture move.  The content security policy
 * lets exactly these scripts and style sheets be used, and nothing be
 * fetched.  Strings from outside are escaped when they are written (by
 * markup_text, and by the JSON writer for the data). */

#include <assert.h>
#include <inttypes.h>

#include "base/embed.h"
#include "talechain/render/drawing.h"
#include "talechain/tale/tale_struct.h"

EMBED(timeline_html, "talechain/render/page/timeline.html");

struct html_page {
	struct text *x;		 /* borrowed */
	const struct story *s;	 /* borrowed */
	const struct picture *p; /* borrowed */
	int err;
};

static void
put_title(struct html_page *g)
{
	char total[MARKUP_TIME];

	text_add(g->x, "%s: ", markup_span(total, g->s->total_ns));
	markup_cut(g->x, g->s->tale->request.method, 16);
	text_add(g->x, " ");
	markup_cut(g->x, g->s->tale->request.target, 60);
}

static void
put_verdict(struct html_page *g)
{
	markup_text(g->x, g->s->verdict.text);
}

static void
put_lines(struct html_page *g, const char *lead,
    const char lines[STORY_LINES][STORY_TEXT])
{
	for (size_t i = 0; i < STORY_LINES && lines[i][0] != '\0'; i++) {
		if (i == 0)
			text_add(g->x, "<dt>%s</dt>", lead);
		text_add(g->x, "<dd>");
		markup_text(g->x, lines[i]);
		text_add(g->x, "</dd>\n");
	}
}

static void
put_facts(struct html_page *g)
{
	text_add(g->x, "<dt>Confidence</dt><dd>%s</dd>\n",
	    story_confidence_words(g->s->verdict.confidence));
	put_lines(g, "Evidence", g->s->verdict.evidence);
	put_lines(g, "What to try", g->s->verdict.advice);
}

static void
put_identity(struct html_page *g)
{
	const struct tale_request *r = &g->s->tale->request;
	char origin[ORIGIN_WORDS], flags[TALE_FLAGS], ending[TALE_ENDING];

	text_add(g->x, "<code>");
	markup_text(g->x, r->method);
	text_add(g->x, " ");
	markup_text(g->x, r->target);
	text_add(g->x, "</code> &#183; status %d%s &#183; request %016" PRIx64,
	    r->status, tale_ending(r, ending), r->id);
	if (*client_id(r) != '\0')
		text_add(g->x, " &#183; x-request-id ");
	markup_text(g->x, client_id(r));
	if (*tale_flags(r, flags) != '\0')
		text_add(g->x, " &#183; ");
	markup_text(g->x, flags);
	text_add(g->x, " &#183; %.0f %% of the time explained<br/>",
	    100 * g->s->coverage);
	markup_text(g->x, origin_words(g->s, origin));
}

static void
put_picture(struct html_page *g)
{
	struct text body = {0};
	struct drawing d = {.x = &body, .p = g->p, .y = 6};

	g->err = drawing_all(&d);
	text_add(g->x,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" "
	    "viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
	    "role=\"group\" aria-label=\"Timeline of the request\" "
	    "data-total=\"%" PRId64 "\" data-left=\"%d\" data-right=\"%d\" "
	    "data-top=\"%.1f\" data-bottom=\"%.1f\">\n",
	    PICTURE_WIDTH, d.y, PICTURE_WIDTH, d.y, g->s->total_ns,
	    PICTURE_LEFT, PICTURE_RIGHT, d.lanes_y, d.lanes_y + g->p->height);
	drawing_definitions(g->x);
	text_add(g->x, "%.*s</svg>\n", (int)body.length,
	    body.at != NULL ? body.at : "");
	if (body.failed)
		g->err = -ENOMEM;
	free(body.at);
}

static void
put_data(struct html_page *g)
{
	char *text = NULL;
	size_t length = 0;
	struct json j;

	json_init(&j, false);
	g->err = story_render_json(g->s, &j);
	if (g->err == 0)
		g->err = json_take(&j, &text, &length);
	if (g->err == 0)
		text_add(g->x, "%.*s", (int)length, text);
	free(text);
	json_fini(&j);
}

static void
put_tables(struct html_page *g)
{
	tables_render(g->x, g->s, g->p);
}

/* Functions that write the text in place of {{NAME}}. */
static const struct {
	const char *name;
	void (*put)(struct html_page *g);
} blanks[] = {
    {"TITLE", put_title},
    {"VERDICT", put_verdict},
    {"FACTS", put_facts},
    {"IDENTITY", put_identity},
    {"PICTURE", put_picture},
    {"TABLES", put_tables},
    {"DATA", put_data},
};

/* Fill in one blank; name has length bytes and must be in the table. */
static void
blank_fill(struct html_page *g, const char *name, size_t length)
{
	size_t i, n = sizeof(blanks) / sizeof(blanks[0]);

	for (i = 0; i < n; i++)
		if (strlen(blanks[i].name) == length &&
		    memcmp(blanks[i].name, name, length) == 0)
			break;
	assert(i < n);
	if (g->err == 0)
		blanks[i].put(g);
}

static void
template_fill(struct html_page *g)
{
	const char *at = timeline_html, *end = timeline_html_end, *from, *to;

	while ((from = memmem(at, (size_t)(end - at), "{{", 2)) != NULL) {
		text_add(g->x, "%.*s", (int)(from - at), at);
		to = memmem(from, (size_t)(end - from), "}}", 2);
		assert(to != NULL);
		blank_fill(g, from + 2, (size_t)(to - from - 2));
		at = to + 2;
	}
	text_add(g->x, "%.*s", (int)(end - at), at);
}

int
story_render_html(const struct story *s, char **text, size_t *length)
{
	struct text x = {0};
	struct picture p;
	struct html_page g = {.x = &x, .s = s, .p = &p};
	int err;

	err = picture_init(&p, s);
	if (err < 0)
		return err;
	template_fill(&g);
	picture_fini(&p);
	if (g.err < 0)
		x.failed = true;
	return text_take(&x, text, length);
}
