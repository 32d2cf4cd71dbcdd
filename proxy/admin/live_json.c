/*
 * live_json.c: sums over the window, and the page's JSON twin.
 */
#include <stdlib.h>

#include "base/json.h"
#include "proxy/admin/live_sums.h"
#include "proxy/analysis/slow_report.h"
#include "talechain/events/events.h"

static int
lost_first(const void *va, const void *vb)
{
	const struct live_cause *a = va, *b = vb;

	return (a->lost_ns < b->lost_ns) - (a->lost_ns > b->lost_ns);
}

static void
sum_causes(const struct live_view *v, const struct tale_summary *const *slow,
    unsigned n, struct live_sums *out)
{
	struct live_cause all[TALE_CAUSE_COUNT] = {0};

	for (unsigned i = 0; i < n; i++) {
		struct live_cause *c = &all[slow[i]->cause];

		if (slow[i]->reason != TALE_REASON_TARGET ||
		    slow[i]->finished_wall_ns < v->wall_ns - RECENT_WINDOW_NS)
			continue;
		c->requests++;
		c->lost_ns += slow[i]->share_ns;
		out->lost_ns += slow[i]->share_ns;
	}
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++) {
		if (all[i].requests == 0)
			continue;
		all[i].cause = (enum tale_cause)i;
		out->cause[out->causes++] = all[i];
	}
	qsort(out->cause, out->causes, sizeof(out->cause[0]), lost_first);
}

static void
live_sums(const struct live_view *v, const struct tale_summary *const *slow,
    unsigned n, struct live_sums *out)
{
	uint64_t last = v->now.ns / (uint64_t)RECENT_SLICE_NS;

	*out = (struct live_sums){0};
	for (unsigned i = 0; i < RECENT_SLICES; i++) {
		const struct recent_slice *s = &v->recent.slice[i];

		if (s->number > last || last - s->number >= RECENT_SLICES)
			continue;
		out->requests += s->requests;
		out->slow += s->slow;
		for (unsigned b = 0; b < RECENT_BUCKETS; b++)
			out->bucket[b] += s->bucket[b];
	}
	sum_causes(v, slow, n, out);
}

static void
write_server(const struct live_server *s, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "name", s->name);
	json_key_string(j, "address", s->address);
	json_key_string(j, "state", s->state);
	json_key_string(j, "source", s->source);
	json_key_bool(j, "active", s->active);
	json_key(j, "hazards");
	json_array_begin(j);
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if (s->hazards & (1U << k))
			json_string(j, hazard_kind_name((enum hazard_kind)k));
	json_array_end(j);
	json_key_uint(j, "inflight", s->inflight);
	json_key_int(j, "p50_ns", s->p50_ns);
	json_key_int(j, "p95_ns", s->p95_ns);
	json_key_int(j, "p99_ns", s->p99_ns);
	json_key_uint(j, "restarts", s->restarts);
	json_key_uint(j, "errors", s->errors);
	json_object_end(j);
}

/* Hazards of the window, newest first; times are ago. */
static void
write_hazards(const struct live_view *v, struct json *j)
{
	const struct recent *l = &v->recent;
	uint64_t kept =
	    l->hazards < RECENT_HAZARDS ? l->hazards : RECENT_HAZARDS;

	json_array_begin(j);
	for (uint64_t i = 1; i <= kept; i++) {
		const struct recent_hazard *h =
		    &l->hazard[(l->hazards - i) % RECENT_HAZARDS];

		if (instant_is_set(h->end) &&
		    instant_since(v->now, h->end) > RECENT_WINDOW_NS)
			continue;
		json_object_begin(j);
		json_key_uint(j, "server", h->server);
		json_key_string(
		    j, "kind", hazard_kind_name((enum hazard_kind)h->kind));
		json_key_string(j, "cause", talechain_cause_name(h->cause));
		json_key_int(
		    j, "began_ago_ns", instant_since(v->now, h->begin));
		if (instant_is_set(h->end))
			json_key_int(
			    j, "ended_ago_ns", instant_since(v->now, h->end));
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_causes(const struct live_sums *sums, struct json *j)
{
	json_array_begin(j);
	for (unsigned i = 0; i < sums->causes; i++) {
		const struct live_cause *c = &sums->cause[i];

		json_object_begin(j);
		json_key_string(j, "cause", tale_cause_code(c->cause));
		json_key_string(j, "words", tale_cause_label(c->cause));
		json_key_uint(j, "requests", c->requests);
		json_key_int(j, "lost_ns", c->lost_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_latency(const struct live_sums *sums, struct json *j)
{
	json_array_begin(j);
	for (unsigned i = 0; i < RECENT_BUCKETS; i++) {
		json_object_begin(j);
		if (i < RECENT_BUCKETS - 1)
			json_key_int(j, "to_ns", recent_bucket_edge_ns(i));
		json_key_uint(j, "requests", sums->bucket[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

static int
live_json(const struct live_view *v, const struct live_sums *sums,
    const struct tale_summary *const *slow, unsigned n, char **text,
    size_t *length)
{
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.live/1");
	json_key_string(&j, "version", TAILOR_VERSION);
	json_key_string(&j, "mode", v->mode);
	json_key_int(&j, "unix_ms", v->wall_ns / NS_PER_MS);
	json_key_int(&j, "uptime_ns", instant_since(v->now, v->started));
	json_key_int(&j, "window_ns", RECENT_WINDOW_NS);
	json_key_int(&j, "target_ns", v->target_ns);
	json_key_uint(&j, "finished", v->finished);
	json_key_uint(&j, "hazards_seen", v->recent.hazards);
	json_key_uint(&j, "requests", sums->requests);
	json_key_uint(&j, "slow_requests", sums->slow);
	json_key_uint(&j, "unexamined", v->unexamined);
	json_key_uint(&j, "inflight", v->inflight);
	json_key_uint(&j, "clients", v->clients);
	json_key_uint(&j, "swaps", v->swaps);
	json_key(&j, "servers");
	json_array_begin(&j);
	for (unsigned i = 0; i < v->servers; i++)
		write_server(&v->server[i], &j);
	json_array_end(&j);
	json_key(&j, "hazards");
	write_hazards(v, &j);
	json_key(&j, "causes");
	write_causes(sums, &j);
	json_key(&j, "latency");
	write_latency(sums, &j);
	json_key(&j, "slow");
	slow_report_list(slow, n, &j);
	json_object_end(&j);
	return json_take(&j, text, length);
}

#define LIVE_LISTED 25

int
live_render(const struct analysis_page *page,
    const struct tale_summary *const *slow, unsigned n, bool html, char **text,
    size_t *length)
{
	const struct live_view *v = (const struct live_view *)page;
	struct live_sums sums;
	unsigned listed = n < LIVE_LISTED ? n : LIVE_LISTED;

	live_sums(v, slow, n, &sums);
	return html ? live_page(v, &sums, slow, listed, text, length)
		    : live_json(v, &sums, slow, listed, text, length);
}
