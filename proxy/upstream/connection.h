/* connection.h: one connection to a server, and the pool of them.
 *
 * A connection carries one request at a time and never pipelines.  Its user (an
 * attempt of a client's request, a health probe, a warm-up request) gives it an
 * outgoing message and gets the response through callbacks.  When the user
 * detaches, the connection drains: it reads the response to its end and throws
 * it away, because closing the connection does not stop the server's work and
 * makes the server's writes fail.
 *
 *   WAITING --> CONNECTING --> BUSY --> (complete) --> IDLE --> BUSY ...
 *      |             |          |  \
 *      |             |          |   detach --> DRAINING --> IDLE
 *      +-------------+----------+------------------+-----> closed
 *
 * A connection that a client authenticates (NTLM, Negotiate) is PRIVATE in
 * place of IDLE: it carries requests of that client, its owner, only.  When its
 * owner leaves, it is closed.
 *
 * On one machine connect() succeeds at once unless the server's backlog is
 * full.  Then Tailor tries again after 1 ms, 2 ms, ... up to 64 ms; the kernel
 * itself tries again only after a second.  One connection per server may be in
 * this state; the others are WAITING for their turn.  (Connections that are
 * begun together can all look open at our end although the backlog had only one
 * place; the server gets the others when the kernel sends our request again.)
 *
 * Proxy thread only.  After warm-up nothing is allocated: closed connections
 * are kept for the next connection. */
#pragma once

#include "proxy/upstream/upstream.h"

/* Get an idle connection to a server (most recently used first), or a new one.
 * A new one may be connected already (state BUSY; connected() is not called
 * then) or connect later.  A full backlog or a lack of descriptors is no error:
 * the connection is tried again until proxy.connect_timeout.
 * Returns 0, -ENOMEM, or the negative errno with which the server refused. */
int connection_get(struct server *server, const struct exchange_ops *ops,
    void *user, enum connection_reuse reuse, struct connection **out);

/* From now on until it is closed, u carries requests of one owner only.  At
 * most connections_max connections of a server rest, idle and private together;
 * beyond that the longest resting one is closed.  A new connection closes the
 * longest resting private one if private ones and requests in flight together
 * exceed connections_max.
 *   owner  the owner's pointer to its connection: set to u here, and to NULL
 *          when u is closed or its user detaches it.  If the pointer is set
 *          already, u is closed after its exchange. */
void connection_own(struct connection *u, struct connection **owner);

/* Get the owner's connection to a server, as connection_get does.  False if the
 * owner has none at rest; if the server has closed it, *owner is NULL now. */
bool connection_get_own(struct server *server, struct connection **owner,
    const struct exchange_ops *ops, void *user, struct connection **out);

/* End the exchange with EXCHANGE_TIMEOUT if it lasts limit_ns from now, or from
 * when it is connected.  For users without a deadline of their own.  Call it
 * between connection_get and exchange_send. */
void exchange_limit(struct connection *u, int64_t limit_ns);

/* Compare this exchange's response with that of the other side.  Call it after
 * connection_get, before any of the response was read. */
void exchange_compare(
    struct connection *u, struct response_diff *with, unsigned side);

/* Begin an exchange: the message is written, as far as the kernel takes it,
 * when the turn ends, or now if the message is urgent. */
void exchange_send(struct connection *u, const struct message *message,
    enum http_method method);

/* The response was 101: stream gets the client's bytes from now on.  ended: the
 * client sends no more. */
void exchange_tunnel(struct connection *u, struct chain *stream, bool ended);

/* More was appended to a tunnel's stream, or it has ended. */
void exchange_more(struct connection *u, bool ended);

/* Stop and resume reading (back-pressure). */
void connection_pause(struct connection *u);
void connection_resume(struct connection *u);

/* True if a client waits for the exchange. */
static inline bool
exchange_is_awaited(const struct connection *u)
{
	return u->ops != NULL && u->ops->awaited;
}

/* True if more of the body is about to be handed over, in this same event. */
static inline bool
exchange_reads_on(const struct connection *u)
{
	return u->reads_on && !u->body.done;
}

/* How many bytes of the request the server has taken.  Only the difference of
 * two values means something. */
uint64_t exchange_taken_bytes(const struct connection *u);

/* "timeout", ...  Static. */
const char *exchange_end_name(enum exchange_end end);

/* True if any byte of the request was handed to the kernel. */
bool exchange_written(const struct connection *u);

/* The user detaches: no more callbacks, and no pointer to the user is kept.
 * The connection drains; it is closed if nothing of the request was written,
 * too much is left to write, or the response has no end.
 *   unawaited  true if no client would wait for this response without hedging:
 *              the client has left, or this is the hedge's response */
void exchange_detach(struct connection *u, uint64_t request_id, bool unawaited);

/* Close a connection now, without a callback. */
void connection_close(struct connection *u);

/* End all exchanges of a server, also those that drain, with EXCHANGE_TIMEOUT.
 * Returns how many. */
unsigned connection_cut_all(struct server *server, const char *why);

/* Note how long the server has kept its longest idle connection open, if it
 * served for a second of that time (reuse.served_ns): while it pauses it closes
 * no connection.
 *   steady  since when each check has found new bytes from the server */
void
connection_prove(struct server *s, struct instant steady, struct instant now);

/* True if a server lately left a new connection waiting beside idle ones: it
 * has one worker per connection, and few of them.  Tailor then keeps no idle
 * connections to that server. */
bool connection_starves(const struct server *s, struct instant now);

/* Close all idle, or all resting private, connections of a server (its process
 * has gone). */
void connection_close_idle(struct server *server);
void connection_close_private(struct server *server);

/* Begin without connections; close and free all of them. */
void connection_pool_init(struct server *s);
void connection_pool_fini(struct server *s);
