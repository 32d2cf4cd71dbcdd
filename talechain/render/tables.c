/* tables.c: a story as HTML tables, for text browsers, screen readers and page
 * search, and for details that the picture leaves out.
 *
 * The three tables are collapsed at first: the pieces of the time, bars and
 * arrows in order, and the events as they were recorded. */
#include "talechain/render/drawing.h"

#include <inttypes.h>
#include <stdarg.h>

#include "talechain/events/events.h"
#include "talechain/render/kind.h"
#include "talechain/tale/tale_struct.h"

static void
table_begin(struct text *x, const char *id, const char *title, size_t rows,
    const char *heads)
{
	text_add(x,
	    "<details id=\"%s\"><summary>%s (%zu)</summary>\n<table>\n"
	    "<thead><tr>%s</tr></thead>\n<tbody>\n",
	    id, title, rows, heads);
}

static void
table_end(struct text *x)
{
	text_add(x, "</tbody>\n</table>\n</details>\n");
}

static void
cell_text(struct text *x, const char *s)
{
	text_add(x, "<td>");
	markup_text(x, s);
	text_add(x, "</td>");
}

/* Write cells of a row, by a letter of kinds each: 'm' a moment and 's' a span
 * (int64_t, ns), 't' a text, which is escaped. */
static void
cells(struct text *x, const char *kinds, ...)
{
	char out[MARKUP_TIME];
	va_list args;

	va_start(args, kinds);
	for (; *kinds != '\0'; kinds++)
		if (*kinds == 't')
			cell_text(x, va_arg(args, const char *));
		else
			text_add(x, "<td class=\"time\">%s</td>",
			    (*kinds == 'm' ? markup_moment : markup_span)(
				out, va_arg(args, int64_t)));
	va_end(args);
}

static void
segments_table(struct text *x, const struct story *s)
{
	const struct story_segment *g;

	table_begin(x, "segments", "Where the time went, piece by piece",
	    s->segments,
	    "<th>from</th><th>to</th><th>length</th><th>what</th><th>who</th>");
	for (size_t i = 0; i < s->segments; i++) {
		g = &s->segment[i];
		text_add(x, "<tr>");
		cells(x, "mmstt", g->begin_ns, g->end_ns,
		    g->end_ns - g->begin_ns, tale_cause_label(g->cause),
		    g->who);
		text_add(x, "</tr>\n");
	}
	table_end(x);
}

static void
bar_row(struct text *x, const struct story *s, size_t i)
{
	static const char *const kind[] = {
	    [STORY_BAR_STAGE] = "stage",
	    [STORY_BAR_WORK] = "work",
	    [STORY_BAR_DELAY] = "wait",
	    [STORY_BAR_REQUEST] = "another request",
	    [STORY_BAR_HOLDER] = "waited for",
	    [STORY_BAR_OTHER] = "others' work",
	    [STORY_BAR_BLIND] = "not observed",
	};
	const struct story_bar *b = &s->bar[i];

	text_add(x, "<tr data-i=\"%zu\">", i);
	cells(x, "msttt", b->begin_ns, b->end_ns - b->begin_ns,
	    s->lane[b->lane].name, kind[b->kind], bar_name(b));
	text_add(x, "</tr>\n");
}

static void
arrow_row(struct text *x, const struct story *s, size_t i)
{
	const struct story_arrow *a = &s->arrow[i];

	text_add(x, "<tr>");
	cells(x, "ms", a->from_ns, a->to_ns - a->from_ns);
	text_add(x, "<td>");
	markup_text(x, s->lane[a->from_lane].name);
	text_add(x, " &#8594; ");
	markup_text(x, s->lane[a->to_lane].name);
	text_add(x, "</td>");
	cells(
	    x, "tt", a->kind == STORY_ARROW_FLOW ? "flow" : "wake-up", a->name);
	text_add(x, "</tr>\n");
}

static void
parts_table(struct text *x, const struct story *s, const struct picture *p)
{
	static const char heads[] = "<th>from</th><th>length</th>"
				    "<th>where</th><th>kind</th><th>what</th>";

	table_begin(x, "bars", "Work and waits, in order", s->bars, heads);
	for (size_t i = 0; i < s->bars; i++)
		bar_row(x, s, p->order[i]);
	table_end(x);
	table_begin(x, "arrows", "Flows and wake-ups", s->arrows, heads);
	for (size_t i = 0; i < s->arrows; i++)
		arrow_row(x, s, i);
	table_end(x);
}

static void
threads_table(struct text *x, const struct story *s)
{
	const struct story_thread *h;

	table_begin(x, "threads", "Threads and their owners", s->threads,
	    "<th>thread</th><th>name</th><th>process</th><th>owner</th>");
	for (size_t i = 0; i < s->threads; i++) {
		h = &s->thread[i];
		text_add(x, "<tr><td class=\"time\">%u</td>", h->tid);
		cell_text(x, h->name);
		if (h->pid != 0)
			text_add(x, "<td class=\"time\">%u</td>", h->pid);
		else
			text_add(x, "<td>unknown</td>");
		cell_text(x, h->owner[0] != '\0' ? h->owner : "not observed");
		text_add(x, "</tr>\n");
	}
	table_end(x);
}

/* Write other requests that a server's thread had meanwhile; nothing if there
 * were none. */
static void
requests_table(struct text *x, const struct story *s)
{
	if (s->requests == 0)
		return;
	table_begin(x, "requests", "Other requests that it waited for",
	    s->requests,
	    "<th>waited</th><th>request</th><th>x-request-id</th>"
	    "<th>what</th>");
	for (unsigned i = 0; i < s->requests; i++) {
		const struct story_request *r = &s->request[i];

		text_add(x, "<tr>");
		cells(x, "s", r->waited_ns);
		text_add(x, "<td>%016" PRIx64 "</td>", r->id);
		cell_text(x, r->external_id);
		text_add(x, "<td>");
		markup_text(x, r->method);
		text_add(x, " ");
		markup_text(x, r->target);
		text_add(x, "</td></tr>\n");
	}
	table_end(x);
}

/* Write an event's lane, CPU and thread. */
static void
event_place(struct text *x, const struct story *s, size_t i)
{
	const struct talechain_event *e = &s->tale->entry[i].slot.event;

	text_add(x, "<td>");
	if (s->lanes > 0)
		markup_text(x, s->lane[s->event_lane[i]].name);
	if (e->cpu != UINT32_MAX)
		text_add(x, " CPU %u", e->cpu);
	if (e->tid != 0)
		text_add(x, " thread %u", e->tid);
	text_add(x, "</td>");
}

static void
event_row(struct text *x, const struct story *s, size_t i)
{
	const struct tale_entry *e = &s->tale->entry[i];
	const struct talechain_event *event = &e->slot.event;
	const char *name = talechain_type_name(event->type);
	struct talechain_value v;

	text_add(x, "<tr>");
	cells(x, "m", instant_since(e->at, s->tale->t0));
	event_place(x, s, i);
	if (name != NULL)
		text_add(x, "<td>%s</td>", name);
	else
		text_add(x, "<td>type_%04x</td>", event->type);
	text_add(x, "<td>");
	for (unsigned n = 0; talechain_argument(event, n, &v); n++)
		text_add(x,
		    strcmp(v.name, "request") == 0 ? "%s%s=%016" PRIx64
						   : "%s%s=%" PRIu64,
		    n > 0 ? " " : "", v.name, v.value);
	text_add(x, "%s</td></tr>\n", e->doubtful ? " (stamp doubtful)" : "");
}

static void
events_table(struct text *x, const struct story *s)
{
	table_begin(x, "events", "Events, as they were recorded",
	    s->tale->entries,
	    "<th>at</th><th>where</th><th>event</th><th>arguments</th>");
	for (size_t i = 0; i < s->tale->entries; i++)
		event_row(x, s, i);
	table_end(x);
}

void
tables_render(struct text *x, const struct story *s, const struct picture *p)
{
	segments_table(x, s);
	requests_table(x, s);
	parts_table(x, s, p);
	threads_table(x, s);
	events_table(x, s);
}
