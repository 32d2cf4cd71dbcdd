/*
 * proxy.h: the proxy thread's whole state.
 *
 * Private to proxy/: everything here is owned and touched by the proxy
 * thread alone, which is the main thread.
 */
#ifndef TAILOR_PROXY_PROXY_H
#define TAILOR_PROXY_PROXY_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/topology.h"
#include "config/config.h"
#include "hedging/hedging.h"
#include "profiler/profiler.h"
#include "proxy/buffer.h"
#include "proxy/client.h"
#include "http/http.h"
#include "proxy/live.h"
#include "proxy/ledger.h"
#include "proxy/listening.h"
#include "proxy/metrics.h"
#include "proxy/queue.h"
#include "proxy/reload.h"
#include "proxy/replay.h"
#include "proxy/request.h"
#include "proxy/sending.h"
#include "proxy/server.h"
#include "proxy/slow.h"
#include "proxy/spool.h"
#include "proxy/table.h"
#include "proxy/timer.h"
#include "proxy/tale_api.h"
#include "proxy/token.h"
#include "talechain/timeline.h"

struct analysis;
struct admin;

struct proxy {
	const struct config *config; /* borrowed: the first generation's */
	struct generation_list generations; /* owned, newest first */
	struct config_source source;
	struct event_base *base;       /* owned */
	struct profiler *profiler;     /* borrowed */
	struct timeline *timeline;     /* borrowed */
	struct analysis *analysis;     /* borrowed */
	struct admin *admin;	       /* owned */
	struct access_log *access_log; /* owned */
	struct talechain events;       /* our own channel */
	struct topology_plan plan;     /* as carried out */
	char poll_text[32];	       /* "sleep:50us" */
	const char *stream_path;       /* borrowed; "" when private */
	struct instant started;

	struct hedging hedging;
	unsigned peak[2]; /* requests in flight; this window, the last */
	struct instant peak_window;
	struct server server[CONFIG_SERVERS];

	struct listener listener[LISTENERS];
	struct client_list clients;
	struct client_list clients_closed; /* freed for reuse after the turn */
	struct client_list clients_unused;
	unsigned client_count;
	unsigned tunnels;   /* open now */
	unsigned half_open; /* of those, with a request that is not whole */
	struct peer_table peers;
	unsigned connections_max; /* as configured, or as descriptors allow */

	struct table table;
	struct queue queue;
	uint64_t body_kept_bytes;

	struct sending sending;
	struct spools spools;
	struct block_pool blocks;
	struct http_limits request_limits, response_limits;
	struct http_head scratch_request, scratch_response;

	struct replay_table replay;

	struct tale_query_list tale_queries;
	uint64_t tale_cookie;
	struct token tale_token; /* of talechain.token_file */

	struct timers timers;
	struct timer tick_timer;
	struct event hazard_event, answer_event;
	struct event signal_term, signal_int, signal_hup, signal_usr1;
	struct instant stop_due, stop_idle_due; /* of a graceful stop */
	unsigned cut_requests, cut_connections; /* by its end */
	bool stopping;				/* graceful stop under way */
	bool stopped;				/* leave the loop */
	bool accept_paused;			/* out of descriptors */
	struct instant accept_due;		/* until then */
	bool accepting; /* not before there is somebody to serve */
	bool sweeping, sweep_again;
	bool hedges_wait; /* some were refused because a server was full */
	unsigned actions; /* to be carried out when the turn ends */

	struct metrics metrics;
	struct ledger ledger;
	struct instant ticked;
	struct live live;
	struct slow_window slow_window;
};

/*
 * proxy_init(p): set up the loop, pools, policy and servers by p->config;
 * opens nothing yet.  0 or -errno (logged).  proxy_fini undoes it.
 */
int proxy_init(struct proxy *p);
void proxy_fini(struct proxy *p);

/* Run until stopped by a signal.  0 or -errno. */
int proxy_run(struct proxy *p);

/* Begin a graceful stop: no new connections, requests in flight finish.  The
 * second time: cut what is left and end (stop.c). */
void proxy_stop(struct proxy *p, const char *why);
/* Go on with it.  Every tick. */
void proxy_stop_tick(struct proxy *p, struct instant now);

/* Take all waiting hazards into account.  Called at the top of each turn and
 * before every choice of a server.  About 5 ns when there are none. */
void proxy_hazards(struct proxy *p);

/* Act on one hazard: the observer's, or one told to the admin listener. */
void proxy_hazard(struct proxy *p, const struct hazard *h);

/* Keep the time in which every server was in a hazard.  Every tick. */
void proxy_count_both(struct proxy *p, struct instant now);

/* Carry out enum hedging_action. */
void proxy_apply(struct proxy *p, unsigned actions);

/* Ask for a second attempt for all requests that wait on a server in a
 * hazard, oldest first. */
void proxy_sweep(struct proxy *p);

/* A drained loser's end: metrics. */
void proxy_loser_done(struct uplink *u, enum uplink_end end);

/* Whether a request may be sent twice (E1), and whether its client asked that
 * it be not (E7). */
bool proxy_may_repeat(
    struct proxy *p, const struct http_head *head, bool *opted_out);

/* Emit one event into the proxy's channel, of now; _at: of a moment that is
 * known already and later than the channel's last. */
static inline void
proxy_emit(struct proxy *p, enum talechain_type type, uint64_t a0, uint64_t a1,
    uint64_t a2, uint64_t a3)
{
	talechain_emit(&p->events, type, a0, a1, a2, a3);
}
static inline void
proxy_emit_at(struct proxy *p, struct instant at, enum talechain_type type,
    const uint64_t a[4])
{
	talechain_emit_at(&p->events, at.ns, type, a[0], a[1], a[2], a[3]);
}

#endif
