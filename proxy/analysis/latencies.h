/* latencies.h: how long all requests of each route took, minute by minute.
 *
 * Accounts are of a part of all requests; these histograms are of all, so a
 * percentile of them is exact to the width of a bucket (base/histogram.h: at
 * most 0.8 % above the true one).  The proxy thread finds a request's route and
 * adds one to a counter that only it writes.  When a minute is over, the
 * analysis thread takes what has been added since, by route, into the store of
 * accounts; without one, or while it cannot be written, into one in memory,
 * LATENCIES_HELD bytes at most, of which the oldest go.
 *
 * Routes that have a place (routes.h) have a histogram of their own; others are
 * counted in "other", and how many those are is counted there.  A route is one
 * of blame.classes, or the method and the path's first segment.  4 MB of
 * counters, of which most pages are never touched. */
#pragma once

#include <stdatomic.h>

#include "base/text.h"
#include "proxy/analysis/routes.h"

#define LATENCY_NAMES 64 /* that one answer has; others are in "other" */
#define LATENCIES_HELD (4u << 20)
#define LATENCY_MEMOS 256

struct latency_counts {
	_Atomic uint64_t unnamed;
	_Atomic uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* The route of a method and path, at the place of their hash. */
struct latency_memo {
	uint64_t hash;	/* 0: nothing */
	uint64_t route; /* the hash of its route */
	uint8_t place;
	bool unnamed;
};

struct latencies {
	struct routes *routes; /* borrowed */
	/* The proxy thread writes these. */
	struct latency_counts *counts; /* owned, by place */
	struct latency_memo memo[LATENCY_MEMOS];
	unsigned changes; /* of routes, at the last look */
	/* Any thread reads: requests of routes without a place. */
	_Atomic uint64_t unnamed;

	/* The analysis thread: */
	struct latency_taken *taken; /* owned; what is in blocks, by place */
	struct latency_block *block; /* owned; one that is made */
	int64_t from_wall_ns;	     /* the present block's */
	struct account_store *spare; /* owned: in memory; NULL: none needed */
	uint64_t lost;		     /* of earlier ones */
	_Atomic uint64_t dropped;    /* blocks that memory had no room for */
};

/* Bytes that all latencies take at most. */
size_t latencies_bytes(void);

/* 0 or -ENOMEM; fini either way. */
int
latencies_init(struct latencies *l, struct routes *routes, int64_t now_wall_ns);
/* Writes what is in no block yet.  store may be NULL. */
void latencies_fini(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns);

/* All that the route of a request depends on. */
struct latency_key {
	char *const *class; /* blame.classes, n of them */
	unsigned n;
	const char *method, *target;
	int status;
	struct instant now;
};

/* Count a request of the route that account_class finds, or of "other".
 * Returns the route's name, valid until the next call.  Some 80 ns if its path
 * was among the last, else 250, or 3 us with 32 classes of blame.classes; 300
 * more if it has no place.  Proxy thread. */
const char *latencies_count(
    struct latencies *l, const struct latency_key *key, int64_t total_ns);

/* Other classes are in force from now on.  Proxy thread. */
void latencies_forget(struct latencies *l);

/* A route has lost its place: make its last block.  Analysis thread. */
void latencies_end(struct latencies *l, struct account_store *store,
    unsigned place, int64_t now_wall_ns);

/* If a minute is over, make its blocks.  Analysis thread. */
void latencies_tick(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns);

/* Take the sum of each route over the blocks that lie within [from_wall_ns,
 * to_wall_ns], files' and memory's, and over what has been counted since the
 * last one, up to now_wall_ns, for the LATENCY_NAMES - 1 routes with most
 * requests then; the rest is "other", the first.
 * 0, -ENOMEM or another negative errno.  Analysis thread. */
int latencies_read(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    void (*take)(void *user, const struct latency_block *sum), void *user);

/* Append these as CSV with a line of names:
 *   route, from_ns, to_ns  which block is the first and the last one
 *   unnamed  of all: requests of routes without a place ("other")
 *   le_ns    the largest value of the bucket
 *   requests how many are in it
 * As latencies_read. */
int latencies_write(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    struct text *t);
