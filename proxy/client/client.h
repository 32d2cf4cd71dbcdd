/*
 * client.h: client connections and the listeners they come from.
 *
 * A client sends one request after the other; a pipelined one waits in the
 * input block until the one before it is answered, so answers are always in
 * order.  An idle client owns no block, but for a stray CRLF.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_CLIENT_CLIENT_H
#define TAILOR_PROXY_CLIENT_CLIENT_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <sys/queue.h>

#include "config/config.h"
#include "proxy/net/buffer.h"
#include "http/http.h"
#include "proxy/client/peer.h"
#include "proxy/request/request.h"
#include "proxy/net/spool.h"
#include "proxy/net/timer.h"

enum client_state {
	CLIENT_PREFACE, /* a PROXY header is awaited or arriving */
	CLIENT_IDLE,	/* nothing of the next request has arrived */
	CLIENT_HEAD,	/* a head is arriving */
	CLIENT_BODY,	/* a body is arriving */
	CLIENT_WAITING, /* the request is whole; its response is awaited */
	CLIENT_TUNNEL,	/* its bytes go to the server, unread (tunnel.h) */
	CLIENT_LINGER,	/* answered; reading on so that it sees the answer */
};

struct client {
	TAILQ_ENTRY(client) link;
	TAILQ_ENTRY(client) unsent_link; /* write_queue.h */
	bool unsent;
	struct proxy *proxy; /* borrowed */
	int fd;		     /* owned */
	uint64_t cookie;     /* of the socket, 0: none */
	enum client_state state;
	struct event readable, writable;
	struct timer timer;
	bool reading, writing;
	bool processing, again; /* see client_process */
	bool close;		/* after the present response */
	bool ended;		/* it sent FIN */
	bool closed;		/* the struct is kept until the turn ends */
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
	struct request *request; /* owned until finished; NULL */
	struct tale_call *call;	 /* owned: a TaleChain request being read */
	unsigned requests;
	struct instant accepted; /* until the first request has it */
	uint64_t sent_bytes;	 /* on this connection */
	uint64_t taken_bytes; /* see taken_bytes(), when writing last stopped */
	struct instant first_byte; /* of the present request */
	struct instant body_since; /* when its body was asked for */
};

TAILQ_HEAD(client_list, client);

/* Close all clients; free all structs.  At the very end. */
void clients_fini(struct proxy *p);

/* Free the structs of clients closed in this turn for reuse. */
void clients_reap(struct proxy *p);

/*
 * client_open(p, fd, peer, preface):
 * Serve a freshly accepted socket (taken over if that succeeds).
 *   preface  the connection begins with a PROXY header, which names the peer
 * 0, -ENOMEM, or -EUSERS if its address has too many connections.
 */
int client_open(struct proxy *p, int fd, const struct peer *peer, bool preface);

/* From now on c is that peer's.  0 or -EUSERS as above. */
int client_belongs(struct client *c, const struct peer *peer);

/* Write what waits in c->out; finishes the request when all is written. */
void client_flush(struct client *c);

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

/*
 * client_reply(c, status, type, extra, text, length):
 * Answer from Tailor itself.  extra: whole further lines or NULL; text: NULL
 * for a head alone, which names the length all the same.  The connection is
 * kept if c->close is not set.  If there is a request, it must
 * have been marked response_done and is finished when the answer is written.
 */
void client_reply(struct client *c, unsigned status, const char *type,
    const char *extra, const char *text, size_t length);

#endif
