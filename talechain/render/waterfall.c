/* waterfall.c: the stages of a request to scale, in 80 columns of ASCII.
 *
 * One row per stage: where the client's bytes travelled, each attempt (waiting
 * for the first byte, then its response arriving), the pauses of the servers,
 * and times without observation.  A stage too short for the scale still gets
 * one column, so a picture never hides one; it is therefore exact to a column
 * only. */
#include "talechain/render/waterfall.h"

#include "talechain/tale/tale_struct.h"

#define LABEL 15
#define BAR 62
#define PAUSES_MAX 8 /* rows */

struct stage_row {
	char label[LABEL + 1];
	char bar[BAR + 1];
};

static void
row_init(struct stage_row *r, const char *label)
{
	snprintf(r->label, sizeof(r->label), "%.*s", LABEL, label);
	memset(r->bar, ' ', BAR);
	r->bar[BAR] = '\0';
}

/* Fill [begin, end] with mark; parts outside the timeline are cut off. */
static void
row_mark(struct stage_row *r, const struct tale *t, struct instant begin,
    struct instant end, char mark)
{
	int64_t total_ns = tale_total_ns(t), b_ns, e_ns;
	size_t b, e;

	if (total_ns <= 0 || instant_before(end, begin) ||
	    instant_before(end, t->t0) || instant_before(t->end, begin))
		return;
	b_ns = instant_before(begin, t->t0) ? 0 : instant_since(begin, t->t0);
	e_ns =
	    instant_before(t->end, end) ? total_ns : instant_since(end, t->t0);
	b = (size_t)((double)b_ns * BAR / (double)total_ns);
	e = (size_t)((double)e_ns * BAR / (double)total_ns);
	if (b > BAR - 1)
		b = BAR - 1;
	if (e <= b)
		e = b + 1;
	memset(r->bar + b, mark, e - b);
}

static void
row_write(const struct stage_row *r, struct text *x)
{
	text_add(x, "%-*s|%s|\n", LABEL, r->label, r->bar);
}

static void
stage(const struct tale *t, struct text *x, const char *label,
    struct instant begin, struct instant end)
{
	struct stage_row r;

	if (!instant_is_set(begin) || !instant_is_set(end))
		return;
	row_init(&r, label);
	row_mark(&r, t, begin, end, '#');
	row_write(&r, x);
}

static void
attempt(const struct tale *t, struct text *x, const struct tale_attempt *a)
{
	struct instant first = a->first_byte, last = a->complete;
	char name[LABEL + 1], outcome[LABEL + 1], label[2 * LABEL + 3];
	struct stage_row r;

	if (a->server < 0 || !instant_is_set(a->written))
		return;
	text_safe(outcome, sizeof(outcome), a->outcome);
	tale_server_name(t, a->server, name, sizeof(name) - 1);
	if (strlen(name) + 1 + strlen(outcome) >= LABEL)
		outcome[0] = '\0';
	snprintf(label, sizeof(label), "%s%s%s", name,
	    outcome[0] != '\0' ? " " : "", outcome);
	row_init(&r, label);
	/* An attempt without an end was still waited for at the end. */
	if (!instant_is_set(last))
		last = t->end;
	if (instant_is_set(first))
		row_mark(&r, t, first, last, '#');
	else
		first = last;
	row_mark(&r, t, a->written, first, '=');
	row_write(&r, x);
}

static void
pauses(const struct tale *t, struct text *x)
{
	const struct tale_pause *p;
	char label[2 * LABEL], name[LABEL + 1];
	unsigned rows = 0;
	struct stage_row r;

	for (size_t i = 0; i < t->pauses && rows < PAUSES_MAX; i++) {
		p = &t->pause[i];
		if (tale_overlap_ns(p->begin, p->end, t->t0, t->end) == 0)
			continue;
		tale_server_name(t, p->server, name,
		    LABEL - strlen(hazard_kind_name(p->kind)) - 1);
		snprintf(label, sizeof(label), "%s %s", name,
		    hazard_kind_name(p->kind));
		row_init(&r, label);
		row_mark(&r, t, p->begin, p->end, '~');
		row_write(&r, x);
		rows++;
	}
}

static void
blinds(const struct tale *t, struct text *x)
{
	const struct tale_entry *e;
	struct stage_row r;

	if (t->blinds == 0)
		return;
	row_init(&r, "not observed");
	for (size_t i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		if (e->slot.event.type == TALECHAIN_META_BLIND)
			row_mark(&r, t,
			    tale_earlier(
				e->at, tale_event_latency_ns(&e->slot.event)),
			    e->at, '?');
	}
	row_write(&r, x);
}

void
tale_waterfall(const struct tale *t, struct text *x)
{
	const struct tale_request *r = &t->request;
	char total[32];

	if (tale_total_ns(t) <= 0)
		return;
	snprintf(total, sizeof(total), "%.3f ms", text_ms_of(tale_total_ns(t)));
	text_add(x, "\n%-*s0%*s\n", LABEL + 1, "", BAR - 1, total);
	if (t->client.same_host)
		stage(t, x, "client", t->t0, t->end);
	stage(t, x, "client > proxy", r->first_byte, r->received);
	attempt(t, x, &r->attempt[0]);
	attempt(t, x, &r->attempt[1]);
	stage(t, x, "proxy > client", r->committed, r->finished);
	pauses(t, x);
	blinds(t, x);
	text_add(x,
	    "%-*s = waiting for the first byte  # busy  ~ paused  "
	    "? unobserved\n",
	    LABEL, "");
}
