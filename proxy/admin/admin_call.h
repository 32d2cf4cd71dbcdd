/* admin_call.h: a call: a request that Tailor itself serves, on the admin
 * listener or under /.talechain/ on the others; and functions for its handler:
 * parameters, responses.
 *
 * A handler gets the call when the request is whole, and responds once:
 * immediately, or when the analysis thread has produced the text.  If the
 * client leaves first, the call is freed.  A long response is copied and sent a
 * piece at a time.  On the admin listener the body is read and dropped:
 * parameters are in the query.  A call is not in the table of requests.  Its
 * texts come from outside and are not trusted.  Proxy thread only. */
#pragma once

#include "proxy/admin/tale_api.h"
#include "proxy/client/clients.h"

struct admin_route;
struct proxy;
struct reload_result;

/* The admin listener, or the listener for metrics only. */
struct admin {
	bool metrics_only;
	const struct admin_route *routes; /* static */
	int (*reload)(void *user, struct reload_result *out);
	void *user;	     /* passed to reload */
	struct proxy *proxy; /* borrowed */
	struct clients clients;
	struct block_pool blocks; /* for clients */
	struct config config;	  /* for clients: constants */
	struct metrics metrics;	  /* for clients: not reported */
};

struct admin_call {
	struct proxy *proxy;   /* borrowed */
	struct admin *admin;   /* borrowed; NULL: path under /.talechain/ */
	struct client *client; /* borrowed */
	const struct admin_route *routes; /* static; the last fits any path */
	enum http_method method;
	const char *refused;	   /* reason for a 403; NULL: not refused */
	bool openmetrics;	   /* Accept names OpenMetrics */
	struct negotiation accept; /* forms of a tale, by Accept */
	struct slice query;	   /* in path, after its terminator */

	/* Only under /.talechain/. */
	struct chain body; /* owned, ANALYZE_BODY_MAX bytes at most */
	bool too_large;	   /* the body had more bytes */
	struct {	   /* for the access log, cut */
		char address[sizeof(((struct peer *)NULL)->address)];
		char method[16], target[128];
	} logged;

	struct tale_query question; /* to the analysis thread */
	bool asked;		    /* true while question is under way */
	enum tale_format format;    /* wanted */

	/* the response */
	char extra[NEGOTIATE_EXTRA_BYTES]; /* further header lines */
	char *text;			   /* owned: a body written in pieces */
	size_t length, given; /* bytes of text; bytes given so far */

	char path[]; /* as the client sent it */
};

/* A path and its handler; a path that ends in "*" fits all that begin so. */
struct admin_route {
	const char *method, *path; /* NULL: any method */
	void (*handler)(struct admin_call *call);
	void (*report)(struct proxy *p, struct json *j); /* or handler */
};

/* Make a call from a request's head; it serves the client from now on.  NULL
 * with *refusal: no memory. */
struct admin_call *admin_call_new(struct client *c, struct proxy *p,
    const struct admin_route *routes, const struct http_head *head,
    struct http_refusal *refusal);

/* Callback begin of struct client_events, for clients of the admin listener. */
bool admin_call_begin(struct client *c, const struct http_head *head,
    struct http_refusal *refusal);

/* Respond, with the header lines in call->extra; never cached.  The handler
 * must not use the call afterwards. */
void admin_reply(struct admin_call *call, unsigned status, const char *type,
    const char *text, size_t length);
/* Respond with a terminated text. */
void
admin_reply_text(struct admin_call *call, unsigned status, const char *text);
/* Respond with {"error": text}. */
void
admin_reply_error(struct admin_call *call, unsigned status, const char *text);
/* Respond with a finished document; j is empty afterwards. */
void admin_reply_json(struct admin_call *call, unsigned status, struct json *j);
/* Respond with the document that write() makes. */
void admin_reply_report(
    struct admin_call *call, void (*write)(struct proxy *p, struct json *j));

/* Return a number from the query, or fallback, clamped to [1, max]. */
unsigned admin_query_number(const struct admin_call *call, const char *name,
    unsigned fallback, unsigned max);

/* Copy a parameter of the query to out, decoded.  False, and out is "", if the
 * parameter is missing, empty or too long. */
bool admin_query_text(
    const struct admin_call *call, const char *name, char *out, size_t size);
