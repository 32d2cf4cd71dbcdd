/*
 * upstream.h: the servers of the service: their connections, exchanges on them,
 * their health, and taking them out of service and back.
 *
 * The room above hands it messages (connection.h) and carries out what the
 * policy wants when a server's state changes.  It knows neither clients nor
 * requests: what it needs of them it asks through struct upstream_events.
 * Proxy thread only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_UPSTREAM_H
#define TAILOR_PROXY_UPSTREAM_UPSTREAM_H

#include "config/config.h"
#include "hedging/hedging.h"
#include "http/http.h"
#include "proxy/net/loop.h"
#include "proxy/upstream/replay.h"
#include "proxy/upstream/server.h"

/* What a server still has to do for requests. */
struct server_rest {
	unsigned requests; /* tunnels left out */
	unsigned tunnels;  /* open WebSockets */
	unsigned losers;   /* responses that will be thrown away */
	/* of the oldest request; borrowed, NULL: there is none */
	const char *oldest; /* its id */
	const char *method, *target;
	struct instant since; /* when it began */
};

struct upstream_events {
	/* The policy wants a set of enum hedging_consequence carried out.  This
	 * comes from the middle of anything: to be noted and put off. */
	void (*wanted)(void *user, unsigned consequences);
	/* A server has stopped or begun to respond.  Likewise. */
	void (*hazard)(void *user, const struct hazard *h);
	/* The response of an attempt that lost has ended. */
	void (*drained)(
	    void *user, const struct connection *u, enum exchange_end end);
	/* Fill in what requests a server has (all but .losers). */
	void (*rest)(
	    void *user, const struct server *s, struct server_rest *out);
	/* Its program is to end; started again if its maintenance is STOPPING. */
	void (*stop)(struct server *s);
};

struct upstream {
	struct loop *loop;	     /* borrowed */
	const struct config *config; /* borrowed: the one in force */
	struct hedging *hedging;     /* borrowed */
	struct upstream_events events;
	void *user;    /* of the events */
	bool stopping; /* set from above: no new exchanges */

	struct http_limits limits; /* of responses; set from above */
	struct http_head scratch;  /* the head being looked at */
	struct replay_table replay;
	unsigned peak[2]; /* requests in flight; this window, the last */
	struct instant peak_window;
	struct server server[CONFIG_SERVERS];
};

/*
 * upstream_init(up):
 * Set up the servers of up->config and begin to look for them.  The borrowed
 * members are set.  0 or -errno; upstream_fini also after that.
 */
int upstream_init(struct upstream *up);

/* Close all connections. */
void upstream_fini(struct upstream *up);

/* See what each server does.  Every tick. */
void upstream_tick(struct upstream *up, struct instant now);

/* What a server still has to do. */
void server_rest(const struct server *s, struct server_rest *out);

/* What the policy wants. */
static inline void
upstream_want(struct upstream *up, unsigned consequences)
{
	if (consequences != 0)
		up->events.wanted(up->user, consequences);
}

/* What the policy knows of a server. */
static inline const struct hedging_server *
server_policy(const struct server *s)
{
	return &s->upstream->hedging->server[s->index];
}

#endif
