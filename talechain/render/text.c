/* text.c: a story for a terminal of 80 columns.
 *
 * The order is: the verdict, one sentence, with evidence and advice; the
 * request; where the time went; the stages to scale; pauses and gaps in what
 * was observed; every event in order of time.  All text is ASCII, and strings
 * from outside cannot break the layout. */
#include "talechain/render/render.h"

#include <assert.h>
#include <inttypes.h>

#include "base/array.h"
#include "talechain/events/events.h"
#include "talechain/events/termination.h"
#include "talechain/render/markup.h"
#include "talechain/tale/tale_struct.h"

/* Blind intervals below this part of the request are not listed. */
#define BLIND_PART 20
#define EVENTS_MAX 500 /* most lines; --json has all */
#define LANE_SIZE 13
#define EVENT_INDENT 45 /* where arguments begin */
#define PIECES_MAX 24	/* most lines; other renderings have all */
#define PIECE_INDENT 46 /* where server and thread begin */
#define HEADING 13	/* columns of "what to try: " */
#define CAUSE_BAR 34
#define LABEL 26 /* columns of a cause's label */
#define STAGE_LABEL 15
#define STAGE_BAR 62
#define STAGE_PAUSES 8 /* most rows */

/* Format a moment as "+1.234", milliseconds since t0. */
static char *
offset_ms(const struct tale *t, struct instant at, char out[32])
{
	snprintf(out, 32, "%+.3f", text_ms_of(instant_since(at, t->t0)));
	return out;
}

static void
render_head(const struct story *s, struct text *x)
{
	const struct tale *t = s->tale;
	const struct tale_request *r = &t->request;
	char origin[ORIGIN_WORDS], flags[TALE_FLAGS], ending[TALE_ENDING];
	char line[TEXT_COLUMNS], word[TEXT_COLUMNS];
	int attempts =
	    (r->attempt[0].server >= 0) + (r->attempt[1].server >= 0);

	text_add(x, "request %016" PRIx64 "\n", r->id);
	if (*client_id(r) != '\0')
		text_add(x, "x-request-id %s\n",
		    text_safe(line, sizeof(line) - 13, client_id(r)));
	text_safe(word, 24, r->method);
	text_add(x, "%s %s\n", word,
	    text_safe(line, sizeof(line) - strlen(word) - 1, r->target));
	if (r->status > 0)
		text_add(x, "status %d%s, ", r->status, tale_ending(r, ending));
	else
		text_add(x, "no response%s, ",
		    r->termination != 0 ? tale_ending(r, ending) : " yet");
	text_add(x, "total %.3f ms, %d attempt%s", text_ms_of(tale_total_ns(t)),
	    attempts, attempts == 1 ? "" : "s");
	if (t->client.same_host && instant_before(t->t0, r->first_byte))
		text_add(x, ", as the client saw it");
	text_add(x, "\n");
	if (*origin_words(s, origin) != '\0')
		text_wrap(x, origin, 0, 2);
	if (*tale_flags(r, flags) != '\0')
		text_add(
		    x, "flags %s\n", text_safe(line, sizeof(line) - 6, flags));
}

/* Write lines of evidence or advice, the first one after the heading. */
static void
render_lines(
    const char *heading, char line[STORY_LINES][STORY_TEXT], struct text *x)
{
	for (int i = 0; i < STORY_LINES && line[i][0] != '\0'; i++) {
		text_add(x, "%-*s", HEADING, i == 0 ? heading : "");
		text_wrap(x, line[i], HEADING, HEADING);
	}
}

static void
render_verdict(const struct story *s, struct text *x)
{
	struct story_verdict v = s->verdict;

	text_wrap(x, v.text, 0, 0);
	if (s->total_ns > 0) {
		text_add(x, "%-*s", HEADING, "confidence:");
		text_wrap(
		    x, story_confidence_words(v.confidence), HEADING, HEADING);
	}
	render_lines("evidence:", v.evidence, x);
	render_lines("what to try:", v.advice, x);
}

/* The sums of all causes add up to the whole time. */
#define TALE_X(symbol, code, label, ...) \
	_Static_assert(sizeof(label) <= LABEL + 1, "a column is as wide");
TALE_CAUSES(TALE_X)
#undef TALE_X

static void
render_causes(const struct story *s, struct text *x)
{
	char bar[CAUSE_BAR + 1], note[32];
	bool done[TALE_CAUSE_COUNT] = {false};
	enum tale_cause c;
	size_t n;

	if (s->total_ns <= 0)
		return;
	text_add(x, "\nwhere the time went               ms      %%\n");
	while ((c = story_cause_largest(s, done)) != TALE_CAUSE_COUNT) {
		done[c] = true;
		n = (size_t)((double)CAUSE_BAR * (double)s->cause_ns[c] /
			     (double)s->total_ns);
		memset(bar, '#', sizeof(bar));
		bar[n <= CAUSE_BAR ? n : CAUSE_BAR] = '\0';
		text_add(x, "%-*s %9.3f %6.1f%s%s\n", LABEL,
		    tale_cause_label(c), text_ms_of(s->cause_ns[c]),
		    100 * (double)s->cause_ns[c] / (double)s->total_ns,
		    n > 0 ? "  " : "", bar);
	}
	snprintf(note, sizeof(note), "%.1f", 100 * s->coverage);
	text_add(x, "%-*s %9.3f  100.0  (%s %% explained)\n", LABEL, "in all",
	    text_ms_of(s->total_ns), note);
}

/* --- the stages to scale ---------------------------------------------------
 *
 * One row per stage: where the client's bytes travelled, each attempt (waiting
 * for the first byte, then its response arriving), the pauses of the servers,
 * and times without observation.  Each stage gets at least one column, so that
 * none is hidden: the picture is exact to a column only. */

struct stage_row {
	char label[STAGE_LABEL + 1];
	char bar[STAGE_BAR + 1];
};

static void
row_init(struct stage_row *r, const char *label)
{
	snprintf(r->label, sizeof(r->label), "%.*s", STAGE_LABEL, label);
	memset(r->bar, ' ', STAGE_BAR);
	r->bar[STAGE_BAR] = '\0';
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
	b = (size_t)((double)b_ns * STAGE_BAR / (double)total_ns);
	e = (size_t)((double)e_ns * STAGE_BAR / (double)total_ns);
	if (b > STAGE_BAR - 1)
		b = STAGE_BAR - 1;
	if (e <= b)
		e = b + 1;
	memset(r->bar + b, mark, e - b);
}

static void
row_write(const struct stage_row *r, struct text *x)
{
	text_add(x, "%-*s|%s|\n", STAGE_LABEL, r->label, r->bar);
}

static void
stage_write(const struct tale *t, struct text *x, const char *label,
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
attempt_write(
    const struct tale *t, struct text *x, const struct tale_attempt *a)
{
	struct instant first = a->first_byte, last = a->complete;
	char name[STAGE_LABEL + 1], outcome[STAGE_LABEL + 1],
	    label[2 * STAGE_LABEL + 3];
	struct stage_row r;

	if (a->server < 0 || !instant_is_set(a->written))
		return;
	text_safe(outcome, sizeof(outcome), a->outcome);
	tale_server_name(t, a->server, name, sizeof(name) - 1);
	if (strlen(name) + 1 + strlen(outcome) >= STAGE_LABEL)
		outcome[0] = '\0';
	snprintf(label, sizeof(label), "%s%s%s", name,
	    outcome[0] != '\0' ? " " : "", outcome);
	row_init(&r, label);
	/* An attempt without an end lasts to the end of the request. */
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
pauses_write(const struct tale *t, struct text *x)
{
	const struct tale_pause *p;
	char label[2 * STAGE_LABEL], name[STAGE_LABEL + 1];
	unsigned rows = 0;
	struct stage_row r;

	for (size_t i = 0; i < t->pauses && rows < STAGE_PAUSES; i++) {
		p = &t->pause[i];
		if (tale_overlap_ns(p->begin, p->end, t->t0, t->end) == 0)
			continue;
		tale_server_name(t, p->server, name,
		    STAGE_LABEL - strlen(hazard_kind_name(p->kind)) - 1);
		snprintf(label, sizeof(label), "%s %s", name,
		    hazard_kind_name(p->kind));
		row_init(&r, label);
		row_mark(&r, t, p->begin, p->end, '~');
		row_write(&r, x);
		rows++;
	}
}

static void
blinds_write(const struct tale *t, struct text *x)
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

static void
render_stages(const struct tale *t, struct text *x)
{
	const struct tale_request *r = &t->request;
	char total[32];

	if (tale_total_ns(t) <= 0)
		return;
	snprintf(total, sizeof(total), "%.3f ms", text_ms_of(tale_total_ns(t)));
	text_add(x, "\n%-*s0%*s\n", STAGE_LABEL + 1, "", STAGE_BAR - 1, total);
	if (t->client.same_host)
		stage_write(t, x, "client", t->t0, t->end);
	stage_write(t, x, "connecting", r->connecting, r->accepted);
	stage_write(t, x, "accept queue", r->arrived, r->accepted);
	stage_write(t, x, "client > proxy", r->first_byte, r->received);
	attempt_write(t, x, &r->attempt[0]);
	attempt_write(t, x, &r->attempt[1]);
	stage_write(t, x, "proxy > client", r->committed, r->finished);
	stage_write(t, x, "acknowledged", r->finished, r->acknowledged);
	pauses_write(t, x);
	blinds_write(t, x);
	text_add(x,
	    "%-*s = waiting for the first byte  # busy  ~ paused  "
	    "? unobserved\n",
	    STAGE_LABEL, "");
}

/* --- pauses, losses, events --------------------------------------------- */

static void
render_pauses(const struct tale *t, struct text *x)
{
	const struct tale_pause *p;
	char name[LANE_SIZE], from[32], to[32], line[TEXT_COLUMNS];
	int n;

	if (t->pauses > 0)
		text_add(x, "\npauses        from ms      to ms  length ms  "
			    "in request\n");
	for (size_t i = 0; i < t->pauses; i++) {
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
		assert(n > 0); /* a longer line is cut */
		text_add(x, "%s\n", line);
	}
}

/* Print what the tale lacks, even if that is nothing. */
static void
render_missing(const struct tale *t, struct text *x)
{
	const struct {
		uint64_t count;
		const char *what;
	} missing[] = {
	    {t->lost_stream, "slots of the stream were overwritten before "
			     "they were read"},
	    {t->lost_channels,
		"events were lost meanwhile: the observer came too late"},
	    {t->omitted, "further events were left out: the tale is full"},
	};

	text_add(x, "\n");
	if (t->stale)
		text_add(x, "The beginning of this request has been "
			    "overwritten in the stream.\n");
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (missing[i].count > 0)
			text_add(x, "%" PRIu64 " %s.\n", missing[i].count,
			    missing[i].what);
	if (t->blinds > 0)
		text_add(x,
		    "The observer was blind for %.3f ms of it, in %u "
		    "interval%s:\npauses of a server may be missing there.\n",
		    text_ms_of(t->blind_ns), t->blinds,
		    t->blinds == 1 ? "" : "s");
	else if (tale_lost(t) == 0 && t->omitted == 0 && !t->stale)
		text_add(x, "No event is known to be lost and no blind "
			    "interval was recorded.\n");
}

/* True if a value with this name is a duration; other names in _ns are
 * moments. */
static bool
is_duration(const char *name)
{
	static const char *const names[] = {"latency_ns", "interval_ns",
	    "wait_ns", "stolen_ns", "ran_ns", "period_ns", "quota_ns"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Format a value, with its name where the tables have one. */
static void
value_format(const struct tale *t, const struct tale_entry *e,
    const struct talechain_value *v, char out[64])
{
	bool hazard = e->slot.event.type >> 12 == 4;
	char name[24], ms[32], ended[TERMINATION_TEXT];
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
	} else if (strcmp(v->name, "termination") == 0) {
		snprintf(out, 64, "termination=%s",
		    termination_text((unsigned)v->value, ended));
	} else if (is_duration(v->name)) {
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

/* The lane's name in the list; for a thread its server's name, which is short
 * enough. */
static void
event_lane(const struct story *s, size_t i, char out[LANE_SIZE])
{
	const struct story_lane *l = &s->lane[s->event_lane[i]];

	if (l->kind == STORY_LANE_SERVER && l->tid != 0)
		tale_server_name(s->tale, l->number, out, LANE_SIZE);
	else
		text_safe(out, LANE_SIZE, l->name);
}

static void
render_event(const struct story *s, size_t i, struct text *x)
{
	const struct tale *t = s->tale;
	const struct tale_entry *e = &t->entry[i];
	const struct talechain_event *v = &e->slot.event;
	const char *type = talechain_type_name(v->type);
	char lane[LANE_SIZE], at[32], number[16], line[TEXT_COLUMNS];
	char words[400], word[64];
	struct talechain_value value;
	size_t length = 0;
	int column;

	event_lane(s, i, lane);
	snprintf(number, sizeof(number), "type_%04x", v->type);
	column = snprintf(line, sizeof(line), "%10s%c %-*s %-19s ",
	    offset_ms(t, e->at, at), e->doubtful ? '?' : ' ', LANE_SIZE - 1,
	    lane, type != NULL ? type : number);
	assert(column > 0 && column < (int)sizeof(line));
	text_add(x, "%s", line);
	for (unsigned n = 0; talechain_argument(v, n, &value); n++) {
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

/* Print a time stamp of the client, which is in the list although it is no
 * event. */
static void
render_client(
    const struct tale *t, const char *what, struct instant at, struct text *x)
{
	char offset[32];

	if (t->client.same_host && instant_is_set(at))
		text_add(x, "%10s  %-*s %s\n", offset_ms(t, at, offset),
		    LANE_SIZE - 1, "client", what);
}

/* True if an event is not listed.  A request has hundreds of kernel events: the
 * pieces of the path result from them. */
static bool
is_detail(const struct talechain_event *e)
{
	return e->type == TALECHAIN_JVM_THREAD ||
	       (e->type >> 12 == 0 && e->type != TALECHAIN_TCP_RETRANSMIT &&
		   e->type != TALECHAIN_EXEC && e->type != TALECHAIN_EXIT);
}

static int
segment_longer(const void *va, const void *vb)
{
	const struct story_segment *a = va, *b = vb;
	int64_t la = a->end_ns - a->begin_ns, lb = b->end_ns - b->begin_ns;

	return COMPARE(lb, la);
}

static int
segment_earlier(const void *va, const void *vb)
{
	const struct story_segment *a = va, *b = vb;

	return COMPARE(a->begin_ns, b->begin_ns);
}

/* Print the longest pieces of the path, in order of time. */
static void
render_pieces(const struct story *s, struct text *x)
{
	size_t n = s->segments < PIECES_MAX ? s->segments : PIECES_MAX;
	struct story_segment *piece;
	char who[sizeof(piece->who) + 16];
	int64_t listed_ns = 0;

	if (n == 0)
		return;
	piece = malloc(s->segments * sizeof(*piece));
	if (piece == NULL) {
		x->failed = true;
		return;
	}
	memcpy(piece, s->segment, s->segments * sizeof(*piece));
	qsort(piece, s->segments, sizeof(*piece), segment_longer);
	qsort(piece, n, sizeof(*piece), segment_earlier);
	text_add(x, "\n   from ms  length ms  %s\n",
	    n < s->segments ? "the longest pieces" : "piece by piece");
	for (size_t i = 0; i < n; i++) {
		int64_t length_ns = piece[i].end_ns - piece[i].begin_ns;

		listed_ns += length_ns;
		text_add(x, "%+10.3f %10.3f  ", text_ms_of(piece[i].begin_ns),
		    text_ms_of(length_ns));
		text_add(x, "%-22.22s ", tale_cause_label(piece[i].cause));
		snprintf(who, sizeof(who), "%s%s", piece[i].who,
		    piece[i].confidence == STORY_LIKELY ? " (likely)" : "");
		text_wrap(x, who, PIECE_INDENT, PIECE_INDENT);
	}
	if (n < s->segments)
		text_add(x,
		    "%zu shorter ones, %.3f ms in all: see the page (--html) "
		    "or --json.\n",
		    s->segments - n, text_ms_of(s->total_ns - listed_ns));
	free(piece);
}

/* True if a blind interval is too short to list: the picture shows it, and
 * their sum is printed. */
static bool
is_minor(const struct tale *t, const struct tale_entry *e)
{
	int64_t total_ns =
	    instant_since(t->request.finished, t->request.first_byte);

	return e->slot.event.type == TALECHAIN_META_BLIND &&
	       e->slot.event.arg[0] < (uint64_t)total_ns / BLIND_PART;
}

static void
render_events(const struct story *s, struct text *x)
{
	const struct tale *t = s->tale;
	size_t shown = 0, minor = 0, details = 0, rates = 0;
	bool doubtful = false;

	for (size_t i = 0; i < t->entries; i++) {
		details += is_detail(&t->entry[i].slot.event);
		rates += t->entry[i].slot.event.type == TALECHAIN_RATE;
	}
	if (details > 0)
		render_pieces(s, x);

	text_add(x, "\n        ms  lane         event\n");
	render_client(t, "scheduled", t->client.scheduled, x);
	render_client(t, "sent", t->client.sent, x);
	for (size_t i = 0; i < t->entries; i++) {
		if (is_detail(&t->entry[i].slot.event) ||
		    t->entry[i].slot.event.type == TALECHAIN_RATE)
			continue;
		if (is_minor(t, &t->entry[i])) {
			minor++;
			continue;
		}
		if (shown == EVENTS_MAX)
			continue;
		render_event(s, i, x);
		doubtful |= t->entry[i].doubtful;
		shown++;
	}
	render_client(t, "received", t->client.received, x);
	if (t->entries - minor - details - rates > shown)
		text_add(x, "%zu more events: --json has all.\n",
		    t->entries - minor - details - rates - shown);
	if (details > 0)
		text_add(x,
		    "%zu kernel event%s: see the page (--html) or --json.\n",
		    details, details == 1 ? "" : "s");
	if (minor > 0)
		text_add(x,
		    "%zu short blind interval%s not listed; the JSON "
		    "rendering has all.\n",
		    minor, minor == 1 ? " is" : "s are");
	if (doubtful)
		text_add(x, "? the event's own time stamp cannot be right; "
			    "this is when the observer read the event.\n");
}

int
story_render_text(const struct story *s, char **text, size_t *length)
{
	struct text x = {0};

	render_verdict(s, &x);
	text_add(&x, "\n");
	render_head(s, &x);
	render_causes(s, &x);
	render_stages(s->tale, &x);
	render_pauses(s->tale, &x);
	render_missing(s->tale, &x);
	render_events(s, &x);
	return text_take(&x, text, length);
}
