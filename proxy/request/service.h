/* service.h: set up, tick and end all rooms of the proxy together.  Proxy
 * thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Set up requests, clients, servers and policy for p->config; opens nothing
 * yet.  0 or -errno; call proxy_fini after an error, too.
 *   limits  of p->config, for the policy
 *   events  callbacks for a client's head, from the room above
 *   stop, replaced  callbacks of struct upstream_events */
int proxy_init(struct proxy *p, const struct hedging_limits *limits,
    const struct client_events *events, void (*stop)(struct server *s),
    void (*replaced)(void *user, struct server *s, bool renamed));
void proxy_fini(struct proxy *p);

/* Run the tick of hazards, policy, clients, servers and queue.  Every tick. */
void proxy_tick(struct proxy *p, struct instant now);

/* Close the connections of clients whose responses have no end of their own:
 * event streams and tunnels.  Returns how many. */
unsigned proxy_cut_streams(struct proxy *p);

/* How soon the next tick must come.  PENDING: time alone decides something.
 * CALM: requests are under way, or a server is down.  REST: neither. */
enum proxy_pace {
	PROXY_PENDING,
	PROXY_CALM,
	PROXY_REST,
};

/* Some 10 ns. */
enum proxy_pace proxy_pace(const struct proxy *p);
