/* blame_jobs.h: what GET /blame returns is computed by a thread of its own.
 *
 * It takes half a second, for which a client that asks for a tale would have to
 * wait.  One is computed at a time, and a few wait in memory.  The thread is
 * there while it computes; its priority is low.  It owns the first job until it
 * sets done.  Functions: the analysis thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "proxy/analysis/analysis.h"

#define BLAME_JOBS 4 /* at once, with that which is computed */

struct blame_job {
	char *table;	 /* owned: accounts as CSV, 3 MB at most */
	char *latencies; /* owned: of all requests, as CSV; or NULL */
	enum tale_format format;
	char route[ACCOUNT_ROUTE], percentile[16]; /* "": all; 99 */
	struct analysis_answer answer;
};

struct blame_jobs {
	int wake_fd; /* borrowed: an eventfd, written when one is done */
	struct blame_job job[BLAME_JOBS]; /* in the order they came */
	unsigned jobs;
	pthread_t thread; /* of the first, if started */
	bool started;
	atomic_bool done; /* the first has its answer */
};

/* Compute what q (BLAME) asks of both tables, which become the job's; latencies
 * may be NULL.  False: as many as may be are waiting, and the tables stay the
 * caller's. */
bool blame_jobs_put(struct blame_jobs *b, const struct analysis_question *q,
    char *table, char *latencies);

/* Take an answer; false: none is there.  Its text is the caller's. */
bool blame_jobs_take(struct blame_jobs *b, struct analysis_answer *out);

/* Wait for what is being computed, and forget all. */
void blame_jobs_fini(struct blame_jobs *b);
