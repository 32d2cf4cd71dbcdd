/* metrics_text.c: writes the metrics of requests and hedges; the others are in
 * metrics_servers.c and metrics_process.c. */
#include "base/array.h"
#include "proxy/admin/admin_reports.h"

#include <string.h>

#include "proxy/request/proxy.h"

static void
write_reasons(
    struct exposition *e, const char *name, const struct metrics_reasons *r)
{
	exposition_family(e, name);
	for (unsigned i = 0; i < r->reasons; i++)
		exposition_sample(
		    e, LABELS({"reason", r->of[i].reason}), r->of[i].count);
}

static void
write_plain(const struct metrics *m, struct exposition *e)
{
	const char *last = "";

#define METRICS_X(field, name, label, value) \
	if (strcmp(last, name) != 0)         \
		exposition_family(e, name);  \
	last = name;                         \
	exposition_sample(                   \
	    e, label[0] != '\0' ? LABELS({label, value}) : NULL, m->field);
	METRICS_COUNTERS(METRICS_X)
#undef METRICS_X
}

static void
write_requests(struct proxy *p, struct exposition *e)
{
	static const char *const class[] = {
	    "aborted", "1xx", "2xx", "3xx", "4xx", "5xx"};
	static const char *const method[] = {"GET", "HEAD", "OPTIONS", "POST",
	    "PUT", "DELETE", "PATCH", "other"};
	/* Statuses that Tailor itself sends. */
	static const unsigned short code[] = {200, 400, 403, 404, 405, 406, 408,
	    413, 414, 417, 429, 431, 500, 501, 502, 503, 504, 505};
	const struct metrics *m = &p->metrics;
	char ended[TERMINATION_TEXT];
	size_t known = 0;

	exposition_family(e, "tailor_requests_total");
	for (size_t i = 0; i < COUNT(class); i++)
		exposition_sample(
		    e, LABELS({"code_class", class[i]}), m->requests[i]);
	exposition_family(e, "tailor_local_replies_total");
	for (unsigned i = 0; i < COUNT(m->local); i++) {
		bool is = known < COUNT(code) && code[known] == i;

		known += is;
		if (is || m->local[i] > 0)
			text_add(&e->text,
			    "tailor_local_replies_total{code=\"%u\"} %llu\n", i,
			    (unsigned long long)m->local[i]);
	}
	write_reasons(e, "tailor_parse_errors_total", &m->parse);
	exposition_family(e, "tailor_request_duration_seconds");
	exposition_histogram(e, NULL, &m->latency, m->exemplar);
	exposition_distribution(
	    e, "tailor_response_commit_delay_seconds", &m->commit_delay);
	exposition_family(e, "tailor_requests_by_method_total");
	for (unsigned i = 0; i < COUNT(m->methods); i++)
		exposition_sample(
		    e, LABELS({"method", method[i]}), m->methods[i]);
	write_reasons(e, "tailor_request_failures_total", &m->failures);
	exposition_family(e, "tailor_terminations_total");
	for (unsigned i = 1; i < TERMINATION_COUNT; i++)
		if (*termination_text(i, ended) != '?')
			exposition_sample(
			    e, LABELS({"code", ended}), m->terminations[i]);
	exposition_gauge(
	    e, "tailor_requests_inflight", p->table.inflight_count);
	exposition_gauge(e, "tailor_requests_queued", p->queue.length);
	exposition_distribution(e, "tailor_queue_duration_seconds", &m->queue);
	exposition_gauge(e, "tailor_connections_current", p->clients.count);
	exposition_gauge(
	    e, "tailor_connections_half_open", p->clients.half_open);
	exposition_gauge(e, "tailor_tunnels_current", p->tunnels);
	exposition_gauge(
	    e, "tailor_client_addresses", p->clients.peers.addresses);
}

static void
write_copies(const struct replay_table *t, struct exposition *e)
{
	exposition_family(e, "tailor_copies_refused_total");
	for (unsigned i = 0; i < REPLAY_REFUSALS; i++)
		exposition_sample(e,
		    LABELS({"reason",
			replay_refusal_name((enum replay_refusal)i)}),
		    t->refused[i]);
}

static void
write_hedging(struct proxy *p, struct exposition *e)
{
	const struct metrics *m = &p->metrics;
	struct ledger_window l;

	ledger_window(&p->ledger.older, m, &l);

	exposition_family(e, "tailor_hedges_sent_total");
	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
		UPSTREAM_EACH(&p->upstream, s)
	exposition_sample(e,
	    LABELS({"trigger", hedge_trigger_name((enum hedge_trigger)t)},
		{"server", p->upstream.server[s].config->name}),
	    m->hedges[t][s]);
	exposition_family(e, "tailor_hedges_refused_total");
	for (unsigned i = 1; i < HEDGE_REFUSAL_COUNT; i++)
		exposition_sample(e,
		    LABELS(
			{"reason", hedge_refusal_name((enum hedge_refusal)i)}),
		    m->refused[i]);
	exposition_gauge(e, "tailor_hedge_budget_tokens", p->hedging.tokens);
	exposition_gauge(e, "tailor_hedge_extra_request_ratio",
	    p->table.finished > 0
		? (double)ledger_sent(m) / (double)p->table.finished
		: 0);
	exposition_counter(
	    e, "tailor_hedges_cancelled_total", p->hedging.hedges_cancelled);
	exposition_distribution(
	    e, "tailor_hedge_send_delay_seconds", &m->hedge_send);
	exposition_distribution(
	    e, "tailor_pause_last_hedge_seconds", &m->hazard_sent);
	exposition_distribution(
	    e, "tailor_hedge_saved_seconds", &m->hedge_saved);
	exposition_distribution(e, "tailor_loser_duration_seconds", &m->loser);
	exposition_gauge(
	    e, "tailor_hedge_predicted_request_ratio", l.predicted);
	exposition_gauge(e, "tailor_hedge_recent_request_ratio", l.actual);
}

void
metrics_write(struct proxy *p, struct exposition *e)
{
	metrics_write_process(p, e);
	write_requests(p, e);
	write_plain(&p->metrics, e);
	exposition_counter(
	    e, "tailor_events_failed_total", p->loop.events_failed);
	exposition_counter(e, "tailor_config_reload_failures_total",
	    p->metrics.reloads_failed);
	write_hedging(p, e);
	write_copies(&p->upstream.replay, e);
	metrics_write_hazards(p, e);
	metrics_write_steering(p, e);
	metrics_write_servers(p, e);
	metrics_write_tales(p, e);
	metrics_write_profiler(p, e);
	exposition_end(e);
}
