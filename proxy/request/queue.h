/* queue.h: requests that wait for a server: for a slot (connections_max), or
 * for any server to be up.
 *
 * The queue is in the order in which the requests were received.  A request
 * that is taken back from a server that has not seen it gets its old place.
 * The tick checks for QUEUE_LONG_NS: a request that has waited so long may go
 * to a backup that is less than half full, and an attempt that has lasted so
 * long gives its slot back.  hedging.h says which request may have a slot.
 * Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

#define QUEUE_LONG_NS NS_PER_S /* neither work nor a wait takes that long */

/* Put a request into the queue, by the time it was received.  Each request in
 * it has a client's connection: proxy.connections_max limits the queue, too. */
void queue_add(struct request *r);

/* Take a request out of the queue, if it waits there. */
void queue_remove(struct request *r);

/* A server may have room now: run the queue when this event is over. */
void queue_wake(struct proxy *p);

/* Start waiting requests for which there is room.  Only proxy_carry_out and
 * queue_tick call this: it must not run inside the callback of a request. */
void queue_run(struct proxy *p);

/* Start, or end with an error, requests that have waited long.  Every tick. */
void queue_tick(struct proxy *p, struct instant now);
