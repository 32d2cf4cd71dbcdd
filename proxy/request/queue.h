/* queue.h: requests that wait for a server: for a slot (connections_max), or
 * for any server to be up.
 *
 * It is in the order in which the requests were received.  A request that came
 * back from a server that has not seen it takes its old place.  The tick looks
 * at those that wait: after QUEUE_LONG_NS a request may go to a standby
 * that is less than half full, and attempts that have lasted so long give
 * their slots back.  Proxy thread only; see hedging.h for who may have a slot.
 */
#pragma once

#include "proxy/request/proxy.h"

#define QUEUE_LONG_NS NS_PER_S /* neither work nor a wait takes that long */

/* Have a request wait, in the place that it had if it comes back.  Each request
 * that waits has a connection, so proxy.connections_max limits the queue,
 * too. */
void queue_add(struct request *r);

/* Take a request out of the queue, if it waits there. */
void queue_remove(struct request *r);

/* Servers may have room: have the queue run when this event is over. */
void queue_wake(struct proxy *p);

/* Start waiting requests for which there is room.  Where no
 * request is being dealt with: from proxy_carry_out and the tick. */
void queue_run(struct proxy *p);

/* Start or end requests that have waited long.  Every tick. */
void queue_tick(struct proxy *p, struct instant now);
