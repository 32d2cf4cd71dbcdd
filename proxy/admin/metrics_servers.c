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
	exposition_distribution(e, "tailor_hazard_detect_delay_seconds",
	    "Hazard happened to observer saw it.", &m->detect);
	exposition_distribution(e, "tailor_hazard_notice_delay_seconds",
	    "Observer saw it to proxy took it.", &m->notice);
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
		if (i != HEDGE_FIRST &&
		    (m->swap_reason[i] > 0 || i <= HEDGE_UNRESPONSIVE))
			exposition_sample(e, "tailor_swaps_by_reason_total",
			    LABELS({"reason",
				hedge_trigger_name((enum hedge_trigger)i)}),
			    m->swap_reason[i]);
	exposition_sample(e, "tailor_swaps_by_reason_total",
	    LABELS({"reason", "operator"}),
	    m->swap_reason[HEDGE_FIRST] - m->swaps_steered);
	exposition_sample(e, "tailor_swaps_by_reason_total",
	    LABELS({"reason", "steer"}), m->swaps_steered);
	exposition_family(e, "tailor_swap_refused_total", "counter",
	    "Hazards of the active server with nowhere to go.");
	exposition_sample(e, "tailor_swap_refused_total",
	    LABELS({"reason", "standby_not_ready"}), p->hedging.swaps_refused);
	exposition_distribution(e, "tailor_swap_duration_seconds",
	    "Hazard happened to swapped.", &m->swap);
}

/* Of a server's heap, as steering saw it last. */
static void
write_heaps(struct proxy *p, struct exposition *e)
{
	exposition_family(e, "tailor_server_eden_used_bytes", "gauge",
	    "Of the young generation, where new objects are; 0: unknown.");
	for (unsigned s = 0; s < p->config->servers; s++)
		exposition_sample(e, "tailor_server_eden_used_bytes",
		    LABELS({"server", p->config->server[s].name}),
		    p->steer.server[s].heap.used);
	exposition_family(e, "tailor_server_eden_capacity_bytes", "gauge",
	    "What the server calls its size.");
	for (unsigned s = 0; s < p->config->servers; s++)
		exposition_sample(e, "tailor_server_eden_capacity_bytes",
		    LABELS({"server", p->config->server[s].name}),
		    p->steer.server[s].heap.capacity);
}

void
metrics_write_steering(struct proxy *p, struct exposition *e)
{
	const struct steer *st = &p->steer;

	exposition_counter(e, "tailor_steer_collections_provoked_total",
	    "Collections of servers that were ordered to, with nothing in "
	    "flight.",
	    st->provoked);
	exposition_counter(e, "tailor_steer_collections_unmet_total",
	    "Collections of steered servers that no request met: these, and "
	    "those that a standby made by itself.",
	    st->unmet);
	exposition_family(e, "tailor_steer_misses_total", "counter",
	    "Collections of a steered server with requests in flight, by why "
	    "they were not avoided.");
	for (unsigned i = 0; i < STEER_MISS_COUNT; i++)
		exposition_sample(e, "tailor_steer_misses_total",
		    LABELS({"reason", steer_miss_name((enum steer_miss)i)}),
		    st->missed[i]);
	exposition_counter(e, "tailor_steer_unanswered_total",
	    "Orders to collect that were not carried out in 3 s.",
	    st->unanswered);
	exposition_counter(e, "tailor_steer_rests_total",
	    "Times that swaps came too fast: no steering for 10 s.", st->rests);
	write_heaps(p, e);
}

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

/* A family with a sample for each server s. */
#define EACH_SERVER                                 \
	for (struct server *s = p->upstream.server; \
	     s < p->upstream.server + p->config->servers; s++)
#define PER_SERVER(metric, type, help, value)                     \
	exposition_family(e, metric, type, help);                 \
	EACH_SERVER exposition_sample(e, metric,                  \
	    LABELS({"server", p->config->server[s->index].name}), \
	    (uint64_t)(value))

void
metrics_write_servers(struct proxy *p, struct exposition *e)
{
	static const char *const type[] = {"complete", "limited", "refused",
	    "unanswered", "cut", "malformed", "timeout"};

	PER_SERVER("tailor_server_active", "gauge", "1 for the active server.",
	    s->upstream->hedging->active == s->index);
	PER_SERVER("tailor_server_ready", "gauge",
	    "1 if the server is up and warmed.",
	    server_policy(s)->state == SERVER_READY);
	PER_SERVER("tailor_server_inflight", "gauge",
	    "Attempts that may still win.", server_policy(s)->inflight);
	PER_SERVER("tailor_draining_connections", "gauge",
	    "Losers still being read.", s->draining.count);
	PER_SERVER("tailor_server_connections_idle", "gauge",
	    "Kept connections.", s->idle.count);
	PER_SERVER("tailor_server_connections_busy", "gauge",
	    "Connections in use.", s->busy.count);
	PER_SERVER("tailor_server_streams", "gauge",
	    "Attempts that hold no slot: streams and long requests.",
	    server_policy(s)->aside);
	PER_SERVER("tailor_server_connections_waiting", "gauge",
	    "Connections being opened, or waiting for their turn.",
	    s->waiting.count + s->connecting.count);
	PER_SERVER("tailor_server_connect_retries_total", "counter",
	    "Connects tried again, mostly because the backlog was full.",
	    s->connects_again);
	PER_SERVER("tailor_server_keeps_idle_connections", "gauge",
	    "1: it has kept one for a second.  Until then a request that may "
	    "not be sent twice gets a new connection.",
	    instant_is_set(s->reuse.proven));
	PER_SERVER("tailor_server_connections_kept_total", "counter",
	    "Connections opened to a standby to be there at a swap.",
	    s->connections_kept);
	PER_SERVER("tailor_server_idle_given_up_total", "counter",
	    "Idle connections closed because a new one waited beside them.",
	    s->idle_given_up);
	PER_SERVER("tailor_server_probes_total", "counter",
	    "Probes answered: does a silent server, or one with an open "
	    "breaker, respond?",
	    s->probes_ok);
	PER_SERVER("tailor_server_probe_failures_total", "counter",
	    "Such probes that failed.", s->probes_failed);
	PER_SERVER("tailor_server_exchanges_total", "counter",
	    "Requests written, of whatever kind.", s->attempts);
	PER_SERVER("tailor_server_connects_total", "counter",
	    "Connections opened.", s->connects);
	PER_SERVER("tailor_server_connection_reuse_total", "counter",
	    "Exchanges on a kept connection.", s->reuses);
	PER_SERVER("tailor_server_restarts_total", "counter",
	    "Times that Tailor started it again.", s->restarts);
	PER_SERVER("tailor_server_extra_bytes_total", "counter",
	    "Bytes behind the end of a response.", s->extra_bytes);
	PER_SERVER("tailor_warmup_requests_total", "counter",
	    "Warm-up requests answered.", s->warmups_ok);
	PER_SERVER("tailor_warmup_failures_total", "counter",
	    "Warm-up requests that failed.", s->warmups_failed);
	PER_SERVER("tailor_mirror_requests_total", "counter",
	    "Copies of requests that it answered as standby.", s->mirrors_ok);
	PER_SERVER("tailor_mirror_failures_total", "counter",
	    "Copies of requests that failed on the standby.",
	    s->mirrors_failed);
	PER_SERVER("tailor_drain_cut_total", "counter",
	    "Requests, tunnels and beaten responses cut at drain_timeout.",
	    s->drain_cuts);
	PER_SERVER("tailor_server_drained", "gauge",
	    "1 if an operator took it out of service.", !server_may_serve(s));
	PER_SERVER("tailor_health_checks_total", "counter",
	    "Checks in service that went well.", s->checks_ok);
	PER_SERVER("tailor_health_check_failures_total", "counter",
	    "Checks in service that did not.", s->checks_failed);
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
