/*
 * metrics_text.c: what is counted of requests and hedges, as text.  The rest is
 * written by metrics_servers.c and metrics_process.c.
 */
#include "proxy/admin/metrics_text.h"

#include <string.h>

#include "proxy/request/proxy.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
write_reasons(struct exposition *e, const char *name, const char *help,
    const struct metrics_reasons *r)
{
	exposition_family(e, name, "counter", help);
	for (unsigned i = 0; i < r->reasons; i++)
		exposition_sample(e, name, LABELS({"reason", r->of[i].reason}),
		    r->of[i].count);
}

static void
write_plain(const struct metrics *m, struct exposition *e)
{
	const char *last = "";

#define METRICS_X(field, name, label, value, help)           \
	if (strcmp(last, name) != 0)                         \
		exposition_family(e, name, "counter", help); \
	last = name;                                         \
	exposition_sample(e, name,                           \
	    label[0] != '\0' ? LABELS({label, value}) : NULL, m->field);
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
	const struct metrics *m = &p->metrics;

	exposition_family(e, "tailor_requests_total", "counter",
	    "Requests that left the table, by class of status.");
	for (size_t i = 0; i < COUNT(class); i++)
		exposition_sample(e, "tailor_requests_total",
		    LABELS({"code_class", class[i]}), m->requests[i]);
	exposition_family(e, "tailor_local_replies_total", "counter",
	    "Answers that Tailor gave itself.");
	for (unsigned i = 0; i < COUNT(m->local); i++)
		if (m->local[i] > 0)
			text_add(&e->text,
			    "tailor_local_replies_total{code=\"%u\"} %llu\n", i,
			    (unsigned long long)m->local[i]);
	write_reasons(e, "tailor_parse_errors_total",
	    "Requests refused by the gate, by reason.", &m->parse);
	exposition_family(e, "tailor_request_duration_seconds", "histogram",
	    "First byte of a request to last byte of its response.");
	exposition_histogram(e, "tailor_request_duration_seconds", NULL,
	    &m->latency, m->exemplar);
	exposition_distribution(e, "tailor_response_commit_delay_seconds",
	    "Response head to first byte given to the client.",
	    &m->commit_delay);
	exposition_family(e, "tailor_requests_by_method_total", "counter",
	    "The same requests, by method.");
	for (unsigned i = 0; i < COUNT(m->methods); i++)
		exposition_sample(e, "tailor_requests_by_method_total",
		    LABELS({"method", method[i]}), m->methods[i]);
	write_reasons(e, "tailor_request_failures_total",
	    "Requests that Tailor answered itself, by reason.", &m->failures);
	exposition_gauge(e, "tailor_requests_inflight",
	    "Requests in the table.", p->table.inflight_count);
	exposition_gauge(e, "tailor_requests_queued",
	    "Of those, waiting for a server.", p->queue.length);
	exposition_distribution(e, "tailor_queue_duration_seconds",
	    "Those that had to wait: how long.", &m->queue);
	exposition_gauge(e, "tailor_connections_current", "Client connections.",
	    p->clients.count);
	exposition_gauge(e, "tailor_connections_half_open",
	    "Of those, with a request that is not whole.",
	    p->clients.half_open);
	exposition_gauge(
	    e, "tailor_tunnels_current", "Open WebSocket tunnels.", p->tunnels);
	exposition_gauge(e, "tailor_client_addresses",
	    "Different addresses of clients (/64 in IPv6).",
	    p->clients.peers.addresses);
}

static void
write_copies(const struct replay_table *t, struct exposition *e)
{
	exposition_family(e, "tailor_copies_refused_total", "counter",
	    "Finished GET, HEAD and OPTIONS requests that are not remembered "
	    "for warm-up and mirror, by reason.");
	for (unsigned i = 0; i < REPLAY_REFUSALS; i++)
		exposition_sample(e, "tailor_copies_refused_total",
		    LABELS({"reason",
			replay_refusal_name((enum replay_refusal)i)}),
		    t->refused[i]);
}

static void
write_hedging(struct proxy *p, struct exposition *e)
{
	const struct metrics *m = &p->metrics;
	const struct config *c = p->config;
	struct ledger_window l;
	uint64_t sent = 0;

	ledger_window(&p->ledger.older, m, &l);

	exposition_family(e, "tailor_hedges_sent_total", "counter",
	    "Second attempts, by trigger and server.");
	for (unsigned t = HEDGE_GC; t < HEDGE_TRIGGER_COUNT; t++)
		for (unsigned s = 0; s < c->servers; s++) {
			sent += m->hedges[t][s];
			exposition_sample(e, "tailor_hedges_sent_total",
			    LABELS({"trigger", hedge_trigger_name(
						   (enum hedge_trigger)t)},
				{"server", c->server[s].name}),
			    m->hedges[t][s]);
		}
	exposition_family(e, "tailor_hedges_refused_total", "counter",
	    "Second attempts that were not made, by reason.");
	for (unsigned i = 1; i < HEDGE_REFUSAL_COUNT; i++)
		exposition_sample(e, "tailor_hedges_refused_total",
		    LABELS(
			{"reason", hedge_refusal_name((enum hedge_refusal)i)}),
		    m->refused[i]);
	exposition_gauge(e, "tailor_hedge_budget_tokens",
	    "Hedges that may still be sent.", p->hedging.tokens);
	exposition_gauge(e, "tailor_hedge_extra_request_ratio",
	    "Second attempts per finished request, so far.",
	    p->table.finished > 0 ? (double)sent / (double)p->table.finished
				  : 0);
	exposition_counter(e, "tailor_hedges_cancelled_total",
	    "Of those sent: taken back before a byte was written.",
	    p->hedging.hedges_cancelled);
	exposition_distribution(e, "tailor_hedge_send_delay_seconds",
	    "Hazard happened to hedge written.", &m->hedge_send);
	exposition_summary(e, "tailor_hedge_send_delay_quantile_seconds",
	    "Hazard happened to hedge written, quantiles.", &m->hedge_delay);
	exposition_distribution(e, "tailor_hazard_last_hedge_seconds",
	    "Hazard happened to the last hedge because of it written.",
	    &m->hazard_sent);
	exposition_summary(e, "tailor_hazard_last_hedge_quantile_seconds",
	    "The same, quantiles.", &m->last_hedge);
	exposition_distribution(e, "tailor_hedge_saved_seconds",
	    "How much later the beaten response came, from drained losers.",
	    &m->hedge_saved);
	exposition_distribution(e, "tailor_loser_duration_seconds",
	    "First byte written to the end of a beaten response.", &m->loser);
	exposition_gauge(e, "tailor_hedge_predicted_request_ratio",
	    "Second attempts per request that W f predicts: mean latency "
	    "times hazards of the active server per second, last minutes.",
	    l.predicted);
	exposition_gauge(e, "tailor_hedge_recent_request_ratio",
	    "Second attempts per request in the same minutes.", l.actual);
}

void
metrics_write(struct proxy *p, struct exposition *e)
{
	metrics_write_process(p, e);
	write_requests(p, e);
	write_plain(&p->metrics, e);
	exposition_counter(e, "tailor_events_failed_total",
	    "Sockets that the kernel had no memory to watch; they were "
	    "closed, or a listener tried again.",
	    p->loop.events_failed);
	exposition_counter(e, "tailor_config_reload_failures_total",
	    "Reloads that were refused: the same as result=failed above.",
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
