/* exchange.h: what connection.c and exchange.c share.
 *
 * A connection is a connection; an exchange is the one request and response
 * under way on it.  connection.c opens, pools, drains and closes connections;
 * exchange.c writes the request and reads the response; connect.c and reuse.c
 * are connection.c's.  Private to them. */
#pragma once

#include "proxy/upstream/upstream.h"

/* Register or drop an event of the socket; does nothing if it is so. */
void connection_want_read(struct connection *u, bool want);
void connection_want_write(struct connection *u, bool want);

/* The exchange is over: release the connection, then call the user.  u may
 * carry another exchange on return. */
void
exchange_over(struct connection *u, enum exchange_end end, const char *why);

/* Write as much of the request as the kernel takes.  Callbacks as above. */
void exchange_write(struct connection *u);

/* The connection is gone: end the exchange by what has been received of it.
 * A reset (not orderly) may have lost bytes: it ends nothing that ends with
 * its connection.  Likewise. */
void exchange_lost(struct connection *u, bool orderly, const char *why);

/* The socket is readable: read and act on it.  Likewise. */
void exchange_read(struct connection *u);

/* --- which idle ones may be used again (reuse.c) ----------------------- */

/* True if a server lately closed a connection that was hardly idle. */
bool reuse_closes_early(const struct server *s, struct instant now);

/* True if u is as REUSE_PROVEN wants, but for a look at its socket. */
bool reuse_is_proven(const struct connection *u, struct instant now);

/* Learn how long a server keeps idle connections from one, u, that it was seen
 * to have closed; u had rested, or would have, until then. */
void reuse_closed(const struct connection *u, struct instant then);

/* How many idle connections a server is left with, to show how long it keeps
 * them: one, or none if the server needs the worker that waits on it. */
unsigned reuse_may_rest(const struct server *s, struct instant now);

/* --- making a connection (connect.c) ----------------------------------- */

/* Try once to connect u.  0: connected (BUSY), or to be tried again; else the
 * errno with which the server refused. */
int connect_try(struct connection *u);

/* Go on with a connection in state CONNECTING whose socket is writable, or
 * whose timer fires.  Calls its user; u may be gone afterwards. */
void connect_writable(struct connection *u);
void connect_timer(struct connection *u, bool forced);

/* Give the turn to connect to those of a server that wait for it. */
void connect_next(void *server);

/* In connection.c: into another state's list; no socket any more; a new
 * socket's events; a limit from now on. */
void connection_move(struct connection *u, enum connection_state state);
void connection_shut(struct connection *u);
void connection_watch(struct connection *u);
void connection_arm(struct connection *u, int64_t timeout_ns);

/* From now on u carries requests of one user only, whom it authenticates. */
void connection_make_private(struct connection *u);

/* True if no exchange is under way on u. */
static inline bool
connection_rests(const struct connection *u)
{
	return u->state == CONNECTION_IDLE || u->state == CONNECTION_PRIVATE;
}
