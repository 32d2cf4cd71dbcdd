/* replay.h: finished requests that are remembered: copies of them warm up a
 * restarted server and keep a backup warm.
 *
 * A request that may be hedged may not always be sent again later.  A request
 * is remembered if it is a GET, HEAD or OPTIONS without a body that got a 2xx
 * response, and warmup.exclude does not match its path; hedging.repeatable adds
 * no others.  A copy has the request line, the few fields that may be copied,
 * and X-Forwarded-For: unknown, so that the server does not take it for a local
 * request.  A request with credentials is remembered only if warmup.fields
 * names their field, and never if they are NTLM's or Negotiate's.
 *
 * The hash of a request's method and target gives its place; a newer request
 * replaces a different one there.  Cost: a hash of the request line for each
 * request, and a walk over the fields of each new one.  Proxy thread only. */
#pragma once

#include "config/config.h"
#include "http/http.h"

#define REPLAY_MAX 512	       /* places */
#define REPLAY_HEAD_BYTES 2048 /* longer copies are not kept */

/* The parts of a finished request that matter for a copy. */
struct replay_source {
	enum http_method method;
	bool has_body, hostless, opted_out;
	int status;
	struct slice head; /* as http_write_request made it */
};

/* Why a finished request is not remembered although its method may be. */
enum replay_refusal {
	REPLAY_BODY,	    /* it has a body */
	REPLAY_CREDENTIALS, /* Authorization or Cookie, not in warmup.fields;
			     * or NTLM, Negotiate */
	REPLAY_EXCLUDED,    /* by warmup.exclude */
	REPLAY_PATH,	    /* no pattern could match it: base/path_pattern.h */
	REPLAY_SIZE,	    /* more than REPLAY_HEAD_BYTES */
};
#define REPLAY_REFUSALS (REPLAY_SIZE + 1)

struct replay {
	char text[REPLAY_HEAD_BYTES]; /* head, without its last empty line */
	uint16_t length;	      /* 0: empty */
	enum http_method method;
	uint64_t hash; /* of the request line */
};

struct replay_table {
	struct replay *place; /* owned, REPLAY_MAX */
	uint64_t refused[REPLAY_REFUSALS];
};

/* 0 or -ENOMEM.  replay_table_fini accepts a table that is all zero, too. */
int replay_table_init(struct replay_table *t);
void replay_table_fini(struct replay_table *t);

/* "credentials"; static. */
const char *replay_refusal_name(enum replay_refusal refusal);

/* Write a copy of a request to out.
 *   head  from http_write_request, or an earlier copy: lines, each with its
 *         CRLF, no empty one
 * Returns the length, or -1 with *refusal set if it must not be copied. */
int replay_write(const struct config *c, struct slice head, char *out,
    size_t capacity, enum replay_refusal *refusal);

/* Remember a finished request, if that is allowed. */
void replay_record(struct replay_table *t, const struct config *c,
    const struct replay_source *r);

/* Drop the requests that a new configuration does not permit any more. */
void replay_table_review(struct replay_table *t, const struct config *c);

/* The next remembered request after position *at (any number at first), which
 * moves on; NULL if there is none.  Valid until the loop's turn ends. */
const struct replay *replay_next(const struct replay_table *t, unsigned *at);
