/* json.c: a story as JSON, schema tailor.timeline/1.
 *
 * All times are integers, nanoseconds since t0.  Strings are: t0, which does
 * not fit a double, ids (hexadecimal), and event arguments above 2^53.  The
 * JSON writer of base/ escapes every string. */
#include "talechain/render/render.h"

#include <inttypes.h>

#include "talechain/events/events.h"
#include "talechain/events/termination.h"
#include "talechain/render/markup.h"
#include "talechain/tale/tale_struct.h"

#define JSON_INTEGER_MAX (UINT64_C(1) << 53)

/* Write key: at, in nanoseconds since t0; nothing if at is not set. */
static void
key_offset(
    const struct tale *t, struct json *j, const char *key, struct instant at)
{
	if (instant_is_set(at))
		json_key_int(j, key, instant_since(at, t->t0));
}

static void
key_hex(struct json *j, const char *key, uint64_t v)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, v);
	json_key_string(j, key, text);
}

/* An array of objects, one for each of count parts of a story. */
static void
write_list(const struct story *s, const char *key, size_t count,
    void (*write)(const struct story *s, size_t i, struct json *j),
    struct json *j)
{
	json_key_array(j, key);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(j);
		write(s, i, j);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Write a number unless it is 0, or a text unless it is empty. */
static void
key_known(struct json *j, const char *key, uint64_t v)
{
	if (v != 0)
		json_key_uint(j, key, v);
}

static void
key_given(struct json *j, const char *key, const char *v)
{
	if (v[0] != '\0')
		json_key_string(j, key, v);
}

static void
write_request(const struct tale *t, struct json *j)
{
	const struct tale_request *r = &t->request;
	char ended[TERMINATION_TEXT];

	json_key_object(j, "request");
	key_hex(j, "id", r->id);
	json_key_string(j, "external_id", r->external_id);
	json_key_string(j, "method", r->method);
	json_key_string(j, "target", r->target);
	json_key_int(j, "status", r->status);
	json_key_string(
	    j, "termination", termination_text(r->termination, ended));
	key_given(j, "reason", r->reason);
	key_given(j, "refusal", r->refusal);
	key_offset(t, j, "connecting", r->connecting);
	if (instant_is_set(r->connecting))
		json_key_uint(j, "synacks", r->synacks);
	key_offset(t, j, "arrived", r->arrived);
	key_offset(t, j, "accepted", r->accepted);
	key_offset(t, j, "first_byte", r->first_byte);
	key_offset(t, j, "received", r->received);
	key_offset(t, j, "committed", r->committed);
	key_offset(t, j, "finished", r->finished);
	key_offset(t, j, "acknowledged", r->acknowledged);
	if (instant_is_set(r->acknowledged))
		json_key_uint(j, "resent", r->resent);
	json_object_end(j);
}

/* Write when and where the story happened, as far as known. */
static void
write_origin(const struct story *s, struct json *j)
{
	const struct story_origin *o = &s->origin;
	char text[40];

	json_key_object(j, "origin");
	if (o->begun_wall_ns > 0) {
		json_key_string(j, "begun", text_wall(text, o->begun_wall_ns));
		snprintf(text, sizeof(text), "%" PRId64, o->begun_wall_ns);
		json_key_string(j, "begun_unix_ns", text);
	}
	key_given(j, "host", o->host);
	if (o->version != NULL)
		json_key_string(j, "version", o->version);
	json_object_end(j);
}

static void
write_client(const struct tale *t, struct json *j)
{
	const struct tale_client *c = &t->client;

	if (!c->same_host)
		return;
	json_key_object(j, "client");
	key_offset(t, j, "scheduled", c->scheduled);
	key_offset(t, j, "sent", c->sent);
	key_offset(t, j, "received", c->received);
	json_object_end(j);
}

void
json_key_lines(
    struct json *j, const char *key, const char line[STORY_LINES][STORY_TEXT])
{
	json_key_array(j, key);
	for (int i = 0; i < STORY_LINES && line[i][0] != '\0'; i++)
		json_string(j, line[i]);
	json_array_end(j);
}

static void
write_verdict(const struct story *s, struct json *j)
{
	const struct story_verdict *v = &s->verdict;

	json_key_object(j, "verdict");
	json_key_string(j, "code", tale_cause_code(v->cause));
	json_key_int(j, "share", v->share_ns);
	json_key_string(j, "confidence", story_confidence_name(v->confidence));
	json_key_string(j, "text", v->text);
	json_key_lines(j, "evidence", v->evidence);
	json_key_lines(j, "advice", v->advice);
	json_object_end(j);
}

/* Write the sum of each cause; causes without time are left out. */
static void
write_causes(const struct story *s, struct json *j)
{
	json_key_object(j, "causes");
	for (int i = 0; i < TALE_CAUSE_COUNT; i++)
		if (s->cause_ns[i] > 0)
			json_key_int(j, tale_cause_code((enum tale_cause)i),
			    s->cause_ns[i]);
	json_object_end(j);
}

static void
write_lane(const struct story *s, size_t i, struct json *j)
{
	json_key_string(j, "k", story_lane_name(s->lane[i].kind));
	if (s->lane[i].number >= 0)
		json_key_int(j, "n", s->lane[i].number);
	key_known(j, "tid", s->lane[i].tid);
	json_key_string(j, "name", s->lane[i].name);
	key_given(j, "owner", s->lane[i].owner);
}

static void
write_thread(const struct story *s, size_t i, struct json *j)
{
	const struct story_thread *h = &s->thread[i];

	json_key_uint(j, "tid", h->tid);
	key_known(j, "pid", h->pid);
	key_given(j, "name", h->name);
	key_given(j, "owner", h->owner);
}

/* Write another request that a server's thread had meanwhile. */
static void
write_other(const struct story *s, size_t i, struct json *j)
{
	const struct story_request *r = &s->request[i];

	key_hex(j, "id", r->id);
	json_key_int(j, "waited", r->waited_ns);
	if (r->external_id[0] != '\0') {
		json_key_string(j, "external_id", r->external_id);
		json_key_string(j, "method", r->method);
		json_key_string(j, "target", r->target);
	}
}

/* Write the bars of two kinds, as an array of their own. */
static void
write_bars(const struct story *s, const char *key, enum story_bar_kind one,
    enum story_bar_kind other, struct json *j)
{
	const struct story_bar *b;

	json_key_array(j, key);
	for (size_t i = 0; i < s->bars; i++) {
		b = &s->bar[i];
		if (b->kind != one && b->kind != other)
			continue;
		json_object_begin(j);
		json_key_uint(j, "l", b->lane);
		json_key_int(j, "b", b->begin_ns);
		json_key_int(j, "e", b->end_ns);
		json_key_string(j, "n", b->name);
		if (b->kind != STORY_BAR_OTHER && b->kind != STORY_BAR_REQUEST)
			json_key_string(j, "code", tale_cause_code(b->cause));
		if (b->cpu >= 0)
			json_key_int(j, "cpu", b->cpu);
		key_known(j, "tid", b->tid);
		if (b->request != 0)
			key_hex(j, "request", b->request);
		json_object_end(j);
	}
	json_array_end(j);
}

/* [lane, moment] */
static void
write_point(const char *key, unsigned lane, int64_t ns, struct json *j)
{
	json_key_array(j, key);
	json_uint(j, lane);
	json_int(j, ns);
	json_array_end(j);
}

static void
write_arrows(const struct story *s, const char *key, enum story_arrow_kind kind,
    struct json *j)
{
	const struct story_arrow *a;

	json_key_array(j, key);
	for (size_t i = 0; i < s->arrows; i++) {
		a = &s->arrow[i];
		if (a->kind != kind)
			continue;
		json_object_begin(j);
		write_point("f", a->from_lane, a->from_ns, j);
		write_point("t", a->to_lane, a->to_ns, j);
		json_key_string(j, "n", a->name);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Write the functions of a stack, innermost first; the kernel's with "[k]", as
 * in perf. */
static void
write_stack(const struct story *s, size_t segment, struct json *j)
{
	char name[STORY_FRAME + 4];
	bool kernel = false;

	if (s->segment[segment].stack == 0)
		return;
	json_key_array(j, "stack");
	for (unsigned n = 0; story_frame(s, segment, n, name, &kernel); n++) {
		if (kernel)
			strcat(name, " [k]");
		json_string(j, name);
	}
	json_array_end(j);
}

/* Write a piece of the critical path; the pieces tile [0, total]. */
static void
write_segment(const struct story *s, size_t i, struct json *j)
{
	const struct story_segment *g = &s->segment[i];
	char call[TALECHAIN_CALL_SIZE];

	json_key_int(j, "b", g->begin_ns);
	json_key_int(j, "e", g->end_ns);
	json_key_string(j, "code", tale_cause_code(g->cause));
	json_key_string(j, "confidence", story_confidence_name(g->confidence));
	json_key_uint(j, "l", g->lane);
	key_given(j, "who", g->who);
	if (g->call != 0)
		json_key_string(
		    j, "call", talechain_call_name(g->call - 1, call));
	write_stack(s, i, j);
	key_given(j, "peer", g->peer);
	if (g->peer_request != 0)
		key_hex(j, "peer_request", g->peer_request);
}

/* Write the curve of a signal on a lane: periods and values. */
static void
write_curve(const struct story *s, size_t i, struct json *j)
{
	const struct story_series *x = &s->series[i];

	json_key_uint(j, "l", x->lane);
	json_key_string(j, "n", x->name);
	json_key_string(j, "unit", x->unit);
	if (x->usual > 0)
		json_key_double(j, "usual", x->usual);
	json_key_array(j, "points");
	for (size_t k = 0; k < x->points; k++) {
		json_object_begin(j);
		json_key_int(j, "b", x->point[k].begin_ns);
		json_key_int(j, "e", x->point[k].end_ns);
		json_key_double(j, "v", x->point[k].value);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_attempts(const struct tale *t, struct json *j)
{
	const struct tale_attempt *a;

	json_key_array(j, "attempts");
	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		a = &t->request.attempt[i];
		if (a->server < 0)
			continue;
		json_object_begin(j);
		json_key_int(j, "server", a->server);
		json_key_string(j, "name", a->server_name);
		key_known(j, "pid", tale_attempt_pid(t, i));
		json_key_string(j, "trigger", a->trigger);
		json_key_string(j, "outcome", a->outcome);
		json_key_int(j, "status", a->status);
		key_offset(t, j, "written", a->written);
		key_offset(t, j, "first_byte", a->first_byte);
		key_offset(t, j, "complete", a->complete);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_hazard(const struct story *s, size_t i, struct json *j)
{
	const struct tale *t = s->tale;
	const struct tale_pause *p = &t->pause[i];

	json_key_int(j, "server", p->server);
	json_key_string(j, "kind", hazard_kind_name(p->kind));
	json_key_string(j, "cause", talechain_cause_name(p->cause));
	json_key_int(j, "b", instant_since(p->begin, t->t0));
	json_key_int(j, "e", instant_since(p->end, t->t0));
	json_key_bool(j, "begin_seen", p->begin_seen);
	json_key_bool(j, "end_seen", p->end_seen);
}

static void
write_arguments(const struct talechain_event *e, struct json *j)
{
	struct talechain_value v;
	char text[24];

	json_key_object(j, "args");
	for (unsigned n = 0; talechain_argument(e, n, &v); n++) {
		snprintf(text, sizeof(text), "%" PRIu64, v.value);
		if (strcmp(v.name, "request") == 0)
			key_hex(j, v.name, v.value);
		else if (v.value > JSON_INTEGER_MAX)
			json_key_string(j, v.name, text);
		else
			json_key_uint(j, v.name, v.value);
	}
	json_object_end(j);
}

static void
write_event(const struct story *s, size_t i, struct json *j)
{
	const struct tale *t = s->tale;
	const struct tale_entry *e = &t->entry[i];
	const char *name;
	char number[16];

	name = talechain_type_name(e->slot.event.type);
	snprintf(number, sizeof(number), "type_%04x", e->slot.event.type);
	json_key_uint(j, "l", s->event_lane[i]);
	json_key_int(j, "t", instant_since(e->at, t->t0));
	if (e->doubtful)
		json_key_bool(j, "doubtful", true);
	json_key_int(
	    j, "read", instant_since((struct instant){e->slot.read_ns}, t->t0));
	json_key_string(j, "type", name != NULL ? name : number);
	json_key_int(j, "server", e->slot.server);
	json_key_uint(j, "channel", e->slot.channel);
	json_key_uint(j, "tid", e->slot.event.tid);
	json_key_uint(j, "pid", e->slot.event.pid);
	if (e->slot.event.cpu != UINT32_MAX)
		json_key_uint(j, "cpu", e->slot.event.cpu);
	write_arguments(&e->slot.event, j);
}

/* Write what the tale is known to lack. */
static void
write_loss(const struct tale *t, struct json *j)
{
	json_key_object(j, "loss");
	json_key_uint(j, "events", tale_lost(t));
	json_key_uint(j, "stream", t->lost_stream);
	json_key_uint(j, "channels", t->lost_channels);
	json_key_uint(j, "omitted", t->omitted);
	json_key_int(j, "blind", t->blind_ns);
	json_key_uint(j, "blind_intervals", t->blinds);
	json_key_bool(j, "beginning_overwritten", t->stale);
	json_object_end(j);
}

int
story_render_json(const struct story *s, struct json *j)
{
	const struct tale *t = s->tale;
	char t0[24];

	snprintf(t0, sizeof(t0), "%" PRIu64, t->t0.ns);
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.timeline/1");
	write_request(t, j);
	write_origin(s, j);
	json_key_string(j, "t0", t0);
	json_key_string(j, "unit", "ns");
	json_key_int(j, "total", s->total_ns);
	json_key_double(j, "coverage", s->coverage);
	json_key_uint(j, "contradictions", s->contradictions);
	write_loss(t, j);
	write_verdict(s, j);
	write_causes(s, j);
	write_client(t, j);
	write_list(s, "lanes", s->lanes, write_lane, j);
	write_attempts(t, j);
	write_list(s, "pauses", t->pauses, write_hazard, j);
	write_list(s, "threads", s->threads, write_thread, j);
	write_list(s, "requests", s->requests, write_other, j);
	write_bars(s, "stages", STORY_BAR_STAGE, STORY_BAR_STAGE, j);
	write_bars(s, "work", STORY_BAR_WORK, STORY_BAR_WORK, j);
	write_arrows(s, "flows", STORY_ARROW_FLOW, j);
	write_arrows(s, "wakes", STORY_ARROW_WAKE, j);
	write_bars(s, "delays", STORY_BAR_DELAY, STORY_BAR_BLIND, j);
	write_bars(s, "others", STORY_BAR_OTHER, STORY_BAR_REQUEST, j);
	write_bars(s, "holders", STORY_BAR_HOLDER, STORY_BAR_HOLDER, j);
	write_list(s, "path", s->segments, write_segment, j);
	write_list(s, "series", s->curves, write_curve, j);
	write_list(s, "events", t->entries, write_event, j);
	json_object_end(j);
	return j->text.failed ? -ENOMEM : 0;
}
