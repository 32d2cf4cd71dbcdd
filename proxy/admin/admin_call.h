/* admin_call.h: a request that Tailor itself serves, on the admin listener or
 * under /.talechain/ on the others, and what its handler needs: parameters,
 * responses.
 *
 * A handler gets the call when the request is whole, and responds once: at
 * once, or when the analysis thread has its text.  A client that leaves before
 * takes the call with it.  A long response is copied, and given to its client a
 * piece at a time.  The body on the admin listener is read and dropped:
 * parameters are in the query.  A call is not in the table of requests.  All of
 * it is a stranger's text.  Proxy thread only. */
#pragma once

#include "proxy/admin/tale_api.h"
#include "proxy/client/clients.h"

struct admin_route;
struct proxy;
struct reload_result;

/* The admin listener, or the one for metrics alone. */
struct admin {
	bool metrics_only;
	const struct admin_route *routes; /* static */
	int (*reload)(void *user, struct reload_result *out);
	void *user;	     /* of reload */
	struct proxy *proxy; /* borrowed */
	struct clients clients;
	struct block_pool blocks; /* of these clients */
	struct config config;	  /* of these clients: constants */
	struct metrics metrics;	  /* of these clients: not reported */
};

struct admin_call {
	struct proxy *proxy;   /* borrowed */
	struct admin *admin;   /* borrowed; NULL: it is under /.talechain/ */
	struct client *client; /* borrowed */
	const struct admin_route *routes; /* static; the last one fits all */
	enum http_method method;
	const char *refused;	   /* why it gets a 403; NULL: it is served */
	bool openmetrics;	   /* of Accept, as is the next */
	struct negotiation accept; /* forms of tales */
	struct slice query;	   /* in path, behind its end */

	/* of a call under /.talechain/ */
	struct chain body; /* owned, ANALYZE_BODY_MAX bytes at most */
	bool too_large;	   /* it had more */
	struct {	   /* for the access log, cut */
		char address[sizeof(((struct peer *)NULL)->address)];
		char method[16], target[128];
	} logged;

	struct tale_query question; /* to the analysis thread */
	bool asked;		    /* it is under way */
	enum tale_format format;    /* wanted */

	/* the response */
	char extra[NEGOTIATE_EXTRA_BYTES]; /* whole further lines */
	char *text;	      /* owned: what is written in pieces */
	size_t length, given; /* of it */

	char path[]; /* as sent */
};

/* One path, or all that begin so if it ends in "*", and what serves it. */
struct admin_route {
	const char *method, *path; /* NULL: any method */
	void (*handler)(struct admin_call *call);
	void (*report)(struct proxy *p, struct json *j); /* instead */
};

/* Begin a call with its client's head, in place of what served the client
 * before.  NULL with *refusal: no memory. */
struct admin_call *admin_call_new(struct client *c, struct proxy *p,
    const struct admin_route *routes, const struct http_head *head,
    struct http_refusal *refusal);

/* Callback begin of struct client_events, for clients of the admin listener. */
bool admin_call_begin(struct client *c, const struct http_head *head,
    struct http_refusal *refusal);

/* Respond, with call->extra; never cached.  The call is gone on return, or will
 * be without the handler's doing. */
void admin_reply(struct admin_call *call, unsigned status, const char *type,
    const char *text, size_t length);
/* The same with a text. */
void
admin_reply_text(struct admin_call *call, unsigned status, const char *text);
/* {"error": text} */
void
admin_reply_error(struct admin_call *call, unsigned status, const char *text);
/* A finished document, which is taken. */
void admin_reply_json(struct admin_call *call, unsigned status, struct json *j);
/* The document that write() makes. */
void admin_reply_report(
    struct admin_call *call, void (*write)(struct proxy *p, struct json *j));

/* A number from the query, bent into [1, max]. */
unsigned admin_query_number(const struct admin_call *call, const char *name,
    unsigned fallback, unsigned max);

/* A parameter of the query into out, decoded; false, and "", if it is not
 * there, empty or too long. */
bool admin_query_text(
    const struct admin_call *call, const char *name, char *out, size_t size);
