/* metrics_servers.c: writes the metrics of servers and their hazards. */
#include "proxy/admin/admin_reports.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"

/* Labels of a hazard: server s, kind k. */
#define HAZARD(p, s, k)                                          \
	LABELS({"server", (p)->upstream.server[s].config->name}, \
	    {"kind", hazard_kind_name((enum hazard_kind)(k))})
#define KIND(k) LABELS({"kind", hazard_kind_name((enum hazard_kind)(k))})

/* Write the metrics of pauses that requests wait out (T4). */
static void
write_waits(struct proxy *p, struct exposition *e)
{
	const struct hedging *h = &p->hedging;

	exposition_family(e, "tailor_pauses_waited_out_total");
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if ((HAZARDS_WAITED & 1U << k) != 0)
			exposition_sample(e, KIND(k), h->waited_out[k]);
	exposition_family(e, "tailor_pause_regret_seconds_total");
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if ((HAZARDS_WAITED & 1U << k) != 0)
			exposition_sample_ns(e, KIND(k), h->regret_ns[k]);
}

void
metrics_write_hazards(struct proxy *p, struct exposition *e)
{
	const struct metrics *m = &p->metrics;

	exposition_family(e, "tailor_pauses_total");
	UPSTREAM_EACH(&p->upstream, s)
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		exposition_sample(e, HAZARD(p, s, k), m->hazards[s][k]);
	exposition_family(e, "tailor_pause_seconds_total");
	UPSTREAM_EACH(&p->upstream, s)
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		exposition_sample_ns(e, HAZARD(p, s, k), m->hazard_ns[s][k]);
	exposition_family(e, "tailor_pause_duration_seconds");
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		exposition_histogram(e, KIND(k), &m->hazard_length[k], NULL);
	exposition_distribution(
	    e, "tailor_pause_detect_delay_seconds", &m->detect);
	exposition_distribution(
	    e, "tailor_pause_notice_delay_seconds", &m->notice);
	exposition_family(e, "tailor_both_pause_seconds_total");
	exposition_sample_ns(e, NULL, m->both_hazard_ns);
	exposition_counter(
	    e, "tailor_pauses_expired_total", p->hedging.hazards_expired);
	write_waits(p, e);
	exposition_family(e, "tailor_swaps_by_reason_total");
	for (unsigned i = 0; i < HEDGE_TRIGGER_COUNT; i++)
		if (i != HEDGE_FIRST && i != HEDGE_TIMER) /* never a reason */
			exposition_sample(e,
			    LABELS({"reason",
				hedge_trigger_name((enum hedge_trigger)i)}),
			    m->swap_reason[i]);
	exposition_sample(e, LABELS({"reason", "operator"}),
	    m->swap_reason[HEDGE_FIRST] - m->swaps_steered -
		p->hedging.swaps_marking);
	exposition_sample(e, LABELS({"reason", "steer"}), m->swaps_steered);
	exposition_sample(
	    e, LABELS({"reason", "marking"}), p->hedging.swaps_marking);
	exposition_counter(e, "tailor_swaps_total", p->hedging.swaps);
	exposition_counter(e, "tailor_storms_total", p->hedging.storms);
	exposition_family(e, "tailor_swap_refused_total");
	exposition_sample(e, LABELS({"reason", "backup_not_ready"}),
	    p->hedging.swaps_refused);
	exposition_distribution(e, "tailor_swap_duration_seconds", &m->swap);
}

void
metrics_write_steering(struct proxy *p, struct exposition *e)
{
	const struct steer *st = &p->steer;

	exposition_counter(
	    e, "tailor_steer_collections_provoked_total", st->provoked);
	exposition_counter(e, "tailor_steer_collections_full_total", st->full);
	exposition_counter(
	    e, "tailor_steer_collections_unmet_total", st->unmet);
	exposition_family(e, "tailor_steer_misses_total");
	for (unsigned i = 0; i < STEER_MISS_COUNT; i++)
		exposition_sample(e,
		    LABELS({"reason", steer_miss_name((enum steer_miss)i)}),
		    st->missed[i]);
	exposition_counter(e, "tailor_steer_unanswered_total", st->unanswered);
	exposition_counter(e, "tailor_steer_shares_total", st->shares);
	exposition_family(e, "tailor_server_eden_used_bytes");
	UPSTREAM_EACH(&p->upstream, s)
	if (st->server[s].heap.known)
		exposition_sample(e,
		    LABELS({"server", p->upstream.server[s].config->name}),
		    st->server[s].heap.used);
	exposition_family(e, "tailor_server_eden_capacity_bytes");
	UPSTREAM_EACH(&p->upstream, s)
	if (st->server[s].heap.known)
		exposition_sample(e,
		    LABELS({"server", p->upstream.server[s].config->name}),
		    st->server[s].heap.capacity);
}

static void
write_states(struct proxy *p, struct exposition *e)
{
	exposition_family(e, "tailor_server_state");
	UPSTREAM_EACH(&p->upstream, s)
	{
		const struct hedging_server *h = &p->hedging.server[s];

		for (unsigned i = 0; i <= SERVER_READY; i++)
			exposition_sample(e,
			    LABELS(
				{"server", p->upstream.server[s].config->name},
				{"state",
				    server_state_name((enum server_state)i)}),
			    h->state == i && !h->failing);
		exposition_sample(e,
		    LABELS({"server", p->upstream.server[s].config->name},
			{"state", "failing"}),
		    h->failing);
	}
	exposition_family(e, "tailor_server_response_seconds");
	UPSTREAM_EACH(&p->upstream, s)
	for (unsigned i = 0; i < 2; i++)
		exposition_histogram(e,
		    LABELS({"server", p->upstream.server[s].config->name},
			{"paused", i == 0 ? "no" : "yes"}),
		    &p->upstream.server[s].responses[i], NULL);
	exposition_family(e, "tailor_warmup_duration_seconds");
	UPSTREAM_EACH(&p->upstream, s)
	exposition_histogram(e,
	    LABELS({"server", p->upstream.server[s].config->name}),
	    &p->upstream.server[s].warmup_length, NULL);
	exposition_family(e, "tailor_server_connect_seconds");
	UPSTREAM_EACH(&p->upstream, s)
	exposition_histogram(e,
	    LABELS({"server", p->upstream.server[s].config->name}),
	    &p->upstream.server[s].connect_length, NULL);
}

/* Write a family with a sample for each server s. */
#define PER_SERVER(metric, value)                                         \
	exposition_family(e, metric);                                     \
	UPSTREAM_EACH(&p->upstream, place)                                \
	{                                                                 \
		const struct server *s = &p->upstream.server[place];      \
                                                                          \
		exposition_sample(e, LABELS({"server", s->config->name}), \
		    (uint64_t)(value));                                   \
	}                                                                 \
	_Static_assert(1, "")

void
metrics_write_servers(struct proxy *p, struct exposition *e)
{
	PER_SERVER(
	    "tailor_server_active", s->upstream->hedging->active == s->index);
	PER_SERVER(
	    "tailor_server_ready", server_policy(s)->state == SERVER_READY);
	PER_SERVER("tailor_server_inflight", server_policy(s)->inflight);
	PER_SERVER("tailor_draining_connections", s->draining.count);
	PER_SERVER("tailor_server_connections_idle", s->idle.count);
	PER_SERVER("tailor_server_connections_private", s->private.count);
	PER_SERVER("tailor_server_connections_busy", s->busy.count);
	PER_SERVER("tailor_server_streams", server_policy(s)->aside);
	PER_SERVER("tailor_server_connections_waiting",
	    s->waiting.count + s->connecting.count);
	PER_SERVER("tailor_server_connect_retries_total", s->connects_again);
	PER_SERVER("tailor_server_keeps_idle_connections",
	    instant_is_set(s->reuse.proven));
	PER_SERVER("tailor_server_connections_kept_total", s->connections_kept);
	PER_SERVER("tailor_server_idle_given_up_total", s->idle_given_up);
	PER_SERVER("tailor_server_probes_total", s->probes_ok);
	PER_SERVER("tailor_server_probe_failures_total", s->probes_failed);
	PER_SERVER("tailor_server_exchanges_total", s->attempts);
	PER_SERVER("tailor_server_connects_total", s->connects);
	PER_SERVER("tailor_server_connection_reuse_total", s->reuses);
	PER_SERVER("tailor_server_restarts_total", s->restarts);
	PER_SERVER("tailor_server_extra_bytes_total", s->extra_bytes);
	PER_SERVER("tailor_server_unread_bodies_total", s->unread_bodies);
	PER_SERVER("tailor_server_private_connections_total", s->privates);
	PER_SERVER(
	    "tailor_server_private_given_up_total", s->privates_given_up);
	PER_SERVER("tailor_server_heap_malformed_total", s->heap_malformed);
	PER_SERVER("tailor_warmup_requests_total", s->warmups_ok);
	PER_SERVER("tailor_warmup_failures_total", s->warmups_failed);
	PER_SERVER("tailor_mirror_requests_total", s->mirrors_ok);
	PER_SERVER("tailor_mirror_failures_total", s->mirrors_failed);
	PER_SERVER("tailor_drain_cut_total", s->drain_cuts);
	PER_SERVER("tailor_server_drained", !server_may_serve(s));
	PER_SERVER("tailor_health_checks_total", s->checks_ok);
	PER_SERVER("tailor_health_check_failures_total", s->checks_failed);
	PER_SERVER("tailor_health_check_status", s->checked.status);
	exposition_family(e, "tailor_health_check_result");
	UPSTREAM_EACH(&p->upstream, s)
	for (unsigned i = HEALTH_OK; i < HEALTH_RESULT_COUNT; i++)
		exposition_sample(e,
		    LABELS({"server", p->upstream.server[s].config->name},
			{"result", health_result_name((enum health_result)i)}),
		    p->upstream.server[s].checked.result == i);
	write_states(p, e);
	exposition_family(e, "tailor_server_errors_total");
	UPSTREAM_EACH(&p->upstream, s)
	for (unsigned i = EXCHANGE_REFUSED; i <= EXCHANGE_TIMEOUT; i++)
		exposition_sample(e,
		    LABELS({"server", p->upstream.server[s].config->name},
			{"type", exchange_end_name((enum exchange_end)i)}),
		    p->upstream.server[s].errors[i]);
}
