/* alone.h: when requests would have started, and ended, without borrowing.
 *
 * A server has one queue and some workers, first come first served.  Each
 * request's service time alone is what it took less what borrowing cost it.
 * From these the instants at which the workers would have become free follow
 * in the order of starts: request r would have started when it had come and
 * the first worker was free.
 *
 * A request that still runs has shown only a part of its service time.  Until
 * it ends, what follows from it is a lower bound: later requests are taken to
 * be more delayed than they are, never less.
 *
 * Pure; allocates nothing. */
#pragma once

#include "base/instant.h"

#define ALONE_WORKERS 64
/* Requests that are remembered: those that run, and those that started after
 * the first of them.  Of more, the first counts as if it ended now. */
#define ALONE_REQUESTS 256

struct alone_request {
	struct instant arrived, begun;
	struct instant start; /* alone; a lower bound while others run */
	/* The cost of borrowing at from; since then, and until, batch work runs
	 * beside it. */
	int64_t cost_ns;
	struct instant from, until;
	double loss;
	int64_t service_ns; /* alone; < 0: it runs */
};

struct alone {
	unsigned workers;
	/* When each worker would have become free, before request first. */
	struct instant free[ALONE_WORKERS];
	struct alone_request request[ALONE_REQUESTS]; /* by number, modulo */
	uint64_t first, next;			      /* numbers */
};

/* alone_init(a, workers): 1 <= workers <= ALONE_WORKERS. */
void alone_init(struct alone *a, unsigned workers);

/* A request starts.  Returns its number. */
uint64_t
alone_start(struct alone *a, struct instant arrived, struct instant now);

/* From now on, and until then, batch work runs beside a request: of each moment
 * it loses the part loss. */
void alone_overlap(struct alone *a, uint64_t number, struct instant until,
    double loss, struct instant now);

/* A request ends. */
void alone_finish(struct alone *a, uint64_t number, struct instant now);

/* By how much a request that runs is later than alone, ns, at most: how much
 * later it began, and what it was slowed by since.  INT64_MAX if it is not
 * remembered.  O(requests * workers). */
int64_t alone_delay_ns(struct alone *a, uint64_t number, struct instant now);
