/*
 * render_text.c: a tale for a terminal of 80 columns.
 *
 * From the answer to the evidence: who asked for what, one sentence, a picture
 * of the stages to scale, pauses and gaps in what was seen, then every event
 * in order of time.  ASCII only, and nothing from outside can break out of
 * its place.
 */
#include "talechain/tale.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/text.h"

/* Blind intervals below this part of the request are not listed. */
#define BLIND_PART 20
#define EVENTS_MAX 500 /* lines; the JSON rendering has all */
#define LANE_SIZE 13
#define EVENT_INDENT 45 /* where arguments begin */

/* A moment as "+1.234", milliseconds since t0. */
static char *
offset_ms(const struct tale *t, struct instant at, char out[32])
{
	snprintf(out, 32, "%+.3f", text_ms_of(instant_since(at, t->t0)));
	return out;
}

static void
render_head(const struct tale *t, struct text *x)
{
	const struct tale_request *r = &t->request;
	char line[TEXT_COLUMNS], word[TEXT_COLUMNS];
	int attempts =
	    (r->attempt[0].server >= 0) + (r->attempt[1].server >= 0);

	text_add(x, "request %016" PRIx64 "\n", r->id);
	if (r->external_id[0] != '\0')
		text_add(x, "its id   %s\n",
		    text_safe(line, sizeof(line) - 9, r->external_id));
	text_safe(word, 24, r->method);
	text_add(x, "%s %s\n", word,
	    text_safe(line, sizeof(line) - strlen(word) - 1, r->target));
	if (r->status > 0)
		text_add(x, "status %d, ", r->status);
	else
		text_add(x, "no answer yet, ");
	text_add(x, "total %.3f ms, %d attempt%s", text_ms_of(tale_total_ns(t)),
	    attempts, attempts == 1 ? "" : "s");
	if (instant_before(t->t0, r->first_byte))
		text_add(x, ", as the client saw it");
	text_add(x, "\n");
	if (r->flags[0] != '\0')
		text_add(x, "flags %s\n",
		    text_safe(line, sizeof(line) - 6, r->flags));
}

static void
render_verdict(const struct tale *t, struct text *x)
{
	struct tale_verdict v;

	tale_verdict(t, &v);
	text_add(x, "\n");
	text_wrap(x, v.text, 0, 0);
}

static void
render_pauses(const struct tale *t, struct text *x)
{
	const struct tale_pause *p;
	char name[LANE_SIZE], from[32], to[32], line[TEXT_COLUMNS];
	size_t i;
	int n;

	if (t->pauses > 0)
		text_add(x, "\npauses        from ms      to ms  length ms  "
			    "in request\n");
	for (i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		offset_ms(t, p->begin, from);
		offset_ms(t, p->end, to);
		n = snprintf(line, sizeof(line),
		    "%-*s %10s %10s %10.3f%c %10.3f  %s, %s", LANE_SIZE - 3,
		    tale_server_name(t, p->server, name, LANE_SIZE - 2),
		    p->begin_seen ? from : "before", p->end_seen ? to : "after",
		    text_ms_of(instant_since(p->end, p->begin)),
		    p->begin_seen && p->end_seen ? ' ' : '+',
		    text_ms_of(
			tale_overlap_ns(p->begin, p->end, t->t0, t->end)),
		    hazard_kind_name(p->kind), talechain_cause_name(p->cause));
		assert(n > 0); /* and cut at 80 columns if it must be */
		text_add(x, "%s\n", line);
	}
}

/* What is missing, said plainly, also when it is nothing. */
static void
render_missing(const struct tale *t, struct text *x)
{
	text_add(x, "\n");
	if (t->stale)
		text_add(x, "The beginning of this request has been "
			    "overwritten in the stream.\n");
	if (t->lost_stream > 0)
		text_add(x,
		    "%" PRIu64 " slots of the stream were overwritten "
		    "before they were read.\n",
		    t->lost_stream);
	if (t->lost_channels > 0)
		text_add(x,
		    "%" PRIu64 " events were lost meanwhile: the "
		    "observer came too late.\n",
		    t->lost_channels);
	if (t->omitted > 0)
		text_add(x,
		    "%" PRIu64 " events more than a tale holds were "
		    "left out.\n",
		    t->omitted);
	if (t->blinds > 0)
		text_add(x,
		    "The observer was blind for %.3f ms of it, in %u "
		    "interval%s.\n",
		    text_ms_of(t->blind_ns), t->blinds,
		    t->blinds == 1 ? "" : "s");
	else if (tale_lost(t) == 0 && t->omitted == 0 && !t->stale)
		text_add(x, "No event is known to be lost and no blind "
			    "interval was recorded.\n");
}

/* One value in words, as far as the tables know its meaning. */
static void
value_format(const struct tale *t, const struct tale_entry *e,
    const struct talechain_value *v, char out[64])
{
	bool hazard = e->slot.event.type >> 12 == 4;
	char name[24], ms[32];
	size_t n = strlen(v->name);

	if (strcmp(v->name, "cause") == 0 && v->value <= UINT16_MAX) {
		snprintf(out, 64, "cause=%s",
		    talechain_cause_name((unsigned)v->value));
	} else if (strcmp(v->name, "kind") == 0 && hazard &&
		   v->value < HAZARD_KIND_COUNT) {
		snprintf(out, 64, "kind=%s",
		    hazard_kind_name((enum hazard_kind)v->value));
	} else if ((strcmp(v->name, "server") == 0 ||
		       strcmp(v->name, "from") == 0 ||
		       strcmp(v->name, "to") == 0) &&
		   v->value <= INT32_MAX) {
		tale_server_name(t, (int)v->value, name, sizeof(name));
		snprintf(out, 64, "%s=%s", v->name, name);
	} else if ((strcmp(v->name, "latency_ns") == 0 ||
		       strcmp(v->name, "interval_ns") == 0)) {
		snprintf(out, 64, "%.*s=%.3fms", (int)n - 3, v->name,
		    (double)v->value / (double)NS_PER_MS);
	} else if (n > 3 && strcmp(v->name + n - 3, "_ns") == 0 &&
		   v->value != 0) {
		snprintf(out, 64, "%.*s=%sms", (int)n - 3, v->name,
		    offset_ms(t, (struct instant){v->value}, ms));
	} else {
		snprintf(out, 64, "%s=%" PRIu64, v->name, v->value);
	}
}

static void
render_event(const struct tale *t, const struct tale_entry *e, struct text *x)
{
	const struct talechain_event *v = &e->slot.event;
	const char *type = talechain_type_name(v->type);
	char lane[LANE_SIZE], at[32], number[16], line[TEXT_COLUMNS];
	char words[400], word[64];
	struct talechain_value value;
	size_t length = 0;
	unsigned n;
	int column;

	tale_lane_name(t, tale_lane_of(t, e), lane, sizeof(lane));
	snprintf(number, sizeof(number), "type_%04x", v->type);
	column = snprintf(line, sizeof(line), "%10s%c %-*s %-19s ",
	    offset_ms(t, e->at, at), e->doubtful ? '?' : ' ', LANE_SIZE - 1,
	    lane, type != NULL ? type : number);
	assert(column > 0 && column < (int)sizeof(line));
	text_add(x, "%s", line);
	for (n = 0; talechain_argument(v, n, &value); n++) {
		if (strcmp(value.name, "request") == 0)
			continue;
		value_format(t, e, &value, word);
		length +=
		    (size_t)snprintf(words + length, sizeof(words) - length,
			"%s%s", length > 0 ? " " : "", word);
	}
	words[length] = '\0';
	text_wrap(x, words, (size_t)column, EVENT_INDENT);
}

/* The client's stamps belong in the list, although they are no events. */
static void
render_client(
    const struct tale *t, const char *what, struct instant at, struct text *x)
{
	char offset[32];

	if (t->client.same_host && instant_is_set(at))
		text_add(x, "%10s  %-*s %s\n", offset_ms(t, at, offset),
		    LANE_SIZE - 1, "client", what);
}

/* A blind interval that says little about this request: the waterfall shows
 * where it was, and their sum has been told. */
static bool
is_minor(const struct tale *t, const struct tale_entry *e)
{
	int64_t total_ns =
	    instant_since(t->request.finished, t->request.first_byte);

	return e->slot.event.type == TALECHAIN_META_BLIND &&
	       e->slot.event.arg[0] < (uint64_t)total_ns / BLIND_PART;
}

static void
render_events(const struct tale *t, struct text *x)
{
	size_t i, shown = 0, minor = 0;
	bool doubtful = false;

	text_add(x, "\n        ms  lane         event\n");
	render_client(t, "scheduled", t->client.scheduled, x);
	render_client(t, "sent", t->client.sent, x);
	for (i = 0; i < t->entries; i++) {
		if (is_minor(t, &t->entry[i])) {
			minor++;
			continue;
		}
		if (shown == EVENTS_MAX)
			continue;
		render_event(t, &t->entry[i], x);
		doubtful |= t->entry[i].doubtful;
		shown++;
	}
	render_client(t, "received", t->client.received, x);
	if (t->entries - minor > shown)
		text_add(x, "%zu more events; the JSON rendering has all.\n",
		    t->entries - minor - shown);
	if (minor > 0)
		text_add(x,
		    "%zu short blind interval%s not listed; the JSON "
		    "rendering has all.\n",
		    minor, minor == 1 ? " is" : "s are");
	if (doubtful)
		text_add(x, "? its own stamp cannot be true; this is when the "
			    "observer read it.\n");
}

int
tale_render_text(const struct tale *t, char **text, size_t *length)
{
	struct text x = {0};

	render_head(t, &x);
	render_verdict(t, &x);
	tale_waterfall(t, &x);
	render_pauses(t, &x);
	render_missing(t, &x);
	render_events(t, &x);
	return text_take(&x, text, length);
}
