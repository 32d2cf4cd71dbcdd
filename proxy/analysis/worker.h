/* worker.h: how the analysis thread answers a question: slice, explain, keep,
 * list, render.  Analysis thread only, but for the counters. */
#pragma once

#include <stdatomic.h>

#include "proxy/analysis/analysis.h"
#include "proxy/analysis/blame_jobs.h"

#define TALE_CANDIDATES 64 /* most candidates of a window */

/* A tale that is kept if nothing slower comes before its window ends. */
struct tale_candidate {
	struct tale *tale; /* owned */
	struct tale_summary summary;
};

struct tale_work {
	struct timeline_reader *reader;	      /* owned */
	struct symbols *symbols;	      /* owned */
	struct tale_checkpoints *checkpoints; /* owned; of the reader */
	struct tale_store *store; /* owned; NULL: cannot be opened */
	struct routes routes;	  /* shared with the proxy thread */
	struct accounts accounts;
	struct tail tail;		/* of the accounts */
	struct latencies latencies;	/* of all requests */
	struct blame_jobs blame;	/* the caller sets its wake_fd */
	struct tale_store *spare;	/* owned: memory, while store fails */
	struct tale_store_stats spares; /* sum over earlier spares */
	struct instant tried;		/* last try of a store that fails */
	const char *directory;		/* borrowed; "": in memory */
	struct tale_store_options options, spare_options;
	uint64_t account_bytes;
	int64_t settle_ns;
	struct missed missed;
	struct tale_candidate candidate[TALE_CANDIDATES];
	unsigned candidates;
	struct instant window_end; /* of the candidates */
	char boot_id[37], host[65];

	/* Set by any thread: wait no longer for events. */
	atomic_bool closing;

	/* Wait ns; false: a client's question came meanwhile. */
	bool (*wait)(void *user, int64_t ns);
	void *user;

	struct analysis_stats stats;
};

/* 0 or a negative errno; the caller calls fini either way. */
int tale_work_init(struct tale_work *w, const struct analysis_options *o);
void tale_work_fini(struct tale_work *w);

enum tale_work_result {
	TALE_WORK_DONE,	  /* done, without an answer */
	TALE_WORK_ANSWER, /* *answer is to be sent */
	TALE_WORK_LATER,  /* call again: a KEEP question was put off */
};

/* Process a question; *answer is complete if the result is ANSWER. */
enum tale_work_result tale_work_do(struct tale_work *w,
    struct analysis_question *q, struct analysis_answer *answer);

/* Write candidates, accounts and latencies that are due: at the end of a window
 * or minute, before each question, and every ten seconds. */
void tale_work_tick(struct tale_work *w);
