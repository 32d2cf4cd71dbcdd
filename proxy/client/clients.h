/* clients.h: all clients: the sockets they connect to, their connections, and
 * counters.
 *
 * This room reads requests and writes responses.  It knows neither servers nor
 * the meaning of a request: it passes a whole head to the room above through
 * struct client_events, and bodies and ends through struct client_ops.  The
 * room above owns struct clients.  Proxy thread only. */
#pragma once

#include "profiler/profiler.h"
#include "proxy/client/peer.h"
#include "proxy/net/loop.h"
#include "proxy/stats/metrics.h"

struct client;
struct clients;
struct connection; /* to a server; only the room above uses it */

enum client_state {
	CLIENT_PROXY_HEADER, /* a PROXY header is awaited or arriving */
	CLIENT_IDLE,	     /* nothing of the next request has arrived */
	CLIENT_HEAD,	     /* a head is arriving */
	CLIENT_BODY,	     /* a body is arriving */
	CLIENT_WAITING,	     /* the request is whole; its response is awaited */
	CLIENT_TUNNEL,	     /* its bytes go to the server, unread (tunnel.c) */
	CLIENT_LINGER,	     /* input is dropped, so that no reset overtakes
			 * the response */
};

/* How much of the present response was appended to the client's output. */
enum client_response {
	CLIENT_RESPONSE_NONE,
	CLIENT_RESPONSE_BEGUN, /* the rest of the request need not come */
	CLIENT_RESPONSE_WHOLE,
};

/* Callbacks of the code that serves a request.  Each may close the client's
 * connection. */
struct client_ops {
	/* A piece of the body (taken over; may be empty); whole: the last. */
	void (*body)(struct client *c, struct chain *data, bool whole);
	/* The body cannot be understood, or comes too slowly.  NULL: the
	 * connection responds itself. */
	void (*refuse)(struct client *c, const struct http_refusal *refusal);
	/* All output of the client has been written.  May be NULL. */
	void (*written)(struct client *c);
	/* Bytes from the client of a tunnel (taken over); data NULL: no more
	 * will come.  May be NULL if there is never a tunnel. */
	void (*stream)(struct client *c, struct chain *data);
	/* A client has ended its side while it waits for its response.  May be
	 * NULL; may be called more than once. */
	void (*ended)(struct client *c);
	/* The connection is closed and must be forgotten. */
	void (*gone)(struct client *c);
};

/* A client's last response, while the client may not have all of it
 * (delivery.h), and counts of its connection when that was written. */
struct delivery {
	TAILQ_ENTRY(client) link;
	void *place; /* NULL: not watched */
	uint64_t request;
	struct instant written;
	uint32_t resent, twice; /* segments; acknowledged twice */
	uint64_t full_us;	/* the client's window was full */
};

/* How a connection came (arrival.h); for its first request. */
struct client_arrival {
	struct instant accepted;    /* unset once a request has taken it */
	struct instant established; /* in the accept queue since then */
	struct instant arrived;	    /* the last bytes there at the accept */
	struct instant connecting;  /* first SYN-ACK, if others followed */
	uint32_t synacks; /* others; 0: the accept queue was full meanwhile */
};

struct client {
	TAILQ_ENTRY(client) link;
	struct clients *clients; /* borrowed */
	struct work write, input;
	int fd;		 /* owned */
	bool tcp;	 /* no Unix socket */
	uint64_t cookie; /* of the socket, 0: none */
	enum client_state state;
	struct event readable, writable;
	struct timer timer;
	bool reading, writing;
	bool close;	 /* to be closed after the present response */
	bool ended;	 /* it sent FIN */
	bool closed;	 /* the struct is kept until the turn ends */
	const char *cut; /* why client_cut closes it; static; else NULL */
	struct peer peer;
	struct peer_count *count; /* borrowed from the table; NULL: none */
	bool half_open;		  /* counted in count->half_open */
	TAILQ_ENTRY(client) spare_link;
	bool spare; /* in clients.spare: no whole head, no response to write */

	struct block *in; /* owned */
	size_t scanned;
	struct http_body body;
	struct chain out;    /* owned: output, first part */
	bool slow;	     /* output may be in spool and behind, too */
	struct spool spool;  /* owned: output after out */
	uint64_t spool_sent; /* bytes of spool sent already */
	struct chain behind; /* owned: output after spool */
	bool more;	     /* the next flush is followed by another at once */
	bool corked; /* the kernel may hold back the bytes written last */
	unsigned requests;
	struct client_arrival arrival;
	struct instant rested; /* when it became idle, or was accepted */
	bool whole;	     /* LINGER: its last request was read to the end */
	uint64_t sent_bytes; /* on this connection */
	struct delivery delivery;
	/* A server connection for its requests only, or NULL; set by the room
	 * above, see client_events.left. */
	struct connection *own;
	uint64_t taken_bytes;	   /* taken_bytes() when writing last stopped */
	struct instant first_byte; /* of the present request */
	struct instant body_since; /* when the wait for its body began */

	/* the present request */
	const struct client_ops *ops; /* NULL: no request is served */
	void *user;
	bool minor_zero; /* the request is HTTP/1.0 */
	enum client_response response;
	struct instant linger_end; /* set when its last response is written */
	uint64_t lingered_bytes;   /* read and dropped since the refusal */
	bool delimited; /* the response ends when the connection closes */
};

/* Clients, linked by client.link. */
TAILQ_HEAD(client_list, client);

/* Room for old and new listeners during a change. */
#define LISTENERS (2 * CONFIG_LISTENERS)
#define LISTENER_NAME 160

/* A listener's accept queue (arrival.h), when it was checked last. */
struct listener_queue {
	unsigned drained;	/* accepted since it was empty */
	unsigned longest;	/* drained at most, since the last check */
	struct instant checked; /* unset: never */
	uint32_t drops;		/* of packets, for any reason */
	uint64_t overflows;	/* of all queues of the network namespace */
	struct instant full;	/* it was found to have been full */
	struct instant logged;
};

struct listener {
	struct clients *clients; /* borrowed */
	int fd;			 /* owned; -1: this place is free */
	struct event event;
	struct sockaddr_storage address; /* as configured */
	socklen_t length;
	char name[LISTENER_NAME]; /* as bound */
	bool unix_socket;
	bool inherited; /* from a socket unit: it outlives the process */
	bool kept;	/* the service manager keeps it for the next start */
	bool fresh;	/* opened by the change under way */
	uint64_t turn;	/* of the loop, when it was last readable */
	struct listener_queue queue;
};

#define CLIENT_ID 65 /* bytes of an x-request-id */

/* A response that its client acknowledged late. */
struct client_late {
	void *place; /* as given to delivery_watch */
	uint64_t request;
	struct instant acknowledged; /* to some 5 ms; at the latest then */
	uint32_t resent; /* segments; 0: the client's window was full */
};

struct client_events {
	/* A head has been read: set c->ops and c->user and return true; or
	 * return false with *refusal set; false without it: c is closed. */
	bool (*begin)(struct client *c, const struct http_head *head,
	    struct http_refusal *refusal);
	/* A request was refused before c->ops was set for it: write its id for
	 * the response's x-request-id.  May be NULL. */
	void (*refused)(const struct client *c,
	    const struct http_refusal *refusal, char id[CLIENT_ID]);
	/* A client with .own set is closed: release .own.  Not NULL if .own is
	 * ever set. */
	void (*left)(struct client *c);
	/* A response arrived late.  Not NULL if delivery_watch is used. */
	void (*late)(struct client *c, const struct client_late *late);
};

struct clients {
	struct loop *loop;	     /* borrowed */
	struct block_pool *blocks;   /* borrowed: for input and output */
	const struct config *config; /* borrowed: times, limits, peers */
	struct metrics *metrics;     /* borrowed */
	struct profiler *profiler;   /* borrowed: is given listening ports */
	const struct client_events *events; /* borrowed */
	void *user;			    /* of the events */

	/* set from above */
	struct http_limits limits; /* of requests */
	unsigned connections_max;  /* as configured, or as descriptors allow */
	bool known_only;	   /* clients not in talechain.allow get 403 */
	bool stopping; /* close each connection after its response */

	struct client_list open;
	struct client_list closed; /* in this turn */
	struct client_list unused;
	/* Clients that may be closed to make room, the longest idle first. */
	TAILQ_HEAD(, client) spare;
	/* Clients whose last response may be on its way, and when to look. */
	TAILQ_HEAD(, client) delivering;
	struct timer look_timer;
	unsigned count;
	unsigned half_open; /* clients whose request is not whole */
	struct peer_table peers;
	struct http_head scratch; /* the head being parsed */

	struct listener listener[LISTENERS];
	enum {
		ACCEPT_WAITS, /* before clients_accept */
		ACCEPT_ON,
		ACCEPT_PAUSED, /* out of descriptors or memory */
	} accepting;
	struct instant accept_due;    /* end of ACCEPT_PAUSED */
	struct instant checked;	      /* the listeners' queues */
	uint64_t checked_connections; /* accepted until then */
};
