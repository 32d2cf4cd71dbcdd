/* connection.h: one connection to a server, and the pool of them.
 *
 * A connection carries one request at a time and never pipelines.  Its user (an
 * attempt of a client's request, a health probe, a warm-up request) hands it
 * an outgoing message and learns through callbacks what came back.  When the
 * user loses interest the connection drains: it goes on reading the response to
 * its end and throws it away, because closing would not stop the server's
 * work and would make its writes fail.
 *
 *   WAITING --> CONNECTING --> BUSY --> (complete) --> IDLE --> BUSY ...
 *      |             |          |  \
 *      |             |          |   detach --> DRAINING --> IDLE
 *      +-------------+----------+------------------+-----> closed
 *
 * A connection that a client has authenticated (NTLM, Negotiate), or is about
 * to, is PRIVATE in place of IDLE: it has an owner and carries no request but
 * his, and without an owner it is closed.
 *
 * On one machine a connection is made within connect(), or the server's
 * backlog is full.  Then it is tried again after a millisecond, and up to 64:
 * the kernel alone would try after a second.  One connection of a server may
 * be under way like that; the others are WAITING for their turn.  (Of several
 * that are let in together as the last places of a backlog, all but one are
 * open at our end only, until the kernel has sent our request again.)
 *
 * Proxy thread only.  After warm-up nothing is allocated: closed connections
 * are kept for the next connection. */
#pragma once

#include "proxy/upstream/upstream.h"

/* An idle connection to a server (most recently used first), or a new one,
 * which may be connected already (state BUSY; connected() is not called then)
 * or be so later.  Neither a full backlog nor a lack of descriptors is an
 * error: it is tried again until proxy.connect_timeout.
 * Returns 0, -ENOMEM, or the negative errno with which the server refused. */
int connection_get(struct server *server, const struct exchange_ops *ops,
    void *user, enum connection_reuse reuse, struct connection **out);

/* The connection carries requests of one owner only, from now on until it is
 * closed.  Each server has connections_max that rest, private ones and others:
 * with more the one that has rested longest is closed.  So is a private one if
 * with them and the requests in flight a new connection would be beyond that.
 *   owner  where the owner keeps the one that he has, which stays valid until
 *          it is NULL again: the connection is closed, or its user has detached
 *          it.  Of an owner who has one already this one is closed after its
 *          exchange. */
void connection_own(struct connection *u, struct connection **owner);

/* The owner's connection to a server, as connection_get gives one.  False:
 * there is none that rests; if the server has closed it, *owner is NULL now. */
bool connection_get_own(struct server *server, struct connection **owner,
    const struct exchange_ops *ops, void *user, struct connection **out);

/* From now on the exchange may last so long; then it ends with TIMEOUT.  For
 * users that have no deadline of their own.  Between connection_get and
 * _send. */
void exchange_limit(struct connection *u, int64_t limit_ns);

/* The response is to be compared with another one: it is this side's.  After
 * connection_get, before any of it was read. */
void exchange_compare(
    struct connection *u, struct response_diff *with, unsigned side);

/* Begin an exchange; the message is written as far as possible when the turn
 * ends, at once if it is urgent. */
void exchange_send(struct connection *u, const struct message *message,
    enum http_method method);

/* The answer was 101: stream is what the client sends from now on. */
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

/* How much of the request the server has taken; only differences mean
 * something. */
uint64_t exchange_taken_bytes(const struct connection *u);

/* "timeout", ...  Static. */
const char *exchange_end_name(enum exchange_end end);

/* True if any byte of the request was handed to the kernel. */
bool exchange_written(const struct connection *u);

/* The user has no more interest.  Drains what was written, drops what was not;
 * callbacks are not called any more, and nothing of the user's is referred to
 * any more.
 *   unawaited  without hedging no client would wait for this response: it has
 *              left, or this is the hedge */
void exchange_detach(struct connection *u, uint64_t request_id, bool unawaited);

/* Close at once, without callback. */
void connection_close(struct connection *u);

/* End all exchanges of a server, those that drain too, as if they had taken
 * too long; how many. */
unsigned connection_cut_all(struct server *server, const char *why);

/* Note for how long it has kept an idle one, if in that time it served for a
 * second (reuse.served_ns): one that pauses closes none.
 *   steady  it has sent something all the time since */
void
connection_prove(struct server *s, struct instant steady, struct instant now);

/* True if a server has lately left a new connection waiting while it had idle
 * ones: it has a worker for each, and few of them.  It keeps none then. */
bool connection_starves(const struct server *s, struct instant now);

/* Close all idle, or all resting private, connections of a server (its process
 * has gone). */
void connection_close_idle(struct server *server);
void connection_close_private(struct server *server);

/* The connections of a server: none yet, and all closed and freed. */
void connection_pool_init(struct server *s);
void connection_pool_fini(struct server *s);
