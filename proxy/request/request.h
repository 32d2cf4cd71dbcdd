/*
 * request.h: one request of a client, its attempts, and its one response.
 *
 *   READING --> QUEUED --> RUNNING --> COMMITTED --> finished
 *      |           |          |            |
 *      |           |          +--- a hazard or a failure adds an attempt
 *      +-----------+----------+------------+--> answered by Tailor itself
 *
 * READING    the body is arriving: no server knows of it yet
 * QUEUED     complete, but no server may take it yet
 * RUNNING    attempts are under way; their bytes are kept
 * COMMITTED  bytes of one attempt have been given to the client: no other
 *            can win any more
 *
 * Which attempts there may be and which one wins is decided by hedging.h;
 * this module does what it says.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_REQUEST_REQUEST_H
#define TAILOR_PROXY_REQUEST_REQUEST_H

#include <sys/queue.h>

#include "hedging/hedging.h"
#include "proxy/request/response.h"
#include "proxy/net/buffer.h"
#include "http/http.h"
#include "proxy/request/request_id.h"
#include "proxy/net/spool.h"
#include "proxy/net/timer.h"
#include "proxy/upstream/connection.h"
#include "talechain/timeline.h"

struct client;
struct comparison;

enum request_state {
	REQUEST_READING,
	REQUEST_QUEUED,
	REQUEST_RUNNING,
	REQUEST_COMMITTED,
	REQUEST_LOCAL, /* answered by Tailor */
};

struct attempt {
	struct request *request; /* borrowed */
	struct connection *link; /* borrowed while an exchange runs */
	int index;		 /* in the race */
	bool on;		 /* started */
	char lines[320];	 /* framing and Tailor-* fields, empty line */
	size_t lines_length;

	struct response answer;
	bool due;    /* to be committed when this read is over */
	bool reused; /* its connection had been used before */

	const char *outcome;   /* static */
	uint64_t cookie;       /* of the socket it went out on */
	struct instant hazard; /* what it hedges against began, or none */
	struct instant begun, written; /* to get a connection; first byte */
	struct instant first_byte, completed;
};

struct request {
	TAILQ_ENTRY(request) link; /* in flight, oldest first; or free */
	TAILQ_ENTRY(request) queue_link;
	struct proxy *proxy;	       /* borrowed */
	struct client *client;	       /* borrowed; NULL when it left */
	struct generation *generation; /* held: the configuration it has */
	enum request_state state;

	uint64_t id;
	char external_id[65];
	char client_address[INET6_ADDRSTRLEN + 8]; /* see origin.h */
	bool known; /* that client is in proxy.trust or talechain.allow */
	char trace_id[TRACE_ID + 1]; /* "": none */
	char method_text[16];
	char target[TALE_TEXT];
	enum http_method method;
	uint64_t cookie;     /* of the client's socket */
	bool method_allowed; /* may be sent twice */
	bool opted_out;
	bool minor_zero; /* an HTTP/1.0 client */
	bool hostless;	 /* which named no host: each attempt names its own */
	bool keep_alive; /* client wants to stay */
	bool wants_body; /* the request has a framed body */
	bool trailers;	 /* takes trailers, and may have them */
	bool upgrade;	 /* asks for WebSocket (tunnel.h) */
	bool tunnel;	 /* and has got it: body is its stream then */

	struct iovec head;   /* for the servers; in one of the next two */
	struct block *block; /* owned; NULL: packed */
	char *packed;	     /* owned: see request_pack; or NULL */
	struct iovec small;  /* the body, if it is in packed; else empty */
	struct chain body;   /* owned: what of it is in memory */
	struct spool spool;  /* owned: what is not */
	uint64_t body_kept;  /* memory charged to the table, bytes */
	uint64_t body_bytes; /* of the whole body, as far as known */
	bool body_whole;     /* all of it has arrived */

	struct race race;
	struct attempt attempt[RACE_ATTEMPTS];
	struct comparison *compared; /* owned; NULL: not hedged */
	struct timer commit_timer, deadline_timer, late_timer;
	unsigned interims;	 /* 1xx passed on */
	int interim_from;	 /* by this attempt */
	int status;		 /* answered with */
	uint64_t sent_before;	 /* to its client, before its response */
	uint64_t response_bytes; /* once it is over */
	uint64_t progress_bytes; /* both ways, at the last deadline */
	const char *note;	 /* why not hedged, truncated, ...; static */
	enum hedge_refusal refusal;

	struct instant accepted; /* only if the first of its connection */
	struct instant first_byte, received, committed;
	struct instant queued; /* if it had to wait for a server */
	uint64_t stream_begin;
};

TAILQ_HEAD(request_list, request);

/*
 * request_begin(client, head, refusal):
 * A request whose head has just been parsed.  False with *refusal if the limit
 * on requests in flight is reached, there is no memory, or the head is too
 * large once what Tailor adds is in it.
 */
bool request_begin(struct client *client, const struct http_head *head,
    struct http_refusal *refusal);

/* More of the body (taken over; may be empty); whole: the end of it. */
void request_body(struct request *r, struct chain *data, bool whole);

/* It will wait, for the rest of its body or for a server, and no attempt is
 * under way: keep what is to be sent in as little memory as it takes. */
void request_pack(struct request *r);

/* Release its body and head (upload.c). */
void request_drop_message(struct request *r);

/* Start the first attempt now if a server may take it, else queue. */
void request_dispatch(struct request *r);

/* Leave the queue, if it waits there, and begin an attempt on a server. */
void request_start(struct request *r, unsigned server, struct instant now);

/* No server knows of it: it waits for one again, with no attempt begun. */
void request_restart(struct request *r);

/* Take it back from a server that has not been sent a byte of it, as
 * request_restart.  False if it has no such attempt. */
bool request_move(struct request *r);

/* Ask for one more attempt because of trigger; starts it if allowed. */
void request_hedge(struct request *r, enum hedge_trigger trigger);

/* The first attempt has been sent: ask again if it is late (T6). */
void request_watch(struct request *r, unsigned server);

/* Answer from Tailor itself, unless committed (then the client is cut). */
void request_fail(struct request *r, unsigned status, const char *reason);

/* It is over: count it, log it, keep it in the history (finish.c). */
void request_record(struct request *r);

/* What the policy needs to know of it. */
void request_view(const struct request *r, struct hedge_view *out);

#endif
