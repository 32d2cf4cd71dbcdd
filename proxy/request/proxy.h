/* proxy.h: requests between clients and servers, and the policy that chooses
 * their servers.
 *
 * This room joins the two halves, clients (clients.h) and servers (upstream.h):
 * a request uses one client connection and one connection to a server, or more.
 * struct proxy is the whole state of the proxy thread except what starts and
 * stops it (daemon/).  proxy_want notes what the policy wants; that is carried
 * out when the event that caused it is over, so nothing here is re-entered. */
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
	bool by_close; /* it ends when its server closes the connection */
	bool stream;   /* it has no end of its own (http_is_stream) */
	bool at_once;  /* must not be held back: a stream, among others */
	bool held;     /* not acceptable: sent if no better one comes */
	bool complete; /* may be sent: nothing more is awaited */
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
	bool due;    /* commit it when this read is over */
	bool reused; /* its connection had carried a request before */

	const char *outcome;   /* static */
	uint64_t cookie;       /* of its socket */
	struct instant hazard; /* begin of the hazard it hedges, or none */
	struct instant begun, written; /* started; its first byte sent */
	struct instant first_byte, completed;
};

struct request {
	TAILQ_ENTRY(request) link; /* in flight, oldest first; or free */
	TAILQ_ENTRY(request) queue_link;
	struct proxy *proxy;	       /* borrowed */
	struct client *client;	       /* borrowed; NULL when it left */
	struct generation *generation; /* held: its configuration */
	enum request_state state;

	uint64_t id;
	char external_id[65];
	char client_address[INET6_ADDRSTRLEN + 8]; /* see origin.c */
	bool known; /* client in proxy.trusted_proxies or talechain.allow */
	char trace_id[TRACE_ID + 1]; /* "": none */
	char method_text[16];
	char target[TALE_TEXT];
	enum http_method method;
	uint64_t cookie;     /* of the client's socket */
	bool method_allowed; /* its method may be sent twice (E1) */
	bool opted_out;
	bool minor_zero; /* an HTTP/1.0 client */
	bool looked_for; /* request_seek has sent an interim response */
	bool hostless;	 /* names no host: each attempt adds its server's */
	bool private;	 /* uses its client's own connection to a server */
	bool keep_alive; /* client wants to keep its connection */
	bool wants_body; /* the request has a framed body */
	bool trailers;	 /* its client takes trailers, and may get them */
	bool upgrade;	 /* asks for WebSocket (tunnel.c) */
	bool tunnel;	 /* is a WebSocket; body is the client's stream */

	struct iovec head;   /* for the servers; lies in block or packed */
	struct block *block; /* owned; NULL: the head lies in packed */
	char *packed;	     /* owned: see request_pack; or NULL */
	struct iovec small;  /* the body, if it is in packed; else empty */
	struct chain body;   /* owned: the part in memory */
	struct spool spool;  /* owned: the part of the body in a file */
	uint64_t body_kept;  /* its share of proxy.body_kept_bytes */
	uint64_t body_bytes; /* length of the whole body, once known */
	bool body_whole;     /* the whole body has arrived */

	struct race race;
	struct attempt attempt[RACE_ATTEMPTS];
	struct response_diff *compared; /* owned; NULL: not hedged */
	struct timer commit_timer, deadline_timer, late_timer;
	unsigned interims;	    /* 1xx responses passed on */
	int interim_from;	    /* attempt that sent the 1xx responses */
	int status;		    /* of the response to the client */
	uint64_t sent_before;	    /* client.sent_bytes when it began */
	uint64_t response_bytes;    /* sent to the client; set at the end */
	uint64_t progress_bytes;    /* both ways, at the last deadline */
	const char *reason;	    /* why it failed; static; or NULL */
	uint8_t termination;	    /* set with reason */
	enum hedge_refusal refusal; /* the latest */
	uint32_t refusals;	    /* kinds already counted, a bit each */

	struct client_arrival arrival; /* if its connection's first request */
	struct instant first_byte, received, committed;
	struct instant queued; /* if it had to wait for a server */
	uint64_t stream_begin;
};

/* Requests, linked by request.link or request.queue_link. */
TAILQ_HEAD(request_list, request);

/* Memory for the bodies of all requests: a thousand of hedging.body_max.
 * Further bodies wait in files, and their requests are not hedged. */
#define BODIES_BYTES_MAX ((size_t)64 << 20)

#define TABLE_IDS 32

/* Requests in flight, and those that finished last (table.h). */
struct request_table {
	struct request_list inflight, unused;
	unsigned inflight_count;
	unsigned requests; /* structs made */
	unsigned ids;	   /* entries of id[] not used yet */
	uint64_t id[TABLE_IDS];

	struct tale_request *history; /* owned, history_max */
	unsigned history_max;
	uint64_t finished; /* ever; history index = finished % max */
	uint64_t *bucket;  /* owned: number of its newest, from 1; 0: empty */
	uint64_t *chain;   /* owned: number of the next older in the bucket */
	uint64_t *hash;	   /* owned: hash of the id, per place in history */
	unsigned bucket_mask;
	uint64_t *expired; /* owned: hashes of ids that left history */
};

/* Requests that wait for a server (queue.h). */
struct queue {
	struct request_list waiting; /* borrowed, oldest first */
	unsigned length;
	struct instant unserved; /* since when no server is up, or none */
	struct instant looked;	 /* last check for attempts that last long */
};

#define SLOW_WINDOW_KEEP 64 /* most that slow.keep_slowest may be */

/* The slowest requests of the present window (slow.h). */
struct slow_window {
	struct instant end;
	unsigned count;
	int64_t total_ns[SLOW_WINDOW_KEEP]; /* of the slowest so far */
};

/* The sample of the requests that are not of the tail (slow.h). */
struct slow_sample {
	uint64_t turn;	   /* part of a second, by number */
	uint32_t requests; /* in this turn so far; 0: none is held */
	uint32_t offered[ACCOUNT_STRATA]; /* requests since last question */
	struct tale_request held;	  /* the one chosen so far */
	char route[ACCOUNT_ROUTE];	  /* of held */
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
	struct work policy; /* runs proxy_carry_out */
	unsigned wanted;    /* actions to carry out: enum hedging_action */
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
	struct slow_window slow_worst;	/* of requests that were slow */
	struct slow_window slow_failed; /* of requests that failed */
	struct slow_target slow_target;
	struct slow_sample slow_sample;
	struct timer slow_timer; /* end of the sample's turn */

	/* what the admin socket reports */
	struct topology_plan plan; /* as carried out */
	char poll_text[32];	   /* "sleep:50us" */
	const char *stream_path;   /* borrowed; "" when private */
	size_t memory_bytes;	   /* the most memory that Tailor takes */
	struct instant started;
};

/* The proxy that a client belongs to. */
static inline struct proxy *
client_proxy(const struct client *c)
{
	return c->clients->user;
}

/* Emit one event into the proxy's channel, with the time now; _at: with a time
 * that the caller read before, not earlier than the channel's last event. */
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
