/* blame_jobs.h: what GET /blame returns is computed by a thread of its own.
 *
 * It takes half a second, for which a client that asks for a tale would have to
 * wait.  One is computed at a time, and a few wait in memory.  The thread is
 * there while it computes; its priority is low.  It owns the first job until it
 * sets done.  Functions: the analysis thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "blame/report/report.h"
#include "proxy/analysis/accounts.h"
#include "proxy/analysis/analysis.h"

#define BLAME_JOBS 4 /* at once, with that which is computed */

struct blame_job {
	struct account_named *account; /* owned, 9 MB at most */
	size_t accounts, room;
	uint32_t counters;	  /* that some of them have */
	struct blame_exact exact; /* owned; of all requests, or empty */
	bool failed;		  /* memory ran out */
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

/* A job for q (BLAME), to be filled by the next three and then started; NULL:
 * as many as may be are waiting. */
struct blame_job *
blame_jobs_new(struct blame_jobs *b, const struct analysis_question *q);

/* For accounts_read and latencies_read: copy accounts and latencies into a
 * struct blame_job. */
account_begin blame_job_begin;
account_take blame_job_take;
void blame_job_latency(void *user, const struct latency_block *sum);

/* Compute it as soon as those before it are done. */
void blame_jobs_start(struct blame_jobs *b);

/* Take an answer; false: none is there.  Its text is the caller's. */
bool blame_jobs_take(struct blame_jobs *b, struct analysis_answer *out);

/* Wait for what is being computed, and forget all. */
void blame_jobs_fini(struct blame_jobs *b);
