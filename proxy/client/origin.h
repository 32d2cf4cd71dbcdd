/*
 * origin.h: the client that a request is for.
 *
 * A peer in proxy.trust is a proxy: it says in X-Forwarded-For for whom it
 * asks.  Its word counts for rights and logs; that of any other peer does not.
 */
#ifndef TAILOR_PROXY_CLIENT_ORIGIN_H
#define TAILOR_PROXY_CLIENT_ORIGIN_H

#include "config/config.h"
#include "http/http.h"
#include "proxy/client/peer.h"

/*
 * The client that a request of that peer is for.  Of a trusted peer it is the
 * last entry of X-Forwarded-For that is not in proxy.trust, or the first one
 * if all are; what stands before that was written by a client.  An entry may
 * have a port; one that is no address is a client "unknown" without rights.
 * Without such a field, and of all other peers, it is the peer.
 * Cost: reads one address for each proxy in front.
 */
void origin_find(const struct config *c, const struct peer *peer,
    const struct http_head *head, struct peer *out);

#endif
