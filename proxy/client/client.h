/*
 * client.h: a client's connection.
 *
 * A client sends one request after the other; a pipelined one waits in the
 * input block until the one before it is answered, so responses are always in
 * order.  What serves the present request sets .ops and .user when its head is
 * there (clients.h) and is called by its connection from then on; a connection
 * knows neither requests nor servers.  An idle client owns no block, but for a
 * stray CRLF.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_CLIENT_CLIENT_H
#define TAILOR_PROXY_CLIENT_CLIENT_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "http/http.h"
#include "proxy/client/peer.h"
#include "proxy/net/loop.h"

struct client;
struct clients;

enum client_state {
	CLIENT_PROXY_HEADER, /* a PROXY header is awaited or arriving */
	CLIENT_IDLE,	     /* nothing of the next request has arrived */
	CLIENT_HEAD,	     /* a head is arriving */
	CLIENT_BODY,	     /* a body is arriving */
	CLIENT_WAITING,	     /* the request is whole; its response is awaited */
	CLIENT_TUNNEL,	     /* its bytes go to the server, unread (tunnel.h) */
	CLIENT_LINGER, /* answered; reading on so that it sees the answer */
};

/* How much of the present response its connection has been given. */
enum client_response {
	CLIENT_RESPONSE_NONE,
	CLIENT_RESPONSE_BEGUN, /* the rest of the request need not come */
	CLIENT_RESPONSE_WHOLE,
};

/* What serves a request, called by its client's connection.  Any of these may
 * close the connection. */
struct client_ops {
	/* More of the body (taken over; may be empty); whole: its end. */
	void (*body)(struct client *c, struct chain *data, bool whole);
	/* The body cannot be understood, or comes too slowly.  NULL: the
	 * connection responds itself. */
	void (*refuse)(struct client *c, const struct http_refusal *refusal);
	/* All that it has been given is written.  May be NULL. */
	void (*written)(struct client *c);
	/* What it sends through a tunnel (taken over); NULL: the end of it.
	 * May be NULL if there is never a tunnel. */
	void (*stream)(struct client *c, struct chain *data);
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
	uint64_t sent_bytes;	 /* on this connection */
	uint64_t taken_bytes; /* see taken_bytes(), when writing last stopped */
	struct instant first_byte; /* of the present request */
	struct instant body_since; /* when its body was asked for */

	/* the present request */
	const struct client_ops *ops; /* NULL: nothing serves it */
	void *user;
	bool minor_zero; /* it is of HTTP/1.0 */
	enum client_response response;
	bool delimited; /* only the connection's end shows the response's */
};

TAILQ_HEAD(client_list, client);

/*
 * client_open(all, fd, peer, proxy_header):
 * Serve a freshly accepted socket (taken over if that succeeds).
 *   proxy_header  the connection begins with a PROXY header, which names the peer
 * 0, -ENOMEM, or -EUSERS if its address has too many connections.
 */
int client_open(
    struct clients *all, int fd, const struct peer *peer, bool proxy_header);

/* From now on c is that peer's.  0 or -EUSERS as above. */
int client_belongs(struct client *c, const struct peer *peer);

/* Write what waits in c->out.  c may be closed on return. */
void client_flush(struct client *c);

/* The same when the turn ends. */
void client_flush_later(struct client *c);

/* From now on its bytes go to ops->stream. */
void client_tunnel(struct client *c);

/* What the kernel has, it shall send.  Where a flush with c->more was followed
 * by none. */
void client_push(struct client *c);

/* The present request is over: go on with the next, or close. */
void client_next(struct client *c);

/* Whether the present request is the connection's last one, by
 * proxy.keep_alive_requests: its answer has to say so. */
bool client_is_last(const struct client *c);

/* Stop and resume reading (a tunnel's back-pressure). */
void client_pause(struct client *c);
void client_resume(struct client *c);

/* Close at once.  c may be gone on return. */
void client_close(struct client *c);

/* A response of Tailor's own. */
struct client_reply {
	unsigned status;
	const char *type;  /* of the text */
	const char *extra; /* whole further lines, or NULL */
	const char *text;
	size_t length;
	const char *request_id; /* or NULL */
	bool head_only;		/* the length is named all the same */
};

/*
 * client_respond(c, reply):
 * Give it a response of Tailor's own.  The connection is kept if c->close is
 * not set.  If something serves the request, c->response must be WHOLE, and
 * ops->written comes as for any other.
 */
void client_respond(struct client *c, const struct client_reply *reply);

#endif
