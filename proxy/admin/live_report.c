/* live_report.c: counters and servers, then hazards, latencies and kept tales.
 *
 * The proxy thread writes counters and servers, and copies its recent history
 * (25 KiB), which the analysis thread writes: that would take the proxy thread
 * too long. */
#include "proxy/admin/admin_reports.h"

#include <stdlib.h>

#include "base/json.h"
#include "proxy/analysis/slow_report.h"
#include "proxy/request/proxy.h"
#include "proxy/request/slow.h"
#include "talechain/events/events.h"

#define SLOW_LISTED 25

struct live_report {
	struct analysis_report report; /* first */
	struct json json;	       /* begun on the proxy thread */
	struct recent recent;
	struct instant now;
	int64_t wall_ns; /* of now */
};

/* --- proxy thread --------------------------------------------------------- */

static void
write_state(struct proxy *p, const struct live_report *l, struct json *j)
{
	struct profiler_stats stats;

	profiler_stats(p->profiler, &stats);
	json_key_string(j, "schema", "tailor.live/1");
	json_key_string(j, "version", TAILOR_VERSION);
	json_key_string(j, "mode",
	    p->config->hedging.mode == CONFIG_MODE_ACT ? "act" : "watch");
	json_key_int(j, "unix_ms", l->wall_ns / NS_PER_MS);
	json_key_int(j, "uptime_ns", instant_since(l->now, p->started));
	json_key_int(j, "window_ns", RECENT_WINDOW_NS);
	json_key_int(j, "target_ns", slow_target_ns(p));
	json_key_uint(j, "finished", p->table.finished);
	json_key_uint(j, "pauses_seen", p->recent.hazards);
	json_key_uint(j, "unexamined", slow_left_out(p));
	json_key_uint(j, "inflight", p->table.inflight_count);
	json_key_uint(j, "clients", p->clients.count);
	json_key_uint(j, "swaps", p->hedging.swaps);
	json_key_array(j, "servers");
	UPSTREAM_EACH(&p->upstream, i)
	admin_write_server(p, i, &stats, j);
	json_array_end(j);
}

/* --- analysis thread ------------------------------------------------------ */

static void
write_latency(const struct live_report *l, struct json *j)
{
	uint64_t last = l->now.ns / (uint64_t)RECENT_SLICE_NS, requests = 0,
		 slow = 0, bucket[RECENT_BUCKETS] = {0};

	for (unsigned i = 0; i < RECENT_SLICES; i++) {
		const struct recent_slice *s = &l->recent.slice[i];

		if (s->number > last || last - s->number >= RECENT_SLICES)
			continue;
		requests += s->requests;
		slow += s->slow;
		for (unsigned b = 0; b < RECENT_BUCKETS; b++)
			bucket[b] += s->bucket[b];
	}
	json_key_uint(j, "requests", requests);
	json_key_uint(j, "slow_requests", slow);
	json_key_array(j, "latency");
	for (unsigned i = 0; i < RECENT_BUCKETS; i++) {
		json_object_begin(j);
		if (i < RECENT_BUCKETS - 1)
			json_key_int(j, "to_ns", recent_bucket_edge_ns(i));
		json_key_uint(j, "requests", bucket[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Write the slices with requests, oldest first; times are relative to now. */
static void
write_slices(const struct live_report *l, struct json *j)
{
	uint64_t last = l->now.ns / (uint64_t)RECENT_SLICE_NS;

	json_key_int(j, "slice_ns", RECENT_SLICE_NS);
	json_key_array(j, "slices");
	for (uint64_t n = last - (RECENT_SLICES - 1); n <= last; n++) {
		const struct recent_slice *s =
		    &l->recent.slice[n % RECENT_SLICES];

		if (s->number != n)
			continue;
		json_object_begin(j);
		json_key_int(j, "began_ago_ns",
		    (int64_t)(l->now.ns - n * (uint64_t)RECENT_SLICE_NS));
		json_key_uint(j, "requests", s->requests);
		json_key_uint(j, "again", s->again);
		json_key_uint(j, "active", s->active);
		json_key_array(j, "latency");
		for (unsigned i = 0; i < RECENT_BUCKETS; i++)
			json_uint(j, s->bucket[i]);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Write how the page draws each kind of hazard, and its text. */
static void
write_kinds(struct json *j)
{
#define HAZARD_X(symbol, code, meaning, colour, ...) \
	json_object_begin(j);                        \
	json_key_string(j, "kind", code);            \
	json_key_string(j, "words", meaning);        \
	json_key_string(j, "colour", colour);        \
	json_object_end(j);

	json_key_array(j, "kinds");
	HAZARD_KINDS(HAZARD_X)
	json_array_end(j);
#undef HAZARD_X
}

/* Write the hazards of the window, newest first; times are relative to now. */
static void
write_hazards(const struct live_report *l, struct json *j)
{
	const struct recent *r = &l->recent;
	uint64_t kept =
	    r->hazards < RECENT_HAZARDS ? r->hazards : RECENT_HAZARDS;

	json_key_array(j, "pauses");
	for (uint64_t i = 1; i <= kept; i++) {
		const struct recent_hazard *h =
		    &r->hazard[(r->hazards - i) % RECENT_HAZARDS];

		if (instant_is_set(h->end) &&
		    instant_since(l->now, h->end) > RECENT_WINDOW_NS)
			continue;
		json_object_begin(j);
		json_key_uint(j, "server", h->server);
		json_key_string(
		    j, "kind", hazard_kind_name((enum hazard_kind)h->kind));
		json_key_string(j, "cause", talechain_cause_name(h->cause));
		json_key_int(
		    j, "began_ago_ns", instant_since(l->now, h->begin));
		if (instant_is_set(h->end))
			json_key_int(
			    j, "ended_ago_ns", instant_since(l->now, h->end));
		json_object_end(j);
	}
	json_array_end(j);
}

/* Write the last minute of both edens, oldest first; nothing if both are
 * unknown. */
static void
write_heaps(const struct live_report *l, struct json *j)
{
	uint64_t last = l->now.ns / (uint64_t)RECENT_HEAP_NS;
	uint64_t first = last < RECENT_HEAPS ? 1 : last - (RECENT_HEAPS - 1);

	json_key_int(j, "heap_ns", RECENT_HEAP_NS);
	json_key_array(j, "heaps");
	for (uint64_t n = first; n <= last; n++) {
		const struct recent_heap *h = &l->recent.heap[n % RECENT_HEAPS];

		if (h->number != n || (h->used[0] == RECENT_HEAP_UNKNOWN &&
					  h->used[1] == RECENT_HEAP_UNKNOWN))
			continue;
		json_object_begin(j);
		json_key_int(j, "ago_ns",
		    (int64_t)(l->now.ns - n * (uint64_t)RECENT_HEAP_NS));
		json_key_uint(j, "active", h->active);
		json_key_array(j, "percent");
		for (unsigned i = 0; i < RECENT_SERVERS; i++)
			json_int(j, h->used[i] == RECENT_HEAP_UNKNOWN
					? -1
					: h->used[i]);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

struct lost_to {
	enum tale_cause cause;
	unsigned requests;
	int64_t lost_ns; /* sum of the largest parts of the requests */
};

static int
lost_first(const void *va, const void *vb)
{
	const struct lost_to *a = va, *b = vb;

	return (a->lost_ns < b->lost_ns) - (a->lost_ns > b->lost_ns);
}

/* Write the causes of the window, those with most lost time first. */
static void
write_causes(const struct live_report *l, const struct tale_summary *slow,
    unsigned n, struct json *j)
{
	struct lost_to all[TALE_CAUSE_COUNT] = {0};

	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		all[i].cause = (enum tale_cause)i;
	for (unsigned i = 0; i < n; i++) {
		if (slow[i].reason != TALE_REASON_TARGET ||
		    slow[i].finished_wall_ns < l->wall_ns - RECENT_WINDOW_NS)
			continue;
		all[slow[i].cause].requests++;
		all[slow[i].cause].lost_ns += slow[i].share_ns;
	}
	qsort(all, TALE_CAUSE_COUNT, sizeof(all[0]), lost_first);
	json_key_array(j, "causes");
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++) {
		if (all[i].requests == 0)
			continue;
		json_object_begin(j);
		json_key_string(j, "cause", tale_cause_code(all[i].cause));
		json_key_string(j, "words", tale_cause_label(all[i].cause));
		json_key_uint(j, "requests", all[i].requests);
		json_key_int(j, "lost_ns", all[i].lost_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
write_share(enum tale_cause cause, int64_t share_ns, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "cause", tale_cause_code(cause));
	json_key_string(j, "words", tale_cause_label(cause));
	json_key_bool(
	    j, "unexplained", tale_causes[cause].nature == TALE_NATURE_BLIND);
	json_key_int(j, "share_ns", share_ns);
	json_object_end(j);
}

/* Write the causes of p99 for each of the last ten minutes, oldest first. */
static void
write_tail(const struct live_report *l, const struct tail *t, struct json *j)
{
	json_key_array(j, "tail");
	for (int64_t n = t->minute - TAIL_MINUTES + 1; n <= t->minute; n++) {
		const struct tail_minute *m;

		if (n < 0)
			continue;
		m = &t->at[n % TAIL_MINUTES];
		if (m->end_wall_ns != (n + 1) * 60 * NS_PER_S || m->q_ns <= 0)
			continue;
		json_object_begin(j);
		json_key_int(j, "ended_ago_ns", l->wall_ns - m->end_wall_ns);
		json_key_int(j, "p99_ns", m->q_ns);
		json_key_bool(j, "few", m->beyond < TAIL_FEW);
		json_key_array(j, "causes");
		for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
			if (m->share_ns[c] > 0)
				write_share(
				    (enum tale_cause)c, m->share_ns[c], j);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static int
live_report_write(struct analysis_report *report,
    const struct tale_summary *slow, unsigned n, const struct tail *tail,
    char **text, size_t *length)
{
	struct live_report *l = (struct live_report *)report;
	struct json *j = &l->json;

	write_latency(l, j);
	write_slices(l, j);
	write_kinds(j);
	write_hazards(l, j);
	write_heaps(l, j);
	write_causes(l, slow, n, j);
	write_tail(l, tail, j);
	json_key(j, "slow");
	slow_report_list(slow, n < SLOW_LISTED ? n : SLOW_LISTED, j);
	json_object_end(j);
	return json_take(j, text, length);
}

/* --- its life ------------------------------------------------------------- */

static void
live_report_free(struct analysis_report *report)
{
	struct live_report *l = (struct live_report *)report;

	json_fini(&l->json);
	free(l);
}

struct analysis_report *
live_report_new(struct proxy *p)
{
	struct live_report *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->report =
	    (struct analysis_report){live_report_write, live_report_free};
	l->recent = p->recent;
	l->now = instant_now();
	l->wall_ns = instant_wall_now_ns();
	json_init(&l->json, false);
	json_object_begin(&l->json);
	write_state(p, l, &l->json);
	return &l->report;
}
