/* peer.h: who is at the other end of a client's connection.
 *
 * Turns a socket's address (or that of a PROXY header) into text and
 * permissions, and counts connections and half-open requests by address, so
 * that one address cannot take all there are.  An IPv6 client can have any
 * address of its /64, so those count together.  Not counted are clients on
 * Unix sockets, let in by the socket's mode, and trusted ones: a proxy comes
 * from one address for many clients (unless a PROXY header names each; those
 * that it does not name count together).
 *
 * Cost: one hashed look-up for each connection; memory for as many addresses
 * as were ever connected at once.  Proxy thread only. */
#pragma once

#include <netinet/in.h>

#include "config/config.h"
#include "http/http.h"

/* Connections of one address. */
struct peer_count {
	struct peer_count *next; /* in the bucket, or free */
	uint64_t key[2];
	unsigned connections;
	unsigned half_open; /* of those, with a request that is not whole */
};

struct peer_table {
	struct peer_count **bucket; /* owned */
	struct peer_count *unused;  /* owned */
	unsigned mask;
	unsigned addresses; /* with a connection now */
	uint64_t seed[2];   /* clients cannot choose addresses that collide */
};

struct peer {
	char address[INET6_ADDRSTRLEN + 8]; /* "unix", "unknown" */
	bool local;			    /* on a Unix socket */
	bool trusted;	   /* in proxy.trust: it forwards for others */
	bool tale_allowed; /* in talechain.allow */
	bool exempt;	   /* on this machine: from limits by address */
	uint64_t key[2];   /* see peer_enter */
};

/* Describe the peer with that address by the lists of the configuration, in
 * which "unix" stands for those on Unix sockets.  One of another family is
 * "unknown" and in none. */
void peer_describe(const struct config *c,
    const struct sockaddr_storage *address, struct peer *out);

/* 0 or -errno.  connections_max only sets the size of the table. */
int peer_table_init(struct peer_table *t, unsigned connections_max);
void peer_table_fini(struct peer_table *t);

/* One more connection of that address.  Returns its count, or NULL for a local
 * or trusted peer and out of memory (it is not counted then). */
struct peer_count *peer_enter(struct peer_table *t, const struct peer *peer);

/* One less.  NULL is allowed; count is not valid any more. */
void peer_leave(struct peer_table *t, struct peer_count *count);

/* The client that a request of that peer is for.  Of a trusted peer it is the
 * last entry of X-Forwarded-For that is not in proxy.trust, or the first one
 * if all are; what stands before that was written by a client.  An entry may
 * have a port; one that is no address is a client "unknown" without rights.
 * Without such a field, and of all other peers, it is the peer.
 * Cost: reads one address for each proxy in front. */
void origin_find(const struct config *c, const struct peer *peer,
    const struct http_head *head, struct peer *out);
