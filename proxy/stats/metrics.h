/* metrics.h: the counters of the proxy.
 *
 * The folder stats/ owns all statistics of requests and hedges: metrics, the
 * cost of hedging (ledger.h), the last ten minutes (recent.h).  Folders above
 * add to them; proxy/admin/ writes them out.
 *
 * One table generates the struct's fields and the Prometheus text.
 * Proxy thread only: plain integers. */
#pragma once

#include "hedging/hedging.h"
#include "http/http.h"
#include "proxy/stats/distribution.h"
#include "talechain/events/termination.h"

/* Plain counters: field, metric name, label ("" none) and value. */
#define METRICS_COUNTERS(X)                                                    \
	X(connections, "tailor_connections_total", "", "")                     \
	X(shed, "tailor_connections_shed_total", "", "")                       \
	X(rejected_limit, "tailor_connections_rejected_total", "reason",       \
	    "limit")                                                           \
	X(rejected_descriptors, "tailor_connections_rejected_total", "reason", \
	    "descriptors")                                                     \
	X(rejected_memory, "tailor_connections_rejected_total", "reason",      \
	    "memory")                                                          \
	X(rejected_address, "tailor_connections_rejected_total", "reason",     \
	    "per_address")                                                     \
	X(rejected_half_open, "tailor_connections_rejected_total", "reason",   \
	    "half_open")                                                       \
	X(rejected_untrusted, "tailor_connections_rejected_total", "reason",   \
	    "untrusted")                                                       \
	X(rejected_proxy_header, "tailor_connections_rejected_total",          \
	    "reason", "proxy_header")                                          \
	X(late_connect, "tailor_connections_late_total", "why", "resent")      \
	X(late_accept, "tailor_connections_late_total", "why", "accept_queue") \
	X(dropped, "tailor_connections_dropped_total", "", "")                 \
	X(keepalive_reuse, "tailor_keepalive_reuse_total", "", "")             \
	X(request_bytes, "tailor_request_bytes_total", "", "")                 \
	X(response_bytes, "tailor_response_bytes_total", "", "")               \
	X(aborts_head, "tailor_client_aborts_total", "phase", "head")          \
	X(aborts_body, "tailor_client_aborts_total", "phase", "body")          \
	X(aborts_waiting, "tailor_client_aborts_total", "phase", "waiting")    \
	X(aborts_response, "tailor_client_aborts_total", "phase", "response")  \
	X(timeouts_head, "tailor_client_timeouts_total", "phase", "head")      \
	X(timeouts_body, "tailor_client_timeouts_total", "phase", "body")      \
	X(timeouts_rate, "tailor_client_timeouts_total", "phase", "body_rate") \
	X(timeouts_tunnel, "tailor_client_timeouts_total", "phase", "tunnel")  \
	X(timeouts_linger, "tailor_client_timeouts_total", "phase", "linger")  \
	X(timeouts_write, "tailor_client_timeouts_total", "phase", "write")    \
	X(late_resent, "tailor_responses_late_total", "why", "resent")         \
	X(late_window, "tailor_responses_late_total", "why", "window")         \
	X(truncated, "tailor_response_truncated_total", "", "")                \
	X(queue_timeouts, "tailor_queue_timeouts_total", "", "")               \
	X(overflowed, "tailor_queue_overflows_total", "", "")                  \
	X(moved, "tailor_requests_moved_total", "", "")                        \
	X(asides, "tailor_slots_returned_total", "", "")                       \
	X(table_full, "tailor_table_full_total", "", "")                       \
	X(hedges_won, "tailor_hedges_won_total", "", "")                       \
	X(hedges_lost, "tailor_hedges_lost_total", "", "")                     \
	X(hedges_compared, "tailor_hedge_responses_compared_total", "", "")    \
	X(differ_status, "tailor_hedge_response_mismatch_total", "part",       \
	    "status")                                                          \
	X(differ_length, "tailor_hedge_response_mismatch_total", "part",       \
	    "length")                                                          \
	X(differ_body, "tailor_hedge_response_mismatch_total", "part", "body") \
	X(both_failed, "tailor_hedges_both_failed_total", "", "")              \
	X(stale, "tailor_stale_connections_total", "", "")                     \
	X(tunnels, "tailor_tunnels_total", "", "")                             \
	X(interims, "tailor_interim_responses_total", "result", "forwarded")   \
	X(interims_dropped, "tailor_interim_responses_total", "result",        \
	    "dropped")                                                         \
	X(pushbacks, "tailor_pushbacks_total", "", "")                         \
	X(losers_complete, "tailor_losers_total", "result", "drained")         \
	X(losers_failed, "tailor_losers_total", "result", "failed")            \
	X(losers_timeout, "tailor_losers_total", "result", "timeout")          \
	X(slow_unexamined, "tailor_slow_unexamined_total", "", "")             \
	X(reloads_done, "tailor_config_reload_total", "result", "done")        \
	X(reloads_failed, "tailor_config_reload_total", "result", "failed")    \
	X(analyze, "tailor_analyze_requests_total", "", "")                    \
	X(local_denied, "tailor_talechain_denied_total", "", "")               \
	X(collectors_refused, "tailor_metrics_denied_total", "", "")

/* Counts by reason.  Known reasons are there from the beginning; others are
 * added when they first occur. */
struct metrics_reasons {
	unsigned reasons;
	struct {
		const char *reason; /* static */
		uint64_t count;
	} of[96];
};

struct metrics {
#define METRICS_X(field, name, label, value) uint64_t field;
	METRICS_COUNTERS(METRICS_X)
#undef METRICS_X
	uint64_t slow;	      /* over slow.target, examined or not */
	uint64_t requests[6]; /* by class of status; 0: client left */
	uint64_t local[600];  /* responses of Tailor itself, by status */
	uint64_t hedges[HEDGE_TRIGGER_COUNT][HEDGING_SERVERS];
	uint64_t hedges_past[HEDGE_TRIGGER_COUNT]; /* to servers taken away */
	uint64_t refused[HEDGE_REFUSAL_COUNT];
	uint64_t terminations[TERMINATION_COUNT]; /* not those of 0 */
	uint64_t hazards[HEDGING_SERVERS][HAZARD_KIND_COUNT];
	uint64_t hazard_ns[HEDGING_SERVERS][HAZARD_KIND_COUNT];
	struct instant hazard_since[HEDGING_SERVERS][HAZARD_KIND_COUNT];
	uint64_t methods[HTTP_METHOD_OTHER + 1];   /* requests, by method */
	uint64_t swap_reason[HEDGE_TRIGGER_COUNT]; /* FIRST: none of them */
	uint64_t swaps_steered;			   /* of FIRST: by steering */
	uint64_t both_hazard_ns;		   /* all servers in hazards */
	struct instant both_since;
	uint64_t hazards_active;			  /* of active server */
	struct distribution latency;			  /* of requests */
	struct exemplar exemplar[DISTRIBUTION_EDGES + 1]; /* of latency */
	struct distribution commit_delay; /* response head -> commit */
	struct distribution detect;	/* hazard happened -> observer saw it */
	struct distribution notice;	/* observer saw it -> proxy took it */
	struct distribution hedge_send; /* hazard happened -> hedge written */
	struct distribution hazard_sent; /* likewise, a hazard's last hedge */
	struct distribution hedge_saved; /* loser's latency - winner's */
	struct distribution loser;	 /* a loser's whole latency */
	struct distribution queue;	 /* time in the queue for a server */
	struct distribution swap;	 /* hazard happened -> swapped */
	struct distribution hazard_length[HAZARD_KIND_COUNT];
	struct distribution loop_lag;		/* lateness of the tick */
	int64_t last_hedge_ns[HEDGING_SERVERS]; /* of the present hazard */
	int64_t render_ns;	      /* duration of the last metrics_write */
	struct metrics_reasons parse; /* requests that the gate refused */
	struct metrics_reasons failures; /* requests that Tailor failed */
};

/* Set all counters to zero. */
void metrics_init(struct metrics *m);

/* A new server takes this place: reset the counters of the place. */
void metrics_server_forget(struct metrics *m, unsigned server);

/* Add one to a reason's count; reason is static text. */
void metrics_reason(struct metrics_reasons *r, const char *reason);

/* Record the latency of a finished request, with its id (at most 64 characters)
 * and trace id (32, or ""). */
void metrics_latency(
    struct metrics *m, int64_t ns, const char *id, const char *trace_id);
