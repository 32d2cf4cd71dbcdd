/* delivery.h: responses that the network, or the client, took late.
 *
 * A request is finished when the kernel has its whole response; from then on
 * the proxy does not see it.  If the response is lost on the way the kernel
 * sends it again, some 200 ms later.  So a little later the kernel's account of
 * the connection (TCP_INFO) is read: whether all is acknowledged, since when,
 * and whether something was sent again.
 *
 * An acknowledgement alone says nothing: clients delay them.  A response is
 * late only if it was sent again, and not because the client acknowledged it
 * twice, or if the client's window was full for most of the time.
 *
 * Cost: a system call of some 0.4 us for each response, and one for each
 * connection that had a response in the last DELIVERY_LOOK_NS; nothing without
 * requests.  Proxy thread only. */
#pragma once

#include "proxy/client/clients.h"

#define DELIVERY_LOOK_NS (100 * NS_PER_MS)

/* The present response of a client was given to the kernel at written: watch
 * it, and call events->late if it is late.  A response before it on that
 * connection is watched no longer.
 *   place, request  given back to events->late */
void delivery_watch(
    struct client *c, struct instant written, void *place, uint64_t request);

/* A client is closed: watch it no longer. */
void delivery_forget(struct client *c);

/* At start. */
void delivery_init(struct clients *all);
void delivery_fini(struct clients *all);
