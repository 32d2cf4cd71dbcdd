/* daemon.h: the process: its start, its loop, its reloads, its end.
 *
 * The top room.  It makes the threads, binds sockets, drops privileges, runs
 * the event loop, and stops it.  Nothing else may include this.  Main thread
 * only, which is the proxy thread. */
#pragma once

#include "daemon/ready.h"
#include "proxy/admin/admin.h"
#include "proxy/admin/tale_api.h"
#include "proxy/request/proxy.h"

#define DAEMON_SIGNALS 4

/* How to read the configuration: read returns 0 with *out, or -errno with
 * errors. */
struct config_source {
	const char *file; /* borrowed; NULL: none */
	int (*read)(
	    void *user, struct config **out, struct config_errors *errors);
	void *user; /* borrowed */
};

struct daemon {
	struct proxy proxy;
	struct tale_api tales;
	struct admin *admin;	  /* owned; NULL: none */
	struct admin *collectors; /* metrics.listen; owned; NULL: none */
	struct config_source source;

	struct timer tick_timer;
	struct instant ticked;	/* the last tick */
	int64_t tick_ns;	/* as the timer was set last */
	uint64_t tick_finished; /* requests finished when it fired last */
	unsigned tick_rests; /* times in a row without a request, to a limit */
	struct ready ready;
	struct event hazard_event, answer_event, signal[DAEMON_SIGNALS];

	enum {
		DAEMON_RUNS,
		DAEMON_STOPPING, /* requests in flight finish */
		DAEMON_STOPPED,	 /* leave the loop */
	} stage;
	bool accepts; /* STOPPING: on sockets that outlive this process */
	struct instant stopped, stop_due, stop_idle_due, stop_streams_due;
	unsigned cut_requests, cut_connections; /* by the stop */
};

/* Set up everything by d->proxy.config; opens nothing yet.  0 or -errno
 * (logged); call daemon_fini in either case. */
int daemon_init(struct daemon *d);
void daemon_fini(struct daemon *d);

/* Run until stopped by a signal.  0 or -errno. */
int daemon_run(struct daemon *d);

/* Begin a graceful stop: no new connections, requests in flight finish.  A
 * second call cuts the remaining connections and ends the loop (stop.c). */
void daemon_stop(struct daemon *d, const char *why);
/* Continue a stop.  Call it at every tick. */
void daemon_stop_tick(struct daemon *d, struct instant now);

/* Read the configuration again and change to it.  The whole file is checked
 * before anything changes; if a key is wrong, or needs a restart, the present
 * configuration stays in force.  A request keeps the configuration that it
 * began under, so there may be several generations for a while.  The result is
 * logged and counted; out may be NULL.  With out->asked nothing is changed,
 * logged or counted: out has what a reload would change, or why it would fail,
 * as far as the configuration shows it.  Returns 0, -EBUSY when stopping, or
 * -EINVAL.  About 1 ms. */
int daemon_reload(struct daemon *d, const char *why, struct reload_result *out);

/* --- what a configuration means in numbers (limits.c) ------------------ */

struct proxy;

/* Fill in the limits of the hedging policy from a configuration. */
void limits_hedging(const struct config *c, struct hedging_limits *l);

/* Make the directory for spools, and warn if it cannot be used.  After
 * privileges have been dropped. */
void limits_try_spool(const struct proxy *p);

/* Put p->config's limits in force and log the resulting numbers. */
void limits_apply(struct proxy *p);

/* Return how many channels may be open: fewer where descriptors are few. */
unsigned limits_channels(void);

/* Check that the limits allow any clients at all: 0 or -ECANCELED (logged). */
int limits_check(const struct proxy *p);

/* --- which servers there are (servers.c) --------------------------------- */

/* Describe a server for the profiler; out->program is NULL afterwards. */
void servers_observed(const struct config *c, const struct config_server *s,
    struct profiler_server *out);

/* Begin to look for all servers, or launch them.  0 or -ECANCELED (logged). */
int servers_start(struct proxy *p);

/* Change to the servers of p->config, and put its limits in force.  A server
 * with another name, address or program replaces the old one when that is
 * drained; if nothing is to be drained, at once. */
void servers_change(struct proxy *p);

/* Callback of struct upstream_events: a server was replaced.  user is struct
 * proxy. */
void servers_replaced(void *user, struct server *s, bool renamed);

/* --- servers that are started with a program --------------------------- */

/* Set up the program of a server.  Call it before the functions below. */
void supervisor_init(struct server *s);

/* Reap the orphans that have ended: as process 1, or of launched programs. */
void supervisor_reap(struct proxy *p);

/* Start the configured program.  0 or a negative errno (logged). */
int supervisor_launch(struct server *s);

/* Launch the program again later: a start has failed. */
void supervisor_again(struct server *s);

/* True if a server's program shall start in idle time: the other server is
 * ready, and we may end it again. */
bool idle_start_may_begin(const struct server *s);

/* End the idle start of servers that are ready or needed. */
void idle_start_tick(struct proxy *p, struct instant now);

/* Ask the program to end (SIGTERM, and SIGKILL after launch.stop_timeout); no
 * restart follows, unless the server is being restarted. */
void supervisor_stop(struct server *s);

/* End the program at once (SIGKILL) and reap it. */
void supervisor_kill(struct server *s);
