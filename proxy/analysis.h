/*
 * analysis.h: slow requests are examined away from the proxy thread.
 *
 * A thread of low priority slices the timeline stream for requests that were
 * slow, before the stream overwrites them, and keeps the last few tales; it
 * also renders tales on demand.  The proxy thread talks to it through two
 * rings (single producer, single consumer) and two eventfds and never waits.
 */
#ifndef TAILOR_PROXY_ANALYSIS_H
#define TAILOR_PROXY_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "talechain/timeline.h"

struct analysis;

enum tale_format {
	TALE_FORMAT_TEXT,
	TALE_FORMAT_JSON,
};

struct analysis_question {
	uint64_t cookie; /* the asker's, returned with the answer */
	bool known;	 /* request is filled in beyond its id */
	bool keep;	 /* put the tale into the store */
	bool silent;	 /* no answer wanted */
	bool has_client; /* client's stamps are given */
	enum tale_format format;
	struct tale_request request; /* known: all of it; else external_id */
	struct tale_client client;
};

struct analysis_answer {
	uint64_t cookie;
	int status; /* 200, 404 not in the store, 500 no memory */
	char *text; /* owned by the taker; NULL unless 200 */
	size_t length;
};

/*
 * Start the thread.  keep: how many slow tales are kept, 1 .. 65536.
 * Returns 0 or a negative errno.  analysis_free stops it.
 */
int
analysis_new(struct analysis **out, struct timeline *timeline, unsigned keep);
void analysis_free(struct analysis **ap);

/* Ask.  False when the ring is full.  Proxy thread. */
bool analysis_ask(struct analysis *a, const struct analysis_question *q);

/* Examine and keep a slow request.  False when the ring is full. */
bool analysis_keep(struct analysis *a, const struct tale_request *request);

/* Readable when answers wait; take them all.  Proxy thread. */
int analysis_fd(const struct analysis *a);
bool analysis_take(struct analysis *a, struct analysis_answer *out);

#endif
