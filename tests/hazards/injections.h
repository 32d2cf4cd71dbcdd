/*
 * injections.h: things that make a request slow, from inside the server.
 *
 * Each does its harm to the calling thread's request, answers it on
 * connection c, and says from when to when the harm lasted, measured by
 * itself with CLOCK_MONOTONIC.  How a harm shows in the kernel's events is
 * none of its business: it is the truth that a tale is held against.
 */
#pragma once

#include "base/instant.h"
#include "tests/hazards/http.h"

struct harm {
	struct instant begin, end; /* none: nothing was injected */
};

/* Returns 0 or a negative errno; then the connection is to be closed. */
typedef int
injection(struct connection *c, const struct request *r, struct harm *h);

/* The injection of a path, or NULL. */
injection *injection_find(const char *path);

/* Spend that much of a CPU's time: what is taken away comes on top. */
void burn_us(long us);

/*
 * Have the next request on c lost once: drop data that comes in, until the
 * kernel has dropped some, and let its second sending through.  Blocks until
 * it is dropped.  h: from the loss to the arrival of the same bytes again.
 */
int lose_next(struct connection *c, struct harm *h);

/* Start the thread that holds the lock of /lock.  0 or a negative errno. */
int holder_start(void);
