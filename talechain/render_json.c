/*
 * render_json.c: a tale as JSON, schema tailor.timeline/1.
 *
 * All times are integers of nanoseconds relative to t0, which itself is a
 * string because it does not fit a double.  So are ids (hexadecimal) and
 * event arguments above 2^53.  The writer of base escapes every string.
 */
#include "talechain/tale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define JSON_INTEGER_MAX (UINT64_C(1) << 53)
#define NAME_SIZE 40

/* key: nanoseconds since t0; nothing at all if it never happened. */
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

static void
write_request(const struct tale *t, struct json *j)
{
	const struct tale_request *r = &t->request;

	json_key(j, "request");
	json_object_begin(j);
	key_hex(j, "id", r->id);
	json_key_string(j, "external_id", r->external_id);
	json_key_string(j, "method", r->method);
	json_key_string(j, "target", r->target);
	json_key_int(j, "status", r->status);
	json_key_string(j, "flags", r->flags);
	key_offset(t, j, "first_byte", r->first_byte);
	key_offset(t, j, "received", r->received);
	key_offset(t, j, "committed", r->committed);
	key_offset(t, j, "finished", r->finished);
	json_object_end(j);
}

static void
write_client(const struct tale *t, struct json *j)
{
	const struct tale_client *c = &t->client;

	if (!c->same_host)
		return;
	json_key(j, "client");
	json_object_begin(j);
	key_offset(t, j, "scheduled", c->scheduled);
	key_offset(t, j, "sent", c->sent);
	key_offset(t, j, "received", c->received);
	json_object_end(j);
}

static void
write_verdict(const struct tale *t, struct json *j)
{
	struct tale_verdict v;

	tale_verdict(t, &v);
	json_key(j, "verdict");
	json_object_begin(j);
	json_key_string(j, "code", v.code);
	if (v.share_ns > 0)
		json_key_int(j, "share", v.share_ns);
	json_key_string(j, "text", v.text);
	json_object_end(j);
}

static void
write_lanes(const struct tale *t, struct json *j)
{
	static const char *const kind[TALE_LANE_COUNT] = {
	    [TALE_LANE_CLIENT] = "client",
	    [TALE_LANE_PROXY] = "proxy",
	    [TALE_LANE_SERVER_A] = "server",
	    [TALE_LANE_SERVER_B] = "server",
	    [TALE_LANE_JVM_A] = "jvm",
	    [TALE_LANE_JVM_B] = "jvm",
	    [TALE_LANE_KERNEL] = "kernel",
	    [TALE_LANE_OBSERVER] = "observer",
	    [TALE_LANE_OTHER] = "application",
	};
	char name[NAME_SIZE];
	int lane;

	json_key(j, "lanes");
	json_array_begin(j);
	for (lane = 0; lane < TALE_LANE_COUNT; lane++) {
		tale_lane_name(t, (enum tale_lane)lane, name, sizeof(name));
		json_object_begin(j);
		json_key_string(j, "k", kind[lane]);
		json_key_string(j, "name", name);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_attempts(const struct tale *t, struct json *j)
{
	const struct tale_attempt *a;
	int i;

	json_key(j, "attempts");
	json_array_begin(j);
	for (i = 0; i < TALE_ATTEMPTS; i++) {
		a = &t->request.attempt[i];
		if (a->server < 0)
			continue;
		json_object_begin(j);
		json_key_int(j, "l", TALE_LANE_SERVER_A + i);
		json_key_int(j, "server", a->server);
		json_key_string(j, "name", a->server_name);
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
write_hazards(const struct tale *t, struct json *j)
{
	const struct tale_pause *p;
	size_t i;

	json_key(j, "hazards");
	json_array_begin(j);
	for (i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		json_object_begin(j);
		json_key_int(
		    j, "l", TALE_LANE_JVM_A + tale_attempt_of(t, p->server));
		json_key_int(j, "server", p->server);
		json_key_string(j, "kind", hazard_kind_name(p->kind));
		json_key_string(j, "cause", talechain_cause_name(p->cause));
		json_key_int(j, "b", instant_since(p->begin, t->t0));
		json_key_int(j, "e", instant_since(p->end, t->t0));
		json_key_bool(j, "begin_seen", p->begin_seen);
		json_key_bool(j, "end_seen", p->end_seen);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_arguments(const struct talechain_event *e, struct json *j)
{
	struct talechain_value v;
	char text[24];
	unsigned n;

	json_key(j, "args");
	json_object_begin(j);
	for (n = 0; talechain_argument(e, n, &v); n++) {
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
write_events(const struct tale *t, struct json *j)
{
	const struct tale_entry *e;
	const char *name;
	char number[16];
	size_t i;

	json_key(j, "events");
	json_array_begin(j);
	for (i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		name = talechain_type_name(e->slot.event.type);
		snprintf(
		    number, sizeof(number), "type_%04x", e->slot.event.type);
		json_object_begin(j);
		json_key_int(j, "l", tale_lane_of(t, e));
		json_key_int(j, "t", instant_since(e->at, t->t0));
		if (e->doubtful)
			json_key_bool(j, "doubtful", true);
		json_key_int(j, "read",
		    instant_since((struct instant){e->slot.read_ns}, t->t0));
		json_key_string(j, "type", name != NULL ? name : number);
		json_key_int(j, "server", e->slot.server);
		json_key_uint(j, "channel", e->slot.channel);
		json_key_uint(j, "tid", e->slot.event.tid);
		json_key_uint(j, "pid", e->slot.event.pid);
		write_arguments(&e->slot.event, j);
		json_object_end(j);
	}
	json_array_end(j);
}

/* coverage: the share of the request's time in which somebody was looking. */
static void
write_coverage(const struct tale *t, struct json *j)
{
	int64_t total_ns = tale_total_ns(t);
	double seen = 1;

	if (total_ns > 0 && t->blind_ns < total_ns)
		seen = 1 - (double)t->blind_ns / (double)total_ns;
	else if (t->blind_ns > 0)
		seen = 0;
	json_key_double(j, "coverage", seen);
	json_key(j, "loss");
	json_object_begin(j);
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
tale_render_json(const struct tale *t, struct json *j)
{
	char t0[24];

	snprintf(t0, sizeof(t0), "%" PRIu64, t->t0.ns);
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.timeline/1");
	write_request(t, j);
	json_key_string(j, "t0", t0);
	json_key_string(j, "unit", "ns");
	json_key_int(j, "total", tale_total_ns(t));
	write_coverage(t, j);
	write_verdict(t, j);
	write_client(t, j);
	write_lanes(t, j);
	write_attempts(t, j);
	write_hazards(t, j);
	write_events(t, j);
	json_object_end(j);
	return j->failed ? -ENOMEM : 0;
}
