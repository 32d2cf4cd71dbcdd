/* peer.h: the peer of a client's connection: address, permissions, counts.
 *
 * Turns a socket's address (or that of a PROXY header) into text and
 * permissions, and counts connections and half-open requests by address, so
 * that one address cannot take all connections.  An IPv6 client can use any
 * address of its /64, so these count together.  Clients on Unix sockets are not
 * counted, as the socket's mode admits them, nor are trusted peers: a proxy in
 * front connects from one address for many clients.  If PROXY headers name the
 * clients, these are counted; those without a name count together.
 *
 * Cost: one hash look-up per connection; memory for the most addresses that
 * were ever connected at once.  Proxy thread only. */
#pragma once

#include <netinet/in.h>

#include "config/config.h"
#include "http/http.h"

/* Connections of one address. */
struct peer_count {
	struct peer_count *next; /* in the bucket, or free */
	uint64_t key[2];
	unsigned connections;
	unsigned half_open; /* connections whose request is not whole */
};

struct peer_table {
	struct peer_count **bucket; /* owned */
	struct peer_count *unused;  /* owned */
	unsigned mask;
	unsigned addresses; /* that have a connection now */
	uint64_t seed[2];   /* random: clients cannot cause collisions */
};

struct peer {
	char address[INET6_ADDRSTRLEN + 8]; /* "unix", "unknown" */
	bool local;			    /* on a Unix socket */
	bool trusted;	   /* in proxy.trusted_proxies: a proxy in front */
	bool tale_allowed; /* in talechain.allow */
	bool exempt;	   /* no limits by address: on this machine */
	uint64_t key[2];   /* see peer_enter */
};

/* Describe the peer with that address by the lists of the configuration, in
 * which "unix" stands for peers on Unix sockets.  A peer of another address
 * family is "unknown" and in no list. */
void peer_describe(const struct config *c,
    const struct sockaddr_storage *address, struct peer *out);

/* 0 or -errno.  connections_max only sets the size of the table. */
int peer_table_init(struct peer_table *t, unsigned connections_max);
void peer_table_fini(struct peer_table *t);

/* Count one more connection of a peer.  Returns its address's count; NULL, and
 * nothing is counted, for a local or trusted peer or out of memory. */
struct peer_count *peer_enter(struct peer_table *t, const struct peer *peer);

/* Count one connection less; count is not valid afterwards.  count may be NULL.
 */
void peer_leave(struct peer_table *t, struct peer_count *count);

/* Write the client for which a peer sent a request to *out: the peer itself,
 * unless that is trusted and sent X-Forwarded-For.  Then it is the last entry
 * that is not in proxy.trusted_proxies, or the first if all are; earlier
 * entries are ignored, as a client may have written them.  An entry may have a
 * port; one that is no address makes the client "unknown", without rights.
 * Cost: parses one address for each proxy in front. */
void origin_find(const struct config *c, const struct peer *peer,
    const struct http_head *head, struct peer *out);
