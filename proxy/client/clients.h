/*
 * clients.h: all clients: the sockets they connect to, their connections, and
 * what is counted of them.
 *
 * This room reads requests and writes responses.  It knows neither servers nor
 * what a request is about: whole heads go up through struct client_events, and
 * what serves them is called through struct client_ops (client.h).  The room
 * above owns struct clients.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_CLIENT_CLIENTS_H
#define TAILOR_PROXY_CLIENT_CLIENTS_H

#include "config/config.h"
#include "profiler/profiler.h"
#include "proxy/client/client.h"
#include "proxy/client/listeners.h"
#include "proxy/stats/metrics.h"

struct client_events {
	/* A head has been read: set c->ops and c->user, or return false with the
	 * reason to refuse it; false without one: c is closed. */
	bool (*begin)(struct client *c, const struct http_head *head,
	    struct http_refusal *refusal);
	/* A request was refused before there was anything to serve it. */
	void (*refused)(
	    const struct client *c, const struct http_refusal *refusal);
};

struct clients {
	struct loop *loop;		    /* borrowed */
	const struct config *config;	    /* borrowed: the one in force */
	struct metrics *metrics;	    /* borrowed */
	struct profiler *profiler;	    /* borrowed: which ports to watch */
	const struct client_events *events; /* borrowed */
	void *user;			    /* of the events */

	/* set from above */
	struct http_limits limits; /* of requests */
	unsigned connections_max;  /* as configured, or as descriptors allow */
	bool stopping;		   /* each response is its connection's last */

	struct client_list open;
	struct client_list closed; /* in this turn */
	struct client_list unused;
	unsigned count;
	unsigned half_open; /* with a request that is not whole */
	struct peer_table peers;
	struct http_head scratch; /* the head being looked at */

	struct listener listener[LISTENERS];
	enum {
		ACCEPT_WAITS, /* for a server: nothing is accepted yet */
		ACCEPT_ON,
		ACCEPT_PAUSED, /* out of descriptors or memory */
	} accepting;
	struct instant accept_due; /* PAUSED: until then */
};

/* No clients, no listeners.  The borrowed members are set.  0 or -errno;
 * clients_fini also after that: it closes all and frees all. */
int clients_init(struct clients *all);
void clients_fini(struct clients *all);

/* The structs of clients that were closed in this turn may be used again. */
void clients_reap(struct clients *all);

/* Begin to accept. */
void clients_accept(struct clients *all);

/* Accept again after a pause.  Every tick. */
void clients_tick(struct clients *all, struct instant now);

#endif
