/*
 * server.h: one of the two servers as the proxy sees it: its connections,
 * its health, its warm-up, and how it is started and stopped.
 */
#ifndef TAILOR_PROXY_UPSTREAM_SERVER_H
#define TAILOR_PROXY_UPSTREAM_SERVER_H

#include <sys/types.h>

#include "config/config.h"
#include "hedging/hedging.h"
#include "proxy/stats/distribution.h"
#include "proxy/net/timer.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/silence.h"

struct upstream;

#define WARMUPS_MAX 64 /* warm-up requests under way at once */

enum child_state {
	CHILD_NONE, /* not launched by us */
	CHILD_RUNNING,
	CHILD_STOPPING, /* told to end */
	CHILD_WAITING,	/* ended; restarted when restart_timer fires */
};

/*
 * What an operator wants of a server (maintenance.c):
 *
 *   SERVES --drain--> LEAVES --other active--> DRAINS --idle--> RESTS
 *     ^                 |                        |               |  |
 *     +--ready-- STARTS <------------------------+---(ready)-----+  |
 *                  ^                                             restart
 *                  +-------------- exited ------- ENDS <------------+
 *
 * From DRAINS to ENDS the policy takes it for down.
 */
enum maintenance {
	IN_SERVICE,
	DRAIN_PENDING,	/* to be drained; still active */
	DRAINING,	/* gets nothing new; its requests finish */
	OUT_OF_SERVICE, /* out of service */
	STOPPING,	/* its process was told to end */
	STARTING,	/* on its way back: connecting, warming up */
};

struct server {
	struct upstream *upstream;	    /* borrowed */
	const struct config_server *config; /* borrowed */
	unsigned index;

	/* owned */
	struct work connect; /* give a turn to one that waits */
	struct connection_list waiting, connecting, idle, busy, draining,
	    unused;
	unsigned waiting_count, connecting_count, idle_count, busy_count,
	    draining_count, connections;

	/* health */
	struct timer probe_timer;
	struct connection *probe; /* running, or NULL */
	char probe_text[512];
	size_t probe_length;   /* 0: connecting is enough */
	unsigned probe_status; /* of the running probe */
	unsigned refusals;     /* of connections, in a row */

	/* health while in service (health.c) */
	struct timer health_timer;
	struct connection *check; /* running, or NULL */
	struct instant checked;	  /* when it began */
	unsigned check_status;
	unsigned checks_failing; /* in a row */
	bool last_kept;		 /* said that it stays although it fails */

	struct silence silence; /* whether it responds at all */
	uint64_t reads;		/* that brought something */
	bool asking;		/* a probe of a request is under way */
	struct instant asked;	/* when the last one ended */

	/* connections kept for a swap (standby.c) */
	bool keeps_alive;	     /* by its latest response */
	bool doubted;		     /* it ended an idle connection */
	struct instant knocked;	     /* when one was opened only to see */
	struct instant closed_early; /* it closed one that was hardly idle */
	struct instant closed_soon;  /* or for less than ten seconds */
	struct instant starved;	     /* a new one waited beside idle ones */
	struct instant kept;	     /* when one was opened last */
	struct instant keep_again;   /* not before: the last was not kept */
	unsigned keeping;	     /* being opened */

	/* maintenance */
	enum maintenance maintenance;
	bool restarting;
	struct instant maintenance_since; /* of the drain or restart */
	struct instant wait_until;	  /* for the other's collection */
	struct instant cut_at;		  /* of a drain; none: never */
	enum server_state state_logged;	  /* as last seen by the tick */
	struct instant state_since, warming_since;

	/* warm-up */
	struct timer warmup_timer;
	struct warmup *warmup; /* owned, WARMUPS_MAX */
	unsigned replay_next;  /* position in the replay table */

	/* supervision */
	enum child_state child;
	pid_t pid; /* of our child, 0 none */
	int pidfd; /* owned, -1 none */
	struct event child_event;
	struct timer restart_timer, kill_timer;
	struct instant launched;
	int64_t restart_delay_ns; /* grows while it keeps dying at once */

	/* statistics */
	uint64_t attempts, connects, connects_again, reuses, stale, restarts;
	uint64_t errors[EXCHANGE_TIMEOUT + 1];
	uint64_t extra_bytes;
	uint64_t losers_drained, losers_closed;
	uint64_t drain_cuts; /* exchanges cut at drain_timeout */
	uint64_t warmups_ok, warmups_failed;
	uint64_t mirrors_ok, mirrors_failed; /* the same to a standby */
	uint64_t probes_ok, probes_failed;   /* asked whether it responds */
	uint64_t connections_kept;	     /* opened for a swap */
	uint64_t idle_given_up;		     /* closed for new ones that wait */
	uint64_t checks_ok, checks_failed;
	struct distribution responses[2]; /* without, with a hazard */
	struct distribution warmup_length;
	struct distribution connect_length;
};

/* Set up a server and begin to look for it (or to launch it).  0 or -errno. */
int server_init(struct server *s, struct upstream *up, unsigned index);

/* Take on a configuration, at the start or after a reload.  What is about the
 * program is used when it is started the next time. */
void server_configure(struct server *s, const struct config_server *c);

/* What Host says in requests that name none: the server's own address, or
 * "localhost" if that is a Unix socket. */
const char *server_host(const struct config_server *c);

/* What it does, for people: "ready", "draining", ...  Static. */
const char *server_state_shown(const struct server *s);

/* Close everything.  A running child is killed: see server_stop. */
void server_fini(struct server *s);

/* The process is gone or refuses: start probing. */
void server_lost(struct server *s);

/* Ask whether warm-up requests are due, and send them. */
void server_warm(struct server *s);

/*
 * Ask a server that is in service whether it responds: by its health target,
 * or a copy of a recent request.  True if one is under way.
 */
bool server_ask(struct server *s);

/* Open a connection to a standby for a later swap, by such a request; one that
 * was never used would keep a server from stopping, or hold a worker of it. */
void server_keep(struct server *s);

/* See that a standby is there, ask where only that can show that it is well
 * again, and keep connections of it open, as many as there were requests in
 * flight lately.  Every tick (standby.c). */
void standby_tick(struct server *s, struct instant now);

/* An attempt was answered. */
void server_responded(struct server *s, int64_t latency_ns);

/* An exchange failed without an answer: count, and doubt the server. */
void server_failed(struct server *s, enum exchange_end end);

/* Look at its state: log what changed, go on with its maintenance.  Every tick. */
void server_tick(struct server *s, struct instant now);

/* --- health in service (health.c) ---------------------------------------- */

void health_init(struct server *s);
/* Check again after the configured interval. */
void health_arm(struct server *s);
void health_stop(struct server *s);

/* --- an operator's wishes (maintenance.c) --------------------------------------- */

/*
 * server_drain(s, force), server_restart(s, force):
 * Take it out of service once the other one is active, and wait for its
 * requests; restart: then end its program, start it, and serve again.
 *   force  also if there is no other server that is ready, and without
 *          waiting for the other one's next collection
 * Return 0 when that is begun, or -EBUSY: no other is ready; -EALREADY: it is
 * under way; -ENOTSUP (restart): we did not launch it.
 */
int server_drain(struct server *s, bool force);
int server_restart(struct server *s, bool force);

/* Back into service.  0, or -EALREADY, or -EBUSY in the middle of a restart. */
int server_return(struct server *s);

/* Go on as far as possible.  Every tick. */
void maintenance_tick(struct server *s, struct instant now);

/* Whether it may be probed and used. */
static inline bool
server_may_serve(const struct server *s)
{
	return s->maintenance == IN_SERVICE ||
	       s->maintenance == DRAIN_PENDING || s->maintenance == STARTING;
}

#endif
