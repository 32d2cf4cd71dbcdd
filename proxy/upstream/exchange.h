/* exchange.h: what connection.c and exchange.c share.
 *
 * An exchange is the request and response under way on a connection.
 * connection.c pools, drains and closes connections, with the help of connect.c
 * and reuse.c; exchange.c writes requests and reads responses.  Private to
 * these four files. */
#pragma once

#include "proxy/upstream/upstream.h"

/* Register or remove an event of the socket, unless that is done already. */
void connection_want_read(struct connection *u, bool want);
void connection_want_write(struct connection *u, bool want);

/* The exchange is over: release the connection, then call the user.  u may
 * carry another exchange on return. */
void
exchange_over(struct connection *u, enum exchange_end end, const char *why);

/* Write as much of the request as the kernel takes.  May end the exchange, as
 * exchange_over. */
void exchange_write(struct connection *u);

/* The connection is lost: end the exchange as the bytes received so far say.
 * A response that ends with its connection is complete only if the loss is
 * orderly; a reset may have lost bytes.  As exchange_over. */
void exchange_lost(struct connection *u, bool orderly, const char *why);

/* The socket is readable: read, and pass on what came.  May end the exchange,
 * as exchange_over. */
void exchange_read(struct connection *u);

/* --- which idle connections may be used again (reuse.c) ---------------- */

/* True if a server lately closed a connection that was hardly idle. */
bool reuse_closes_early(const struct server *s, struct instant now);

/* True if u meets REUSE_PROVEN, except that its socket is not checked here. */
bool reuse_is_proven(const struct connection *u, struct instant now);

/* The server closed connection u: learn from it how long the server keeps idle
 * connections.
 *   then  the end of u's rest: when that was seen, or when u was used */
void reuse_closed(const struct connection *u, struct instant then);

/* How many idle connections to leave open, so that they show how long the
 * server keeps them: 1; 0 if that is known already, or if the server needs the
 * worker that waits on it. */
unsigned reuse_may_rest(const struct server *s, struct instant now);

/* --- making a connection (connect.c) ----------------------------------- */

/* Try once to connect u.  0: connected (BUSY), or to be tried again; else the
 * errno with which the server refused. */
int connect_try(struct connection *u);

/* Go on with a connection in state CONNECTING whose socket is writable, or
 * whose timer fires.  Calls its user; u may be gone afterwards. */
void connect_writable(struct connection *u);
void connect_timer(struct connection *u, bool forced);

/* Begin to connect the WAITING connections of a server (struct server *), one
 * after the other, until one is under way. */
void connect_next(void *server);

/* Functions of connection.c: move u into the list of a state; close its socket;
 * prepare the events of a new socket; set u's timer. */
void connection_move(struct connection *u, enum connection_state state);
void connection_shut(struct connection *u);
void connection_watch(struct connection *u);
void connection_arm(struct connection *u, int64_t timeout_ns);

/* From now on u carries requests of one client only, as the server has
 * authenticated that client on it. */
void connection_make_private(struct connection *u);

/* True if no exchange is under way on u. */
static inline bool
connection_rests(const struct connection *u)
{
	return u->state == CONNECTION_IDLE || u->state == CONNECTION_PRIVATE;
}
