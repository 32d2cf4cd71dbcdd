/* replay.h: finished requests that are remembered, so that copies of them warm
 * a restarted server up and keep a standby warm.
 *
 * What may be sent twice now is not what may be sent again later.  Remembered
 * are GET, HEAD and OPTIONS without a body that were answered with 2xx and
 * whose path warmup.exclude does not match, never what only hedging.allow
 * permits.  A copy has the request line, the few fields that may be copied, and
 * X-Forwarded-For: unknown, for it is not Tailor's own request;
 * a request with credentials is not remembered at all, unless warmup.fields
 * names their field (and they are not NTLM's or Negotiate's).
 *
 * A request is kept in the place that its method and target hash to, so they
 * are distinct by these and the newest replaces another.  Cost: a hash of the
 * request line for each request, and one walk over the fields for each that is
 * new.  Proxy thread only. */
#pragma once

#include "config/config.h"
#include "http/http.h"

#define REPLAY_MAX 512	       /* places */
#define REPLAY_HEAD_BYTES 2048 /* longer copies are not kept */

/* A finished request, as far as a copy of it is concerned. */
struct replay_source {
	enum http_method method;
	bool has_body, hostless, opted_out;
	int status;
	struct slice head; /* as http_write_request made it */
};

/* Why a finished request is not remembered although its method may be. */
enum replay_refusal {
	REPLAY_BODY,	    /* it has one */
	REPLAY_CREDENTIALS, /* Authorization or Cookie, not in warmup.fields;
			     * or a connection's */
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

/* 0 or -ENOMEM; fini also of a table that is all zero. */
int replay_table_init(struct replay_table *t);
void replay_table_fini(struct replay_table *t);

/* "credentials"; static. */
const char *replay_refusal_name(enum replay_refusal refusal);

/* Write the copy of a request.
 *   head  as http_write_request made it, or an earlier copy: lines, each with
 *         its CRLF, no empty one
 * Returns the length, or -1 with *refusal set: it must not be copied. */
int replay_write(const struct config *c, struct slice head, char *out,
    size_t capacity, enum replay_refusal *refusal);

/* Remember a finished request, if it may be. */
void replay_record(struct replay_table *t, const struct config *c,
    const struct replay_source *r);

/* The configuration has changed: drop what it does not permit any more. */
void replay_table_review(struct replay_table *t, const struct config *c);

/* The next remembered one after position *at (any number at first); NULL if
 * there is none.  Valid until the loop's turn ends. */
const struct replay *replay_next(const struct replay_table *t, unsigned *at);
