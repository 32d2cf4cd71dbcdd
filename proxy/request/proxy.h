/* proxy.h: requests between clients and servers, and the policy that says where
 * they go.
 *
 * This room joins the two halves, clients (clients.h) and servers (upstream.h):
 * a request stands on one connection of each, or more.  struct proxy is the
 * whole state of the proxy thread but for what starts and stops it (daemon/).
 * What the policy wants is noted by proxy_want and carried out when the event
 * that caused it is over, so nothing here is re-entered. */
#pragma once

#include "base/topology.h"
#include "config/generation.h"
#include "hedging/steer.h"
#include "proxy/analysis/accounts.h"
#include "proxy/client/clients.h"
#include "proxy/request/request_id.h"
#include "proxy/request/slow_target.h"
#include "proxy/stats/ledger.h"
#include "proxy/stats/gain.h"
#include "proxy/upstream/upstream.h"
#include "talechain/tale/tale.h"

struct access_log;
struct analysis;
struct response_diff;
struct tale_api;

/* A server's response on its way to a client (response.h). */
struct response {
	struct block *head;	/* owned: without its last lines; NULL: none */
	struct chain body;	/* owned: payload until it is sent */
	struct block *trailers; /* owned: as they will be sent; NULL: none */
	int status;		/* 0: no head yet */
	enum http_framing framing;
	uint64_t length;
	bool has_length;
	bool by_close; /* of its server's: it ends with the connection */
	bool stream;   /* it has no end of its own (http_is_stream) */
	bool at_once;  /* must not be held back: a stream, among others */
	bool held;     /* not wanted, kept for want of a better one */
	bool complete; /* nothing more is awaited before it may be sent */
};

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
	char lines[512];	 /* framing and Tailor-* fields, empty line */
	size_t lines_length;

	struct response response;
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
	char client_address[INET6_ADDRSTRLEN + 8]; /* see origin.c */
	bool known; /* that client is in proxy.trust or talechain.allow */
	char trace_id[TRACE_ID + 1]; /* "": none */
	char method_text[16];
	char target[TALE_TEXT];
	enum http_method method;
	uint64_t cookie;     /* of the client's socket */
	bool method_allowed; /* may be sent twice */
	bool opted_out;
	bool minor_zero; /* an HTTP/1.0 client */
	bool looked_for; /* its client has ended its side: see request_seek */
	bool hostless;	 /* which named no host: each attempt names its own */
	bool private;	 /* its connection to a server is its client's own */
	bool keep_alive; /* client wants to stay */
	bool wants_body; /* the request has a framed body */
	bool trailers;	 /* takes trailers, and may have them */
	bool upgrade;	 /* asks for WebSocket (tunnel.c) */
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
	struct response_diff *compared; /* owned; NULL: not hedged */
	struct timer commit_timer, deadline_timer, late_timer;
	unsigned interims;	    /* 1xx passed on */
	int interim_from;	    /* by this attempt */
	int status;		    /* answered with */
	uint64_t sent_before;	    /* to its client, before its response */
	uint64_t response_bytes;    /* once it is over */
	uint64_t progress_bytes;    /* both ways, at the last deadline */
	const char *note;	    /* why not hedged, truncated, ...; static */
	enum hedge_refusal refusal; /* the latest */
	uint32_t refusals;	    /* those it is counted for, a bit each */

	struct instant accepted; /* only if the first of its connection */
	struct instant first_byte, received, committed;
	struct instant queued; /* if it had to wait for a server */
	uint64_t stream_begin;
};

/* Requests, linked by request.link or request.queue_link. */
TAILQ_HEAD(request_list, request);

/* Memory for the bodies of all requests: a thousand of hedging.body_max.
 * Beyond it they wait in files, and their requests are not hedged. */
#define BODIES_BYTES_MAX ((size_t)64 << 20)

#define TABLE_IDS 32

/* Requests in flight, and the last that finished (table.h). */
struct request_table {
	struct request_list inflight, unused;
	unsigned inflight_count;
	unsigned requests; /* structs made */
	unsigned ids;	   /* entries of id[] not used yet */
	uint64_t id[TABLE_IDS];

	struct tale_request *history; /* owned, history_max */
	unsigned history_max;
	uint64_t finished; /* ever; history index = finished % max */
	uint64_t *bucket;  /* owned: the newest one's number, from 1; or 0 */
	uint64_t *chain;   /* owned: of each, the one before in its bucket */
	uint64_t *hash;	   /* owned: of each one's id */
	unsigned bucket_mask;
	uint64_t *expired; /* owned: hashes of ids that left */
};

/* Requests that wait for a server (queue.h). */
struct queue {
	struct request_list waiting; /* borrowed, oldest first */
	unsigned length;
	struct instant unserved; /* since when no server is up, or none */
	struct instant looked;	 /* for attempts that last long */
};

#define SLOW_WINDOW_KEEP 64 /* most that slow.keep_slowest may be */

/* The slowest requests of the present window (slow.h). */
struct slow_window {
	struct instant end;
	unsigned count;
	int64_t total_ns[SLOW_WINDOW_KEEP]; /* the slowest so far */
};

/* Requests of which accounts are made (slow.h). */
struct slow_sample {
	uint64_t second;
	unsigned requests; /* of this second that were not slow */
	unsigned taken;	   /* of them, examined */
	double share;	   /* of them that are examined */
	uint32_t offered[ACCOUNT_STRATA]; /* since the last question */
};

struct proxy {
	const struct config *config; /* borrowed: the one in force */
	struct generation_list generations;
	struct profiler *profiler;     /* borrowed */
	struct timeline *timeline;     /* borrowed */
	struct counted_epochs counted; /* from the profiler, for accounts */
	struct analysis *analysis;     /* borrowed */
	struct tale_api *tales;	       /* borrowed */
	struct access_log *access_log; /* owned */
	struct talechain events;       /* our own channel */

	struct loop loop;
	struct clients clients;
	struct upstream upstream;

	struct hedging hedging;
	struct steer steer;
	struct work policy; /* carries these two out: */
	unsigned wanted;    /* enum hedging_action */
	bool hedges_wait;   /* some were refused because a server was full */
	struct timer wait_timer; /* a pause that is waited out (T4) */

	struct request_table table;
	struct queue queue;
	uint64_t body_kept_bytes;
	unsigned tunnels; /* open now */

	struct metrics metrics;
	struct ledger ledger;
	struct recent recent;
	struct gain *gain;		/* owned; NULL: never in watch mode */
	struct slow_window slow_window; /* of requests that were not slow */
	struct slow_window slow_worst;	/* and of those that were */
	struct slow_target slow_target;
	struct slow_sample slow_sample;

	/* what the admin socket reports */
	struct topology_plan plan; /* as carried out */
	char poll_text[32];	   /* "sleep:50us" */
	const char *stream_path;   /* borrowed; "" when private */
	size_t memory_bytes;	   /* the most that Tailor will take */
	struct instant started;
};

/* The proxy that a client's connection is part of. */
static inline struct proxy *
client_proxy(const struct client *c)
{
	return c->clients->user;
}

/* Emit one event into the proxy's channel, of now; _at: of a moment that is
 * known already and later than the channel's last. */
static inline void
proxy_emit(struct proxy *p, enum talechain_type type, uint64_t a0, uint64_t a1,
    uint64_t a2, uint64_t a3)
{
	talechain_emit(&p->events, type, a0, a1, a2, a3);
}
static inline void
proxy_emit_at(struct proxy *p, struct instant at, enum talechain_type type,
    const uint64_t a[4])
{
	talechain_emit_at(&p->events, at.ns, type, a[0], a[1], a[2], a[3]);
}
