/* upstream.h: the servers of the service: their connections, exchanges on them,
 * their health, and taking them out of service and back.
 *
 * The room above gives this room messages to send (connection.h), and carries
 * out what the policy wants when a server's state changes.  This room knows
 * neither clients nor requests; struct upstream_events has its callbacks to the
 * room above.  Proxy thread only. */
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

/* Most bytes to read of a response that is thrown away (a loser's, a copy's, a
 * health check's) to keep its connection.  For more, a new connection is
 * cheaper. */
#define DRAIN_BYTES_MAX (1U << 20)
/* Most connections of one server that drain losers: several times the requests
 * in flight when a pause begins.  With one more the oldest is closed. */
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
	EXCHANGE_LIMITED,    /* over DRAIN_BYTES_MAX of a drain */
	EXCHANGE_REFUSED,    /* no connection: nothing was sent */
	EXCHANGE_UNANSWERED, /* connection lost before any response byte */
	EXCHANGE_CUT,	     /* connection lost in the response */
	EXCHANGE_MALFORMED,  /* not a valid response, or over a limit */
	EXCHANGE_TIMEOUT,    /* connect, drain or a warm-up took too long */
};

/* Which idle connections may be used.  A check costs a system call. */
enum connection_reuse {
	REUSE_ANY,
	REUSE_CHECKED, /* after a check that no byte and no end arrived */
	REUSE_PROVEN,  /* checked, and it has rested for less than half the
			* time for which its server is known to keep idle
			* ones, so that it is not about to be closed */
	REUSE_NONE,    /* only a new connection */
};

/* True if an exchange got a response, for users that need only its head. */
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
	HEALTH_NONE, /* no result yet */
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
	bool once; /* close the connection afterwards: see server_send_get */
	/* The response's head; its slices are valid during the call only.
	 * The callee may detach or close u. */
	void (*head)(struct connection *u, const struct http_head *head);
	/* An interim response (1xx except 101), as head().  May be NULL. */
	void (*interim)(struct connection *u, const struct http_head *head);
	/* Payload; the bytes that the callee leaves in *data are dropped.  The
	 * callee may detach or close u. */
	void (*data)(struct connection *u, struct chain *data);
	/* All bytes that were read together were passed on.  May be NULL. */
	void (*rest)(struct connection *u);
	/* The trailer lines of a body that is whole now, if there are any and
	 * message.trailers is set.  May be NULL. */
	void (*trailers)(struct connection *u, struct slice lines);
	/* All of the request has been given to the kernel. */
	void (*sent)(struct connection *u);
	/* Some of a tunnel's stream has been given to the kernel. */
	void (*wrote)(struct connection *u);
	/* The exchange is over.  Its connection is back in the pool or closed
	 * already: the user must not use it again. */
	void (*end)(const struct exchange_result *result);
};

struct connection {
	TAILQ_ENTRY(connection) link; /* in the server's list of its state */
	struct work write;
	struct upstream *upstream; /* borrowed */
	struct server *server;	   /* borrowed */
	int fd;			   /* owned */
	uint64_t cookie;	   /* of the socket, 0: none */
	struct instant opened;	   /* when connecting, or the wait, began */
	struct instant rested;	   /* when it became idle */
	int64_t rested_served_ns;  /* reuse.served_ns at that time */
	unsigned tries;		   /* to connect */
	bool turned;		   /* tried the server's other address */
	enum connection_state state;
	struct event readable, writable;
	struct timer timer;
	bool reading, writing; /* events registered */
	unsigned exchanges;    /* begun on this connection */
	unsigned serial;       /* changes when an exchange is forgotten */
	bool keep_alive;       /* the server keeps it after this exchange */
	unsigned moves;	       /* server.moves when it was opened */
	int64_t said_ns;       /* timeout of Keep-Alive; 0: none */

	/* see connection_own() */
	bool private;
	struct connection **owner; /* the owner's pointer to it, or NULL */

	/* the user */
	const struct exchange_ops *ops;
	void *user;
	int64_t limit_ns; /* time limit of the exchange; 0: none */

	/* the request */
	struct message out;
	bool sent_all;
	struct instant written_first, written_last;

	/* the response */
	enum http_method method;
	bool has_body;	  /* true if the request has a body */
	bool last;	  /* its body may be left unread: do not reuse u */
	bool endless;	  /* a stream: never read to its end */
	struct block *in; /* owned */
	size_t scanned;
	bool head_seen;
	bool wide;	   /* the last read filled a block: read several */
	unsigned interims; /* 1xx heads so far */
	uint64_t received_bytes;
	bool filled;   /* the last read filled all its blocks */
	bool reads_on; /* another read follows at once */
	struct http_body body;
	struct block *trailers; /* owned; NULL: not wanted */
	struct instant first_byte;

	struct response_diff
	    *compared; /* owned; NULL: nothing to compare with */
	unsigned side; /* its side in compared */

	/* draining */
	uint64_t drained_bytes;
	uint64_t loser_of;    /* request id, for the log */
	struct instant raced; /* when the winner was complete */
	bool unawaited;	      /* see exchange_detach() */
};

/* Connections, linked by connection.link. */
TAILQ_HEAD(connection_list, connection);

/* How long a server has sent nothing (silence.c). */
struct silence {
	uint64_t reads;	       /* server.reads at the last check */
	struct instant since;  /* when the present silence began */
	struct instant steady; /* since when each check found new bytes */
	struct instant looked; /* time of the last check */
	bool awaited;	       /* a request waited at the last check */
	bool asked; /* a probe was sent in this silence: no response yet */
	struct instant asked_at;
	int64_t longest_ns[2]; /* in this window, and in the one before */
	struct instant window; /* when this window began */
};

#define RESTART_DELAY_NS (100 * NS_PER_MS) /* doubled while it dies at once */
#define GET_BYTES 640 /* room for a GET of Tailor's own, with target and host */
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
 * From DRAINING to STOPPING the server is DOWN for the policy. */
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
	struct instant seen; /* none: its responses have no such field */
	uint64_t used, full; /* bytes; full: it collects at this use */
	uint64_t collections;
	uint64_t live; /* used after the latest collection; 0: none seen */
};

struct server {
	struct upstream *upstream; /* borrowed */
	/* Part of generation, which is held; NULL: there is no server here. */
	const struct config_server *config;
	struct generation *generation;
	unsigned index;
	unsigned moves; /* how often it changed its address */

	struct { /* the server that replaces it when it has been drained */
		bool due;
		const struct config_server *config; /* of the newest
						     * generation; NULL: none */
	} next;

	/* its connections, by state */
	struct work connect; /* runs connect_next */
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
	bool at_other;	   /* use the other address of localhost (::1) */

	struct { /* the latest probe or health check */
		enum health_result result;
		unsigned status; /* 0: no response */
		/* the failed probe that was logged last */
		enum health_result logged;
		unsigned logged_status;
		struct instant logged_at;
	} checked;

	struct { /* health checks while in service (health.c) */
		struct timer timer;
		struct connection *link; /* running, or NULL */
		struct instant begun;
		unsigned status;
		unsigned failing; /* in a row */
		bool last_kept;	  /* logged that it stays although it fails */
		bool in_pause;	  /* it began while the other server paused */
		bool as_pause_began;	    /* it began as the pause was seen */
		unsigned in_pauses;	    /* checks in the last pause */
		struct gain_checks lengths; /* in watch mode */
	} health;

	struct { /* the request that makes it collect (collect.c) */
		struct timer timer;
		struct connection *link; /* running, or NULL */
		char text[GET_BYTES];
		unsigned status;
	} collect;

	struct server_heap heap; /* as its responses say; see collect.c */
	uint64_t heap_malformed;
	struct instant heap_logged; /* when heap_malformed was logged last */

	struct silence silence; /* how long it has sent nothing */
	uint64_t reads;		/* reads that returned bytes */
	bool asking;		/* a WARMUP_ASK request is under way */
	struct instant asked;	/* when the last WARMUP_ASK ended */

	struct {		   /* how it treats connections that are kept */
		bool keeps_alive;  /* by its latest response */
		int64_t served_ns; /* total of times with steady output */
		struct instant proven; /* first kept an idle one for 1 s */
		int64_t kept_ns;   /* the longest rest of a connection that it
				    * left open while it served; 0: none */
		int64_t closed_ns; /* the shortest rest, of a second or more,
				    * after which it closed one; 0: none */
		struct instant ended; /* last unasked Connection: close */
		struct instant closed_early; /* last close within 1 s of idle */
		struct instant closed_soon;  /* last close before expected */
		struct instant starved; /* a new one waited beside idle ones */
	} reuse;

	struct {	      /* connections kept for a swap (backup.c) */
		bool doubted; /* it ended an idle connection */
		struct instant knocked;	   /* last connect only as a check */
		struct instant kept;	   /* last one opened to be kept */
		struct instant keep_again; /* open none before this */
		unsigned keeping;	   /* being opened */
	} backup;

	struct {
		enum maintenance stage;
		bool restarting;
		bool second; /* to be replaced after the other server */
		struct instant since;	   /* begin of the drain or restart */
		struct instant wait_until; /* end of wait for other's GC */
		struct instant cut_at;	   /* end of the drain; none: never */
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
		pid_t group; /* its process group; 0: no process is left */
		bool idle;   /* it starts in idle time (daemon/idle_start.c) */
		bool again;  /* STOPPING: only its group is left to end */
		struct event ended;
		struct timer restart_timer, kill_timer, group_timer;
		struct instant launched;
		int64_t restart_delay_ns; /* grows while it ends at once */
		unsigned quick_ends;	  /* ends soon after start, in a row */
		char last_end[20];	  /* like "status 127" */
	} program;

	/* statistics */
	uint64_t attempts, connects, connects_again, reuses, stale, restarts;
	uint64_t errors[EXCHANGE_TIMEOUT + 1];
	/* The latest error; erred_status: of a 5xx if that was later, or 0. */
	enum exchange_end erred;
	unsigned erred_status;
	uint64_t extra_bytes;
	uint64_t unread_bodies;	    /* connections not reused due to .last */
	uint64_t privates;	    /* connections that became one client's */
	uint64_t privates_given_up; /* closed though their client stays */
	uint64_t drain_cuts;	    /* exchanges cut at drain_timeout */
	uint64_t warmups_ok, warmups_failed;
	uint64_t mirrors_ok, mirrors_failed; /* copies sent to a warm backup */
	uint64_t probes_ok, probes_failed;   /* WARMUP_ASK requests */
	uint64_t connections_kept;	     /* opened for a swap */
	uint64_t idle_given_up;		     /* closed for new ones that wait */
	uint64_t checks_ok, checks_failed;
	struct distribution responses[2]; /* [0] without, [1] with a hazard */
	struct recent_rate response_rate, error_rate;
	struct distribution warmup_length;
	struct distribution connect_length;
};

/* The requests that a server still has. */
struct server_rest {
	unsigned requests; /* tunnels left out */
	unsigned tunnels;  /* open WebSockets */
	unsigned losers;   /* responses that will be thrown away */
	unsigned known;	   /* unfinished requests with an attempt here */
	/* The oldest request; borrowed, NULL: there is none. */
	const char *oldest; /* its id */
	const char *method, *target;
	struct instant since; /* when it began */
};

struct upstream_events {
	/* The policy wants a set of enum hedging_action carried out.  The
	 * caller may be in the middle of any step: note it and put it off. */
	void (*wanted)(void *user, unsigned actions);
	/* A server has stopped or begun to respond.  Put it off, as above. */
	void (*hazard)(void *user, const struct hazard *h);
	/* The response of an attempt that lost has ended. */
	void (*drained)(
	    void *user, const struct connection *u, enum exchange_end end);
	/* Add the requests that a server has (all members but .losers). */
	void (*rest)(
	    void *user, const struct server *s, struct server_rest *out);
	/* End the program of a server, if it runs, and start it again if the
	 * server's maintenance is STOPPING. */
	void (*stop)(struct server *s);
	/* Another server, or none, is in this place: watch it, and probe or
	 * launch it.  renamed: it is not the server that was here before, so
	 * the counts start again. */
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
	bool served;   /* a server was up at the last tick */

	struct http_limits limits; /* of responses; set from above */
	unsigned losers_max;	   /* drained per server; set from above */
	struct http_head scratch;  /* the head being parsed */
	struct replay_table replay;
	unsigned peak[2]; /* most in flight: this window, last window */
	struct instant peak_window;
	struct server server[CONFIG_SERVERS];
};

/* The first place from this one on that has a server, or CONFIG_SERVERS.  After
 * a reload a place may be empty. */
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

/* The number of places that have a server. */
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
