/* service.h: the rooms put together: set up, ticked, ended.  Proxy thread
 * only. */
#pragma once

#include "proxy/request/proxy.h"

/* Set up requests, clients, servers and policy for p->config, which comes to
 * these limits; opens nothing yet.
 *   events  what the room above does with a client's head
 *   stop, replaced  of servers (struct upstream_events)
 * 0 or -errno; proxy_fini also after that. */
int proxy_init(struct proxy *p, const struct hedging_limits *limits,
    const struct client_events *events, void (*stop)(struct server *s),
    void (*replaced)(void *user, struct server *s, bool renamed));
void proxy_fini(struct proxy *p);

/* Have hazards, policy, clients, servers and queue go on with time.  Every
 * tick. */
void proxy_tick(struct proxy *p, struct instant now);

/* Close the connections of clients whose responses have no end of their own,
 * event streams and tunnels.  Returns how many. */
unsigned proxy_cut_streams(struct proxy *p);

/* True if ticks may be rare: no request is under way and no server is about to
 * change.  Some 5 ns. */
bool proxy_is_at_rest(const struct proxy *p);
