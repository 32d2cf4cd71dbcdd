/*
 * metrics_servers.c: what is counted of servers and their hazards, as text.
 */
#include "proxy/admin/metrics_text.h"
#include "proxy/request/proxy.h"

/* The labels of one of them. */
#define HAZARD(c, s, k)                         \
	LABELS({"server", (c)->server[s].name}, \
	    {"kind", hazard_kind_name((enum hazard_kind)(k))})

void
metrics_write_hazards(struct proxy *p, struct exposition *e)
{
	const struct metrics *m = &p->metrics;
	const struct config *c = p->config;

	exposition_family(e, "tailor_hazards_total", "counter",
	    "Times that a server could not answer, by kind.");
	for (unsigned s = 0; s < c->servers; s++)
		for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
			exposition_sample(e, "tailor_hazards_total",
			    HAZARD(c, s, k), m->hazards[s][k]);
	exposition_family(e, "tailor_hazard_seconds_total", "counter",
	    "How long those were together.");
	for (unsigned s = 0; s < c->servers; s++)
		for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
			exposition_sample_ns(e, "tailor_hazard_seconds_total",
			    HAZARD(c, s, k), m->hazard_ns[s][k]);
	exposition_family(e, "tailor_hazard_duration_seconds", "histogram",
	    "How long each was, when its end was seen.");
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		exposition_histogram(e, "tailor_hazard_duration_seconds",
		    LABELS({"kind", hazard_kind_name((enum hazard_kind)k)}),
		    &m->hazard_length[k], NULL);
	exposition_family(e, "tailor_hazard_detect_delay_seconds", "histogram",
	    "Hazard happened to observer saw it.");
	exposition_histogram(
	    e, "tailor_hazard_detect_delay_seconds", NULL, &m->detect, NULL);
	exposition_family(e, "tailor_hazard_notice_delay_seconds", "histogram",
	    "Observer saw it to proxy took it.");
	exposition_histogram(
	    e, "tailor_hazard_notice_delay_seconds", NULL, &m->notice, NULL);
	exposition_family(e, "tailor_both_hazard_seconds_total", "counter",
	    "Time in which every server was in a hazard.");
	exposition_sample_ns(
	    e, "tailor_both_hazard_seconds_total", NULL, m->both_hazard_ns);
	exposition_counter(e, "tailor_hazards_expired_total",
	    "Hazards whose end was never seen.", p->hedging.hazards_expired);
	exposition_family(e, "tailor_swaps_by_reason_total", "counter",
	    "Changes of the active server, by what was the matter with the "
	    "one before.");
	for (unsigned i = 0; i < HEDGE_TRIGGER_COUNT; i++)
		if (i == HEDGE_FIRST || m->swap_reason[i] > 0 ||
		    i <= HEDGE_UNRESPONSIVE)
			exposition_sample(e, "tailor_swaps_by_reason_total",
			    LABELS({"reason",
				i == HEDGE_FIRST ? "operator"
						 : hedge_trigger_name(
						       (enum hedge_trigger)i)}),
			    m->swap_reason[i]);
	exposition_family(e, "tailor_swap_refused_total", "counter",
	    "Hazards of the active server with nowhere to go.");
	exposition_sample(e, "tailor_swap_refused_total",
	    LABELS({"reason", "standby_not_ready"}), p->hedging.swaps_refused);
	exposition_family(e, "tailor_swap_duration_seconds", "histogram",
	    "Hazard happened to swapped.");
	exposition_histogram(
	    e, "tailor_swap_duration_seconds", NULL, &m->swap, NULL);
}

static void
per_server(struct proxy *p, struct exposition *e, const char *name,
    const char *type, const char *help, uint64_t (*value)(struct server *))
{
	exposition_family(e, name, type, help);
	for (unsigned s = 0; s < p->config->servers; s++)
		exposition_sample(e, name,
		    LABELS({"server", p->config->server[s].name}),
		    value(&p->upstream.server[s]));
}

#define VALUE(name, expression)                        \
	static uint64_t value_##name(struct server *s) \
	{                                              \
		return (uint64_t)(expression);         \
	}
VALUE(active, s->upstream->hedging->active == s->index)
VALUE(ready, server_policy(s)->state == SERVER_READY)
VALUE(inflight, server_policy(s)->inflight)
VALUE(draining, s->draining.count)
VALUE(idle, s->idle.count)
VALUE(busy, s->busy.count)
VALUE(attempts, s->attempts)
VALUE(connects, s->connects)
VALUE(reuses, s->reuses)
VALUE(restarts, s->restarts)
VALUE(drain_cuts, s->drain_cuts)
VALUE(extra, s->extra_bytes)
VALUE(warm, s->warmups_ok)
VALUE(cold, s->warmups_failed)
VALUE(mirrored, s->mirrors_ok)
VALUE(unmirrored, s->mirrors_failed)
VALUE(aside, server_policy(s)->aside)
VALUE(waiting, s->waiting.count + s->connecting.count)
VALUE(again, s->connects_again)
VALUE(asked, s->probes_ok)
VALUE(unasked, s->probes_failed)
VALUE(kept, s->connections_kept)
VALUE(keeps, instant_is_set(s->reuse.proven))
VALUE(given_up, s->idle_given_up)
VALUE(drained, !server_may_serve(s))
VALUE(checks, s->checks_ok)
VALUE(sick, s->checks_failed)
#undef VALUE

static void
server_histogram(struct proxy *p, struct exposition *e, const char *name,
    unsigned server, const struct distribution *d)
{
	exposition_histogram(e, name,
	    LABELS({"server", p->config->server[server].name}), d, NULL);
}

static void
write_states(struct proxy *p, struct exposition *e)
{
	exposition_family(e, "tailor_server_state", "gauge",
	    "1 for the state that the server is in.");
	for (unsigned s = 0; s < p->config->servers; s++)
		for (unsigned i = 0; i <= SERVER_READY; i++)
			exposition_sample(e, "tailor_server_state",
			    LABELS({"server", p->config->server[s].name},
				{"state",
				    server_state_name((enum server_state)i)}),
			    p->hedging.server[s].state == i);
	exposition_family(e, "tailor_server_response_seconds", "histogram",
	    "First byte of a request written to the end of its response, for "
	    "each attempt; apart for those that a hazard overlapped.");
	for (unsigned s = 0; s < p->config->servers; s++)
		for (unsigned i = 0; i < 2; i++)
			exposition_histogram(e,
			    "tailor_server_response_seconds",
			    LABELS({"server", p->config->server[s].name},
				{"hazard", i == 0 ? "no" : "yes"}),
			    &p->upstream.server[s].responses[i], NULL);
	exposition_family(e, "tailor_warmup_duration_seconds", "histogram",
	    "Answering again to ready.");
	for (unsigned s = 0; s < p->config->servers; s++)
		server_histogram(p, e, "tailor_warmup_duration_seconds", s,
		    &p->upstream.server[s].warmup_length);
	exposition_family(e, "tailor_server_connect_seconds", "histogram",
	    "Connections opened: until they were established.");
	for (unsigned s = 0; s < p->config->servers; s++)
		server_histogram(p, e, "tailor_server_connect_seconds", s,
		    &p->upstream.server[s].connect_length);
}

void
metrics_write_servers(struct proxy *p, struct exposition *e)
{
	static const char *const type[] = {"complete", "limited", "refused",
	    "unanswered", "cut", "malformed", "timeout"};

	per_server(p, e, "tailor_server_active", "gauge",
	    "1 for the active server.", value_active);
	per_server(p, e, "tailor_server_ready", "gauge",
	    "1 if the server is up and warmed.", value_ready);
	per_server(p, e, "tailor_server_inflight", "gauge",
	    "Attempts that may still win.", value_inflight);
	per_server(p, e, "tailor_draining_connections", "gauge",
	    "Losers still being read.", value_draining);
	per_server(p, e, "tailor_server_connections_idle", "gauge",
	    "Kept connections.", value_idle);
	per_server(p, e, "tailor_server_connections_busy", "gauge",
	    "Connections in use.", value_busy);
	per_server(p, e, "tailor_server_streams", "gauge",
	    "Attempts that hold no slot: streams and long requests.",
	    value_aside);
	per_server(p, e, "tailor_server_connections_waiting", "gauge",
	    "Connections being opened, or waiting for their turn.",
	    value_waiting);
	per_server(p, e, "tailor_server_connect_retries_total", "counter",
	    "Connects tried again, mostly because the backlog was full.",
	    value_again);
	per_server(p, e, "tailor_server_keeps_idle_connections", "gauge",
	    "1: it has kept one for a second.  Until then a request that may "
	    "not be sent twice gets a new connection.",
	    value_keeps);
	per_server(p, e, "tailor_server_connections_kept_total", "counter",
	    "Connections opened to a standby to be there at a swap.",
	    value_kept);
	per_server(p, e, "tailor_server_idle_given_up_total", "counter",
	    "Idle connections closed because a new one waited beside them.",
	    value_given_up);
	per_server(p, e, "tailor_server_probes_total", "counter",
	    "Probes answered: does a silent server, or one with an open "
	    "breaker, respond?",
	    value_asked);
	per_server(p, e, "tailor_server_probe_failures_total", "counter",
	    "Such probes that failed.", value_unasked);
	per_server(p, e, "tailor_server_exchanges_total", "counter",
	    "Requests written, of whatever kind.", value_attempts);
	per_server(p, e, "tailor_server_connects_total", "counter",
	    "Connections opened.", value_connects);
	per_server(p, e, "tailor_server_connection_reuse_total", "counter",
	    "Exchanges on a kept connection.", value_reuses);
	per_server(p, e, "tailor_server_restarts_total", "counter",
	    "Times that Tailor started it again.", value_restarts);
	per_server(p, e, "tailor_server_extra_bytes_total", "counter",
	    "Bytes behind the end of a response.", value_extra);
	per_server(p, e, "tailor_warmup_requests_total", "counter",
	    "Warm-up requests answered.", value_warm);
	per_server(p, e, "tailor_warmup_failures_total", "counter",
	    "Warm-up requests that failed.", value_cold);
	per_server(p, e, "tailor_mirror_requests_total", "counter",
	    "Copies of requests that it answered as standby.", value_mirrored);
	per_server(p, e, "tailor_mirror_failures_total", "counter",
	    "Copies of requests that failed on the standby.", value_unmirrored);
	per_server(p, e, "tailor_drain_cut_total", "counter",
	    "Requests, tunnels and beaten responses cut at drain_timeout.",
	    value_drain_cuts);
	per_server(p, e, "tailor_server_drained", "gauge",
	    "1 if an operator took it out of service.", value_drained);
	per_server(p, e, "tailor_health_checks_total", "counter",
	    "Checks in service that went well.", value_checks);
	per_server(p, e, "tailor_health_check_failures_total", "counter",
	    "Checks in service that did not.", value_sick);
	write_states(p, e);
	exposition_family(e, "tailor_server_errors_total", "counter",
	    "Exchanges that failed, by type.");
	for (unsigned s = 0; s < p->config->servers; s++)
		for (unsigned i = EXCHANGE_REFUSED; i <= EXCHANGE_TIMEOUT; i++)
			exposition_sample(e, "tailor_server_errors_total",
			    LABELS({"server", p->config->server[s].name},
				{"type", type[i]}),
			    p->upstream.server[s].errors[i]);
}
