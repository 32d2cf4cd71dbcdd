/* blame_jobs.h: a separate thread computes the answers to GET /blame.
 *
 * A job takes half a second; on the analysis thread, clients that ask for tales
 * would wait for it.  One job is computed at a time, and a few wait in memory.
 * The thread exists only while it computes; its priority is low.  It owns the
 * first job until it sets done.  Functions: the analysis thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "blame/report/report.h"
#include "proxy/analysis/accounts.h"
#include "proxy/analysis/analysis.h"

#define BLAME_JOBS 4 /* most jobs, with the one being computed */

struct blame_job {
	struct account_named *account; /* owned, 9 MB at most */
	size_t accounts, room;
	uint32_t counters;	  /* bits: counters that some accounts have */
	struct blame_exact exact; /* owned; of all requests, or empty */
	bool failed;		  /* true: memory ran out */
	enum tale_format format;
	char route[ACCOUNT_ROUTE], percentile[16]; /* "": all; "": 99 */
	struct analysis_answer answer;
};

struct blame_jobs {
	int wake_fd; /* borrowed: an eventfd, written when a job is done */
	struct blame_job job[BLAME_JOBS]; /* in the order they came */
	unsigned jobs;
	pthread_t thread; /* computes the first job, if started */
	bool started;
	atomic_bool done; /* the first job has its answer */
};

/* Make a job for q (BLAME), to be filled by the next three functions and then
 * started.  NULL: BLAME_JOBS jobs exist already. */
struct blame_job *
blame_jobs_new(struct blame_jobs *b, const struct analysis_question *q);

/* For accounts_read and latencies_read: copy accounts and latencies into a
 * struct blame_job. */
account_begin blame_job_begin;
account_take blame_job_take;
void blame_job_latency(void *user, const struct latency_block *sum);

/* Start the job from blame_jobs_new when the jobs before it are done. */
void blame_jobs_start(struct blame_jobs *b);

/* Take an answer; the caller owns its text.  False: no job is done. */
bool blame_jobs_take(struct blame_jobs *b, struct analysis_answer *out);

/* Wait for the job that is being computed, and free all jobs. */
void blame_jobs_fini(struct blame_jobs *b);
