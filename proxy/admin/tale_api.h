/* tale_api.h: asking Tailor about a request.
 *
 * Under /.talechain/ on the ordinary listeners (for clients in talechain.allow
 * and those with the token) and on the admin listener.  The analysis thread
 * answers later; the client may be gone by then.  Proxy thread only. */
#pragma once

#include <sys/queue.h>

#include "proxy/admin/token.h"
#include "proxy/analysis/analysis.h"
#include "proxy/net/buffer.h"

struct client;
struct proxy;

/* One question under way. */
struct tale_query {
	TAILQ_ENTRY(tale_query) link;
	uint64_t cookie;
	int missing; /* HTTP status if the analysis does not find the tale */
	/* Called once; the query is not referred to afterwards. */
	void (*done)(struct tale_query *q, int status, const char *type,
	    const char *text, size_t length);
	void *user;
};

/* Questions, linked by tale_query.link. */
TAILQ_HEAD(tale_query_list, tale_query);

struct tale_api {
	struct tale_query_list queries; /* under way */
	uint64_t cookie;		/* of the latest question */
	struct token token;		/* of talechain.token_file */
};

/* Begin without questions or a token.  There is no fini. */
void tale_api_init(struct tale_api *t);

/* Ask for the tale of a request, by the id that the request's client saw.
 * q->done may be called before this returns (ring full).
 *   client  that client's own stamps, or NULL
 *   keep    keep the tale in the store of slow requests */
void tale_query(struct proxy *p, struct tale_query *q, const char *id,
    enum tale_format format, const struct tale_client *client, bool keep);

/* Put another question to the analysis (a list, a report).  Sets
 * question->cookie; takes ownership of question->report and name. */
void tale_ask(
    struct proxy *p, struct tale_query *q, struct analysis_question *question);

/* Forget a question under way: its client has gone. */
void tale_query_cancel(struct proxy *p, struct tale_query *q);

/* Take answers, when the analysis' eventfd is readable. */
void tale_answers(struct proxy *p);

/* --- on the listeners ---------------------------------------------------- */

/* True if a request is for Tailor itself. */
bool tale_call_wanted(const struct http_head *head);

/* Begin to serve such a request; as begin of struct client_events. */
bool tale_call_begin(struct client *c, const struct http_head *head,
    struct http_refusal *refusal);
