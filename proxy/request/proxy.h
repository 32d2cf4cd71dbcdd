/*
 * proxy.h: requests between clients and servers, and the policy that says where
 * they go.
 *
 * This room joins the two halves, clients (clients.h) and servers (upstream.h):
 * a request stands on one connection of each, or more.  struct proxy is the
 * whole state of the proxy thread but for what starts and stops it (daemon/).
 * What the policy wants is noted by proxy_want and carried out when the event
 * that caused it is over, so nothing here is ever inside of itself.
 */
#ifndef TAILOR_PROXY_REQUEST_PROXY_H
#define TAILOR_PROXY_REQUEST_PROXY_H

#include "base/topology.h"
#include "config/generation.h"
#include "hedging/hedging.h"
#include "profiler/profiler.h"
#include "proxy/client/clients.h"
#include "proxy/net/loop.h"
#include "proxy/request/queue.h"
#include "proxy/request/request.h"
#include "proxy/request/slow.h"
#include "proxy/request/table.h"
#include "proxy/stats/ledger.h"
#include "proxy/stats/metrics.h"
#include "proxy/stats/recent.h"
#include "proxy/upstream/upstream.h"
#include "talechain/timeline.h"

struct access_log;
struct analysis;
struct tale_api;

struct proxy {
	const struct config *config; /* borrowed: the one in force */
	struct generation_list generations;
	struct profiler *profiler;     /* borrowed */
	struct timeline *timeline;     /* borrowed */
	struct analysis *analysis;     /* borrowed */
	struct tale_api *tales;	       /* borrowed */
	struct access_log *access_log; /* owned */
	struct talechain events;       /* our own channel */

	struct loop loop;
	struct clients clients;
	struct upstream upstream;

	struct hedging hedging;
	struct work policy; /* carries these two out: */
	unsigned wanted;    /* enum hedging_consequence */
	bool hedges_wait;   /* some were refused because a server was full */

	struct table table;
	struct queue queue;
	uint64_t body_kept_bytes;
	unsigned tunnels; /* open now */

	struct metrics metrics;
	struct ledger ledger;
	struct recent recent;
	struct slow_window slow_window;

	/* what the admin socket reports */
	struct topology_plan plan; /* as carried out */
	char poll_text[32];	   /* "sleep:50us" */
	const char *stream_path;   /* borrowed; "" when private */
	size_t memory_bytes;	   /* the most that Tailor will take */
	struct instant started;
};

/*
 * proxy_init(p, limits, events, stop):
 * Set up requests, clients, servers and policy for p->config, which comes to
 * these limits; opens nothing yet.
 *   events  what the room above does with a client's head
 *   stop    has a server's program ended (struct upstream_events)
 * 0 or -errno; proxy_fini also after that.
 */
int proxy_init(struct proxy *p, const struct hedging_limits *limits,
    const struct client_events *events, void (*stop)(struct server *s));
void proxy_fini(struct proxy *p);

/* What time brings.  Every tick. */
void proxy_tick(struct proxy *p, struct instant now);

/* Take all waiting hazards into account.  Called at the top of each turn and
 * before every choice of a server.  About 5 ns when there are none. */
void proxy_hazards(struct proxy *p);

/* Act on one hazard. */
void proxy_hazard(struct proxy *p, const struct hazard *h);

/* The policy wants these (enum hedging_consequence): count them now, carry them
 * out when this event is over. */
void proxy_want(struct proxy *p, unsigned consequences);

/* Carry out what is wanted, and run the queue.  Work of LOOP_POLICY. */
void proxy_carry_out(void *proxy);

/* Ask for a second attempt for all requests that wait on a server in a
 * hazard, oldest first. */
void proxy_sweep(struct proxy *p);

/* The response of an attempt that lost has ended: metrics. */
void proxy_loser_done(
    void *proxy, const struct connection *u, enum exchange_end end);

/* Whether a request may be sent twice (E1), and whether its client asked that
 * it be not (E7). */
bool proxy_may_repeat(
    struct proxy *p, const struct http_head *head, bool *opted_out);

/* The access log (access_fill.c): a request that is over, a head that was
 * refused; open the file again. */
void access_log_request(struct proxy *p, const struct request *r,
    const struct client *c, struct instant now);
void
access_log_refusal(const struct client *c, const struct http_refusal *refusal);
void access_log_reopen(struct proxy *p);

/* The proxy that a client's connection is part of. */
static inline struct proxy *
client_proxy(const struct client *c)
{
	return c->clients->user;
}

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
