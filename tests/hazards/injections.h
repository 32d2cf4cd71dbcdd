/*
 * injections.h: things that make a request slow, from inside the server.
 *
 * Each does its harm to the calling thread's request and says from when to when
 * the harm lasted, measured by itself with CLOCK_MONOTONIC.  How a harm shows
 * in the kernel's events is none of its business: it is the truth that a tale
 * is held against.
 */
#pragma once

#include <stdbool.h>

#include "base/instant.h"
#include "tests/hazards/http.h"

#define LOOK_NS 20000 /* between two looks at a socket's queue */

struct harm {
	struct instant begin, end; /* none: the whole handling of the request */
	int64_t cpu_ns; /* CPU time that is no harm; -1: the thread's in all */
	size_t bytes;	/* of the response */
	bool in_pieces; /* the response goes out as of a server with Nagle */
};

/* Of the last response in pieces: from its last write until it was sent. */
extern struct harm last_in_pieces;

/*
 * The injection that a query names, "kind=NAME", acts on its request.  Returns
 * 0, -ENOENT if there is none, or another negative errno; then the connection
 * is to be closed.
 */
int inject(struct connection *c, const struct request *r, struct harm *h);

/* CPU time of the calling thread, ns. */
int64_t cpu_time_ns(void);

/* Sleep so long, ns, whatever signals come. */
void sleep_ns(int64_t ns);

/*
 * Have the next request on c lost once: drop data that comes in, until the
 * kernel has dropped some, and let its second sending through.  Blocks until
 * it is dropped.  h: from the loss to the arrival of the same bytes again.
 */
int lose_next(struct connection *c, struct harm *h);

/* Start the thread that holds the lock of "take".  0 or a negative errno. */
int holder_start(void);
