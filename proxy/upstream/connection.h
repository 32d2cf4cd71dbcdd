/*
 * connection.h: one connection to a server, and the pool of them.
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
 * On one machine a connection is made within connect(), or the server's
 * backlog is full.  Then it is tried again after a millisecond, and up to 64:
 * the kernel alone would try after a second.  One connection of a server may
 * be under way like that; the others are WAITING for their turn.  (Of several
 * that are let in together as the last places of a backlog, all but one are
 * open at our end only, until the kernel has sent our request again.)
 *
 * Proxy thread only.  After warm-up nothing is allocated: closed connections are
 * kept for the next connection.
 */
#ifndef TAILOR_PROXY_UPSTREAM_CONNECTION_H
#define TAILOR_PROXY_UPSTREAM_CONNECTION_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "base/instant.h"
#include "proxy/net/buffer.h"
#include "http/http.h"
#include "proxy/net/loop.h"
#include "proxy/net/message.h"

struct comparison;
struct server;
struct upstream;
struct connection;

enum connection_state {
	CONNECTION_WAITING, /* for its turn to connect */
	CONNECTION_CONNECTING,
	CONNECTION_BUSY,
	CONNECTION_DRAINING,
	CONNECTION_IDLE,
};

/* How an exchange came to its end. */
enum exchange_end {
	EXCHANGE_COMPLETE,   /* a whole response */
	EXCHANGE_LIMITED,    /* hedging.drain_max of one that nobody takes */
	EXCHANGE_REFUSED,    /* no connection: nothing was sent */
	EXCHANGE_UNANSWERED, /* connection lost before any response byte */
	EXCHANGE_CUT,	     /* connection lost in the response */
	EXCHANGE_MALFORMED,  /* not a response the gate lets pass */
	EXCHANGE_TIMEOUT,    /* connect, drain or a warm-up took too long */
};

/* Which idle connection will do.  Those that are checked first cost a system
 * call. */
enum connection_reuse {
	REUSE_ANY,
	REUSE_CHECKED, /* nothing has arrived on it, nor its end */
	REUSE_PROVEN,  /* checked, used within the last second, of a
			       * server that closes none early: it is not
			       * about to be closed */
	REUSE_NONE,
};

/* Whether there was a response, for users that take none of its body: its head
 * is what counts. */
static inline bool
exchange_answered(enum exchange_end end)
{
	return end == EXCHANGE_COMPLETE || end == EXCHANGE_LIMITED;
}

/* What the user of an exchange is told at its end. */
struct exchange_result {
	void *user;
	struct server *server;
	enum exchange_end end;
	const char *why; /* short token, static */
	bool written;	 /* a byte of the request was handed to the kernel */
	bool reused;	 /* it was not the first exchange of its connection */
	struct instant written_first;
};

struct exchange_ops {
	bool awaited; /* a client waits: not one of Tailor's own exchanges */
	/* A new connection has been made (may be NULL). */
	void (*connected)(struct connection *u);
	/* The response's head; its slices are valid during the call only.
	 * The callee may detach or close u. */
	void (*head)(struct connection *u, const struct http_head *head);
	/* An interim response (1xx but 101); likewise.  May be NULL. */
	void (*interim)(struct connection *u, const struct http_head *head);
	/* Payload; what is left in *data afterwards is dropped.  The callee
	 * may detach or close u. */
	void (*data)(struct connection *u, struct chain *data);
	/* What was read in a row has been handed over.  May be NULL. */
	void (*rest)(struct connection *u);
	/* The trailer lines of a body that is whole now, if there are any and
	 * the message asked for them.  May be NULL. */
	void (*trailers)(struct connection *u, struct slice lines);
	/* All of the request has been given to the kernel. */
	void (*sent)(struct connection *u);
	/* Some of a tunnel's stream has been given to the kernel. */
	void (*wrote)(struct connection *u);
	/* Over.  The connection has already gone back to the pool or been closed:
	 * the user must forget it. */
	void (*end)(const struct exchange_result *result);
};

struct connection {
	TAILQ_ENTRY(connection) link; /* in the server's list of its state */
	struct work write;
	struct upstream *upstream; /* borrowed */
	struct server *server;	   /* borrowed */
	int fd;			   /* owned */
	uint64_t cookie;	   /* of the socket, 0: none */
	struct instant opened;	   /* when it began to wait for a connection */
	struct instant rested;	   /* when it became idle */
	unsigned tries;		   /* to connect */
	enum connection_state state;
	struct event readable, writable;
	struct timer timer;
	bool reading, writing; /* events registered */
	unsigned exchanges;    /* begun on this connection */
	unsigned serial;       /* changes when an exchange is forgotten */
	bool keep_alive;       /* the server will keep it after this one */

	/* the user */
	const struct exchange_ops *ops;
	void *user;
	int64_t limit_ns; /* of the exchange, once connected; 0: none */

	/* the request */
	struct message out;
	bool sent_all;
	struct instant written_first, written_last;

	/* the response */
	enum http_method method;
	struct block *in; /* owned */
	size_t scanned;
	bool head_seen;
	bool wide;	   /* the last read filled a block: read several */
	unsigned interims; /* 1xx heads so far */
	uint64_t received_bytes;
	bool filled;   /* the last read took all there was room for */
	bool reads_on; /* and the next one follows at once */
	struct http_body body;
	struct block *trailers; /* owned; NULL: not wanted */
	struct instant first_byte;

	struct comparison *compared; /* owned; NULL: nothing to compare with */
	unsigned side;		     /* in it */

	/* draining */
	uint64_t drained_bytes;
	uint64_t loser_of;    /* request id, for the log */
	struct instant raced; /* when the winner was complete */
	bool client_left;
};

TAILQ_HEAD(connection_list, connection);

/*
 * connection_get(server, ops, user, reuse, out):
 * An idle connection to a server (most recently used first), or a new one,
 * which may be connected already (state BUSY; connected() is not called then)
 * or be so later.  Neither a full backlog nor a lack of descriptors is an
 * error: it is tried again until proxy.connect_timeout.
 * Returns 0, -ENOMEM, or the negative errno with which the server refused.
 */
int connection_get(struct server *server, const struct exchange_ops *ops,
    void *user, enum connection_reuse reuse, struct connection **out);

/*
 * From now on the exchange may last so long; then it ends with TIMEOUT.  For
 * users that have no deadline of their own.  Between connection_get and _send.
 */
void exchange_limit(struct connection *u, int64_t limit_ns);

/* The response is to be compared with another one: it is this side's.  After
 * connection_get, before any of it was read. */
void
exchange_compare(struct connection *u, struct comparison *with, unsigned side);

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

/* Whether a client waits for the exchange. */
static inline bool
exchange_is_awaited(const struct connection *u)
{
	return u->ops != NULL && u->ops->awaited;
}

/* Whether more of the body is about to be handed over, in this same event. */
static inline bool
exchange_reads_on(const struct connection *u)
{
	return u->reads_on && !u->body.done;
}

/* How much of the request the server has taken; only differences mean
 * something. */
uint64_t exchange_taken_bytes(const struct connection *u);

/* Whether any byte of the request was handed to the kernel. */
bool exchange_written(const struct connection *u);

/*
 * The user has no more interest.  Drains what was written, drops what was
 * not; callbacks are not called any more, and nothing of the user's is
 * referred to any more.
 */
void
exchange_detach(struct connection *u, uint64_t request_id, bool client_left);

/* Close at once, without callback. */
void connection_close(struct connection *u);

/* End all exchanges of a server, those that drain too, as if they had taken
 * too long; how many. */
unsigned connection_cut_all(struct server *server, const char *why);

/* Whether a server has lately left a new connection waiting while it had idle
 * ones: it has a worker for each, and few of them.  It keeps none then. */
bool connection_starves(const struct server *s, struct instant now);

/* Close all idle connections of a server (its process has gone). */
void connection_close_idle(struct server *server);

/* The connections of a server: none yet, and all closed and freed. */
void connection_pool_init(struct server *s);
void connection_pool_fini(struct server *s);

#endif
