/* clients.h: all clients: the sockets they connect to, their connections, and
 * what is counted of them.
 *
 * This room reads requests and writes responses.  It knows neither servers nor
 * what a request is about: whole heads go up through struct client_events, and
 * what serves them is called through struct client_ops.  The room
 * above owns struct clients.  Proxy thread only. */
#pragma once

#include "profiler/profiler.h"
#include "proxy/client/peer.h"
#include "proxy/net/loop.h"
#include "proxy/stats/metrics.h"

struct client;
struct clients;
struct connection; /* to a server: the room above knows it */

enum client_state {
	CLIENT_PROXY_HEADER, /* a PROXY header is awaited or arriving */
	CLIENT_IDLE,	     /* nothing of the next request has arrived */
	CLIENT_HEAD,	     /* a head is arriving */
	CLIENT_BODY,	     /* a body is arriving */
	CLIENT_WAITING,	     /* the request is whole; its response is awaited */
	CLIENT_TUNNEL,	     /* its bytes go to the server, unread (tunnel.c) */
	CLIENT_LINGER,	     /* input is drained, so that no reset overtakes
			 * the response */
};

/* How much of the present response its connection has been given. */
enum client_response {
	CLIENT_RESPONSE_NONE,
	CLIENT_RESPONSE_BEGUN, /* the rest of the request need not come */
	CLIENT_RESPONSE_WHOLE,
};

/* Callbacks of what serves a request, for its client's connection.  Any may
 * close the connection. */
struct client_ops {
	/* More of the body (taken over; may be empty); whole: its end. */
	void (*body)(struct client *c, struct chain *data, bool whole);
	/* The body cannot be understood, or comes too slowly.  NULL: the
	 * connection responds itself. */
	void (*refuse)(struct client *c, const struct http_refusal *refusal);
	/* All that it has been given is written.  May be NULL. */
	void (*written)(struct client *c);
	/* Bytes that came through a tunnel (taken over); NULL: their end.
	 * May be NULL if there is never a tunnel. */
	void (*stream)(struct client *c, struct chain *data);
	/* A client has ended its side while it awaits its response.  May be
	 * NULL, and may come again. */
	void (*ended)(struct client *c);
	/* The connection is closed and must be forgotten. */
	void (*gone)(struct client *c);
};

struct client {
	TAILQ_ENTRY(client) link;
	struct clients *clients; /* borrowed */
	struct work write, input;
	int fd;		 /* owned */
	uint64_t cookie; /* of the socket, 0: none */
	enum client_state state;
	struct event readable, writable;
	struct timer timer;
	bool reading, writing;
	bool close;  /* after the present response */
	bool ended;  /* it sent FIN */
	bool closed; /* the struct is kept until the turn ends */
	struct peer peer;
	struct peer_count *count; /* borrowed from the table; NULL: none */
	bool half_open;		  /* counted there as such */
	TAILQ_ENTRY(client) spare_link;
	bool spare; /* it has no whole head, and no response to be written */

	struct block *in; /* owned */
	size_t scanned;
	struct http_body body;
	struct chain out;    /* owned: what it is sent next */
	bool slow;	     /* there may be more, see client_spool.h: */
	struct spool spool;  /* owned: what comes then */
	uint64_t spool_sent; /* of that */
	struct chain behind; /* owned: and then */
	bool more;	     /* the next flush is followed by another at once */
	bool corked; /* so the kernel may wait for it with what it has */
	unsigned requests;
	struct instant accepted; /* until the first request has it */
	struct instant rested;	 /* when it became idle, or was accepted */
	bool whole;	     /* LINGER: its last request was read to the end */
	uint64_t sent_bytes; /* on this connection */
	/* kept by the room above for its requests, see client_events.left; or
	 * NULL */
	struct connection *own;
	uint64_t taken_bytes; /* see taken_bytes(), when writing last stopped */
	struct instant first_byte; /* of the present request */
	struct instant body_since; /* when its body was asked for */

	/* the present request */
	const struct client_ops *ops; /* NULL: nothing serves it */
	void *user;
	bool minor_zero; /* it is of HTTP/1.0 */
	enum client_response response;
	struct instant linger_end; /* set when its last response is written */
	uint64_t lingered_bytes;   /* read and dropped since the refusal */
	bool delimited; /* only the connection's end shows the response's */
};

/* Clients, linked by client.link. */
TAILQ_HEAD(client_list, client);

/* Twice the configured most: in a change there are old and new ones. */
#define LISTENERS (2 * CONFIG_LISTENERS)
#define LISTENER_NAME 160

struct listener {
	struct clients *clients; /* borrowed */
	int fd;			 /* owned; -1: this place is free */
	struct event event;
	struct sockaddr_storage address; /* as configured */
	socklen_t length;
	char name[LISTENER_NAME]; /* as bound */
	bool unix_socket;
	bool inherited; /* of a socket unit: it outlives us */
	bool kept;	/* by the service manager, for the next start */
	bool fresh;	/* opened by the change under way */
};

struct client_events {
	/* A head has been read: set c->ops and c->user, or return false with
	 * the reason to refuse it; false without one: c is closed. */
	bool (*begin)(struct client *c, const struct http_head *head,
	    struct http_refusal *refusal);
	/* A request was refused before there was anything to serve it.  May
	 * be NULL. */
	void (*refused)(
	    const struct client *c, const struct http_refusal *refusal);
	/* A client that is closed has .own, to be let go of.  Who sets .own
	 * must have this. */
	void (*left)(struct client *c);
};

struct clients {
	struct loop *loop;	     /* borrowed */
	struct block_pool *blocks;   /* borrowed: for what they send and get */
	const struct config *config; /* borrowed: times, limits, peers */
	struct metrics *metrics;     /* borrowed */
	struct profiler *profiler;   /* borrowed: which ports to watch */
	const struct client_events *events; /* borrowed */
	void *user;			    /* of the events */

	/* set from above */
	struct http_limits limits; /* of requests */
	unsigned connections_max;  /* as configured, or as descriptors allow */
	bool known_only; /* others than talechain.allow get nothing but 403 */
	bool stopping;	 /* each response is its connection's last */

	struct client_list open;
	struct client_list closed; /* in this turn */
	struct client_list unused;
	/* Clients that may be closed to make room, the longest so first. */
	TAILQ_HEAD(, client) spare;
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
