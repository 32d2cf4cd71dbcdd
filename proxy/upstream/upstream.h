/* upstream.h: the servers of the service: their connections, exchanges on them,
 * their health, and taking them out of service and back.
 *
 * The room above hands it messages (connection.h) and carries out what the
 * policy wants when a server's state changes.  It knows neither clients nor
 * requests: what it needs of them it asks through struct upstream_events.
 * Proxy thread only. */
#pragma once

#include "config/generation.h"
#include "hedging/hedging.h"
#include "proxy/net/loop.h"
#include "proxy/net/message.h"
#include "proxy/stats/distribution.h"
#include "proxy/stats/gain.h"
#include "proxy/stats/recent.h"
#include "proxy/upstream/replay.h"

struct response_diff;
struct server;
struct upstream;
struct connection;

/* Of a response that is read to keep its connection: a loser's, a copy's, a
 * health check's.  Above that a new connection is cheaper. */
#define DRAIN_BYTES_MAX (1U << 20)
/* Connections of one server that wait for losers: several times what is in
 * flight when a pause begins.  With more the oldest is closed. */
#define DRAIN_CONNECTIONS_MAX 256

enum connection_state {
	CONNECTION_WAITING, /* for its turn to connect */
	CONNECTION_CONNECTING,
	CONNECTION_BUSY,
	CONNECTION_DRAINING,
	CONNECTION_IDLE,
	CONNECTION_PRIVATE, /* idle, for its owner's next request */
};

/* How an exchange came to its end. */
enum exchange_end {
	EXCHANGE_COMPLETE,   /* a whole response */
	EXCHANGE_LIMITED,    /* DRAIN_BYTES_MAX of what is thrown away */
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
	REUSE_PROVEN,  /* checked, and it has rested for less than half as
			* long as its server is known to keep idle ones: it
			* is not about to be closed */
	REUSE_NONE,
};

/* True if there was a response, for users that take none of its body: its head
 * is what counts. */
static inline bool
exchange_answered(enum exchange_end end)
{
	return end == EXCHANGE_COMPLETE || end == EXCHANGE_LIMITED;
}

/* The end of an exchange, for its user. */
struct exchange_result {
	void *user;
	struct server *server;
	enum exchange_end end;
	const char *why; /* short token, static */
	bool kept;	 /* the connection rests now, to be used again */
	bool written;	 /* a byte of the request was handed to the kernel */
	bool reused;	 /* it was not the first exchange of its connection */
	struct instant written_first;
};

/* The result of a probe or health check. */
enum health_result {
	HEALTH_NONE, /* there was none yet */
	HEALTH_OK,
	HEALTH_STATUS,	  /* a response with another status */
	HEALTH_REFUSED,	  /* no connection */
	HEALTH_CLOSED,	  /* connection lost before the response's end */
	HEALTH_MALFORMED, /* not a response */
	HEALTH_TIMEOUT,	  /* longer than health_timeout */
	HEALTH_RESULT_COUNT,
};

struct exchange_ops {
	bool awaited; /* a client waits: not one of Tailor's own exchanges */
	/* A new connection has been made (may be NULL). */
	void (*connected)(struct connection *u);
	bool
	    once; /* its connection is closed afterwards: see server_send_get */
	/* The response's head; its slices are valid during the call only.
	 * The callee may detach or close u. */
	void (*head)(struct connection *u, const struct http_head *head);
	/* An interim response (1xx but 101); likewise.  May be NULL. */
	void (*interim)(struct connection *u, const struct http_head *head);
	/* Payload; what is left in *data afterwards is dropped.  The callee
	 * may detach or close u. */
	void (*data)(struct connection *u, struct chain *data);
	/* All that was read in a row has been handed over.  May be NULL. */
	void (*rest)(struct connection *u);
	/* The trailer lines of a body that is whole now, if there are any and
	 * the message asked for them.  May be NULL. */
	void (*trailers)(struct connection *u, struct slice lines);
	/* All of the request has been given to the kernel. */
	void (*sent)(struct connection *u);
	/* Some of a tunnel's stream has been given to the kernel. */
	void (*wrote)(struct connection *u);
	/* Over.  The connection has already gone back to the pool or been
	 * closed: the user must forget it. */
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
	int64_t rested_served_ns;  /* reuse.served_ns then */
	unsigned tries;		   /* to connect */
	bool turned;		   /* to the server's other address */
	enum connection_state state;
	struct event readable, writable;
	struct timer timer;
	bool reading, writing; /* events registered */
	unsigned exchanges;    /* begun on this connection */
	unsigned serial;       /* changes when an exchange is forgotten */
	bool keep_alive;       /* the server will keep it after this one */
	unsigned moves;	       /* of the server, when it was opened */
	int64_t said_ns;       /* for so long, it said; 0: it did not */

	/* see connection_own() */
	bool private;
	struct connection **owner; /* borrowed from him; NULL: none */

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
	bool has_body;	  /* its request */
	bool last;	  /* which may be unread: none follows */
	bool endless;	  /* a stream's: never read to its end */
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

	struct response_diff
	    *compared; /* owned; NULL: nothing to compare with */
	unsigned side; /* in it */

	/* draining */
	uint64_t drained_bytes;
	uint64_t loser_of;    /* request id, for the log */
	struct instant raced; /* when the winner was complete */
	bool unawaited;	      /* see exchange_detach() */
};

/* Connections, linked by connection.link. */
TAILQ_HEAD(connection_list, connection);

/* When a server sent something last (silence.c). */
struct silence {
	uint64_t reads;	       /* seen at the last look */
	struct instant since;  /* when the present silence began */
	struct instant steady; /* since when each look found something new */
	struct instant looked;
	bool awaited; /* a request waited at the last look */
	bool asked;   /* in this silence, and not answered yet */
	struct instant asked_at;
	int64_t longest_ns[2]; /* of this window and the one before */
	struct instant window;
};

#define RESTART_DELAY_NS (100 * NS_PER_MS) /* doubled while it dies at once */
#define GET_BYTES 640 /* of a GET of Tailor's own: target, host, and the rest */
#define WARMUPS_MAX 64 /* warm-up requests under way at once */

enum child_state {
	CHILD_NONE, /* not launched by us */
	CHILD_RUNNING,
	CHILD_STOPPING, /* SIGTERM was sent */
	CHILD_WAITING,	/* ended; restarted when restart_timer fires */
};

/* A server out of service and back, as an operator wants (maintenance.c):
 *
 *   IN_SERVICE --drain--> DRAIN_PENDING --other active--> DRAINING
 *     ^   ^                    |                            |   |
 *     |   +------ready---------+         ready              | idle
 *     |                              +----------------------+   |
 *     +--- warm --- STARTING <-------+-----ready----- OUT_OF_SERVICE
 *                     ^                                         |
 *                     +--- exited --- STOPPING <---- restart ---+
 *
 * From DRAINING to STOPPING the policy takes it for down. */
enum maintenance {
	IN_SERVICE,
	DRAIN_PENDING,	/* to be drained; still active */
	DRAINING,	/* gets nothing new; its requests finish */
	OUT_OF_SERVICE, /* at rest */
	STOPPING,	/* its process gets SIGTERM */
	STARTING,	/* on its way back: connecting, warming up */
};

/* Connections in one state. */
struct pool {
	struct connection_list list;
	unsigned count;
};

/* Tailor-Heap of a server's latest response. */
struct server_heap {
	struct instant seen; /* none: it says nothing */
	uint64_t used, full; /* bytes; full: where it would collect */
	uint64_t collections;
	uint64_t live; /* used right after the latest; 0: none was seen */
};

struct server {
	struct upstream *upstream; /* borrowed */
	/* In a generation that is held; NULL: there is no server here. */
	const struct config_server *config;
	struct generation *generation;
	unsigned index;
	unsigned moves; /* to another address */

	struct { /* what takes its place when it has been drained */
		bool due;
		const struct config_server *config; /* of the newest
						     * generation; NULL: none */
	} next;

	/* its connections, by state */
	struct work connect; /* give a turn to one that waits */
	struct pool waiting, connecting, idle, busy, draining, private;
	struct connection_list unused;
	unsigned connections; /* structs made */

	struct { /* before it is in service: does it respond? (server.c) */
		struct timer timer;
		struct connection *link; /* running, or NULL */
		char text[GET_BYTES];	 /* up to its last, empty line */
		size_t length;		 /* 0: connecting is enough */
		unsigned status;	 /* of the running probe */
		unsigned good;		 /* in a row, so far */
	} probe;
	unsigned refusals; /* of connections, in a row */
	bool at_other;	   /* of localhost: the last that listened was ::1 */

	struct { /* the latest probe or health check */
		enum health_result result;
		unsigned status; /* 0: no response */
		/* and the latest that failed as a probe, in the log */
		enum health_result logged;
		unsigned logged_status;
		struct instant logged_at;
	} checked;

	struct { /* in service (health.c) */
		struct timer timer;
		struct connection *link; /* running, or NULL */
		struct instant begun;
		unsigned status;
		unsigned failing; /* in a row */
		bool last_kept;	  /* logged that it stays although it fails */
		bool in_pause;	  /* it began while the other server paused */
		bool as_pause_began;	    /* and as that was noticed */
		unsigned in_pauses;	    /* such ones of the last pause */
		struct gain_checks lengths; /* in watch mode */
	} health;

	struct { /* made to collect by a request (collect.c) */
		struct timer timer;
		struct connection *link; /* running, or NULL */
		char text[GET_BYTES];
		unsigned status;
	} collect;

	struct server_heap heap; /* as its responses say; see collect.c */
	uint64_t heap_malformed;
	struct instant heap_logged; /* the latest of those */

	struct silence silence; /* whether it responds at all */
	uint64_t reads;		/* that brought something */
	bool asking;		/* a probe of a request is under way */
	struct instant asked;	/* when the last one ended */

	struct {		   /* how it treats connections that are kept */
		bool keeps_alive;  /* by its latest response */
		int64_t served_ns; /* it sent something all that time */
		struct instant proven; /* it kept an idle one for a second */
		int64_t kept_ns;   /* the longest rest of one so far, in which
				    * it was seen to serve; 0: none */
		int64_t closed_ns; /* the shortest after which it closed one,
				    * of a second or more; 0: none */
		struct instant ended; /* it said, unasked, that one ends */
		struct instant closed_early; /* one that was hardly idle */
		struct instant closed_soon;  /* or sooner than expected */
		struct instant starved; /* a new one waited beside idle ones */
	} reuse;

	struct {	      /* connections kept for a swap (standby.c) */
		bool doubted; /* it ended an idle connection */
		struct instant knocked;	   /* one was opened only to see */
		struct instant kept;	   /* one was opened last */
		struct instant keep_again; /* not before */
		unsigned keeping;	   /* being opened */
	} standby;

	struct {
		enum maintenance stage;
		bool restarting;
		bool second; /* to be replaced once the other one has been */
		struct instant since;	   /* of the drain or restart */
		struct instant wait_until; /* for the other's collection */
		struct instant cut_at;	   /* of a drain; none: never */
	} maintenance;
	enum server_state state_logged; /* as last seen by the tick */
	bool failing_logged;
	struct instant state_since, warming_since;

	struct {
		struct timer timer;
		struct warmup *of;    /* owned, WARMUPS_MAX */
		unsigned replay_next; /* position in the replay table */
	} warmup;

	struct { /* started by us (daemon/supervisor.c) */
		enum child_state state;
		pid_t pid;   /* 0 none */
		int pidfd;   /* owned, -1 none */
		pid_t group; /* it and what it started; 0: none is left */
		bool again;  /* STOPPING only what outlived it */
		struct event ended;
		struct timer restart_timer, kill_timer, group_timer;
		struct instant launched;
		int64_t restart_delay_ns; /* grows while it ends at once */
		unsigned quick_ends;	  /* in a row, soon after a start */
		char last_end[20];	  /* like "status 127" */
	} program;

	/* statistics */
	uint64_t attempts, connects, connects_again, reuses, stale, restarts;
	uint64_t errors[EXCHANGE_TIMEOUT + 1];
	/* The latest of them, and of responses with 5xx: its status, or 0. */
	enum exchange_end erred;
	unsigned erred_status;
	uint64_t extra_bytes;
	uint64_t unread_bodies;	    /* connections not used again for .last */
	uint64_t privates;	    /* connections that became one client's */
	uint64_t privates_given_up; /* closed though their client stays */
	uint64_t drain_cuts;	    /* exchanges cut at drain_timeout */
	uint64_t warmups_ok, warmups_failed;
	uint64_t mirrors_ok, mirrors_failed; /* the same to a standby */
	uint64_t probes_ok, probes_failed;   /* asked whether it responds */
	uint64_t connections_kept;	     /* opened for a swap */
	uint64_t idle_given_up;		     /* closed for new ones that wait */
	uint64_t checks_ok, checks_failed;
	struct distribution responses[2]; /* without, with a hazard */
	struct recent_rate response_rate, error_rate;
	struct distribution warmup_length;
	struct distribution connect_length;
};

/* The requests that a server still has. */
struct server_rest {
	unsigned requests; /* tunnels left out */
	unsigned tunnels;  /* open WebSockets */
	unsigned losers;   /* responses that will be thrown away */
	unsigned known;	   /* unfinished requests that it has ever had */
	/* of the oldest request; borrowed, NULL: there is none */
	const char *oldest; /* its id */
	const char *method, *target;
	struct instant since; /* when it began */
};

struct upstream_events {
	/* The policy wants a set of enum hedging_action carried out.  This
	 * comes from the middle of anything: to be noted and put off. */
	void (*wanted)(void *user, unsigned actions);
	/* A server has stopped or begun to respond.  Likewise. */
	void (*hazard)(void *user, const struct hazard *h);
	/* The response of an attempt that lost has ended. */
	void (*drained)(
	    void *user, const struct connection *u, enum exchange_end end);
	/* Add what requests a server has (all but .losers). */
	void (*rest)(
	    void *user, const struct server *s, struct server_rest *out);
	/* The program of a server is to end; it is started again if the
	 * server's maintenance is STOPPING. */
	void (*stop)(struct server *s);
	/* Another server, or none, is in this place: watch it, and begin to
	 * look for it or to launch it.  renamed: what is counted of the one
	 * before is not its own. */
	void (*replaced)(void *user, struct server *s, bool renamed);
};

struct upstream {
	struct loop *loop;		     /* borrowed */
	const struct config *config;	     /* borrowed: the one in force */
	struct generation_list *generations; /* borrowed */
	struct hedging *hedging;	     /* borrowed */
	struct upstream_events events;
	void *user;    /* of the events */
	bool stopping; /* set from above: no new exchanges */
	bool served;   /* at the last tick a server responded */

	struct http_limits limits; /* of responses; set from above */
	unsigned losers_max;	   /* of a server, to be read; set from above */
	struct http_head scratch;  /* the head being looked at */
	struct replay_table replay;
	unsigned peak[2]; /* requests in flight; this window, the last */
	struct instant peak_window;
	struct server server[CONFIG_SERVERS];
};

/* The first place from this one on that has a server, or CONFIG_SERVERS: a
 * reload may leave one without. */
static inline unsigned
upstream_from(const struct upstream *up, unsigned place)
{
	while (place < CONFIG_SERVERS && up->server[place].config == NULL)
		place++;
	return place;
}

#define UPSTREAM_EACH(up, place)                                            \
	for (unsigned place = upstream_from(up, 0); place < CONFIG_SERVERS; \
	     place = upstream_from(up, place + 1))

/* How many places have a server. */
static inline unsigned
upstream_servers(const struct upstream *up)
{
	unsigned n = 0;

	UPSTREAM_EACH(up, i)
	n++;
	return n;
}

/* Have a set of enum hedging_action carried out. */
static inline void
upstream_want(struct upstream *up, unsigned actions)
{
	if (actions != 0)
		up->events.wanted(up->user, actions);
}

/* The policy's view of a server. */
static inline const struct hedging_server *
server_policy(const struct server *s)
{
	return &s->upstream->hedging->server[s->index];
}

/* True if a server may be probed and used. */
static inline bool
server_may_serve(const struct server *s)
{
	return s->maintenance.stage == IN_SERVICE ||
	       s->maintenance.stage == DRAIN_PENDING ||
	       s->maintenance.stage == STARTING;
}
