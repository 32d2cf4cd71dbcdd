/* missed.h: slow requests that have no timeline, and why.
 *
 * The analysis counts them, and holds the latest for the list of slow requests.
 * Those with a timeline that shows nothing (events overwritten, or not read
 * yet) are not among them: their timeline says why.  Analysis thread; the
 * counters: any. */
#pragma once

#include <stdatomic.h>

#include "talechain/store/store.h"

#define MISSED_KEPT 256 /* a power of two */

/* Symbol, code, words. */
#define MISSED_REASONS(X)                                             \
	X(QUEUE, "queue", "too many waited for the analysis at once") \
	X(BUDGET, "budget", "analysis.cpu was used up: raise it")     \
	X(MEMORY, "memory", "there was no memory for it")             \
	X(LARGE, "large",                                             \
	    "it is over a quarter of slow.store_bytes: raise that")   \
	X(STORE, "store", "it could not be written (see the log)")

enum missed_reason {
#define MISSED_X(symbol, code, words) MISSED_##symbol,
	MISSED_REASONS(MISSED_X)
#undef MISSED_X
	    MISSED_COUNT
};

/* "budget"; "analysis.cpu was used up: raise it"; static texts. */
const char *missed_code(enum missed_reason reason);
const char *missed_words(enum missed_reason reason);

struct missed {
	struct tale_summary one[MISSED_KEPT]; /* a ring */
	uint64_t held;			      /* ever */
	/* QUEUE: only those that are held (slow_missed has all). */
	_Atomic uint64_t count[MISSED_COUNT];
};

/* The reason why a tale could not be made or kept, by a negative errno. */
enum missed_reason missed_by(int err);

/* Count a request, and hold it for the list. */
void missed_add(
    struct missed *m, const struct tale_request *r, enum missed_reason reason);
/* The latest but i, 0 the latest; NULL: no more are held. */
const struct tale_summary *missed_get(const struct missed *m, unsigned i);
