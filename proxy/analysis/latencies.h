/* latencies.h: how long all requests of each route took, minute by minute.
 *
 * Accounts cover a part of the requests; these histograms cover all, so their
 * percentiles are exact to the width of a bucket (base/histogram.h: at most
 * 0.8 % above the true value).  The proxy thread finds a request's route and
 * adds one to a counter that no other thread writes.  After each minute the
 * analysis thread writes a block per route, with the minute's counts, to the
 * store of accounts.  Without a store, or while writing fails, blocks are kept
 * in memory, LATENCIES_HELD bytes at most; the oldest are dropped first.  The
 * block also says where the route's tail begins (slow.h).
 *
 * Routes that have a place (routes.h) have a histogram each; all others share
 * the histogram of "other", which also counts their requests (unnamed).  A
 * route is one of blame.classes, or the method and the path's first segment.
 * 4 MB of counters, of which most pages are never touched. */
#pragma once

#include <stdatomic.h>

#include "base/text.h"
#include "proxy/analysis/routes.h"

#define LATENCY_NAMES 64 /* most routes in an answer, with "other" */
#define LATENCIES_HELD (4u << 20)
#define LATENCY_MEMOS 256
/* A request is of its route's tail beyond this quantile of the last minute that
 * had so many requests, or of the present one so far if that is lower. */
#define LATENCY_TAIL 0.95
#define LATENCY_TAIL_LEAST 100

struct latency_counts {
	_Atomic uint64_t unnamed;
	_Atomic uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Cache entry: the route of a method and path, found by their hash. */
struct latency_memo {
	uint64_t hash;	/* of method and path; 0: empty */
	uint64_t route; /* hash of the route's name */
	uint8_t place;
	bool unnamed;
};

struct latencies {
	struct routes *routes; /* borrowed */
	/* The proxy thread writes these. */
	struct latency_counts *counts; /* owned, by place */
	struct latency_memo memo[LATENCY_MEMOS];
	unsigned changes; /* routes->changes when memo was checked */
	/* The analysis thread writes it, the proxy thread reads it: where the
	 * tail begins, by place; 0: not known. */
	_Atomic int64_t tail_ns[ROUTE_PLACES];
	/* Any thread reads it: requests of routes without a place. */
	_Atomic uint64_t unnamed;

	/* The analysis thread: */
	struct latency_taken *taken; /* owned; counts in blocks, by place */
	struct latency_block *block; /* owned; the block being made */
	int64_t from_wall_ns;	     /* begin of the present minute */
	int64_t looked_wall_ns;	     /* for tails */
	struct account_store *spare; /* owned: in memory; NULL: not needed */
	uint64_t lost;		     /* blocks dropped before this spare */
	_Atomic uint64_t dropped;    /* blocks dropped for lack of memory */
};

/* Bytes that all latencies take at most. */
size_t latencies_bytes(void);

/* 0 or -ENOMEM; fini either way. */
int
latencies_init(struct latencies *l, struct routes *routes, int64_t now_wall_ns);
/* Write a last block of each route, and free the memory.  store may be NULL. */
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
 * Returns the route's name, valid until the next call.  Some 80 ns if the path
 * is in memo, else 250 ns, or 3 us with 32 classes of blame.classes; 300 ns
 * more if the route has no place.  Proxy thread.
 *   tail_ns  receives where the route's tail begins; 0: not known */
const char *latencies_count(struct latencies *l, const struct latency_key *key,
    int64_t total_ns, int64_t *tail_ns);

/* Empty memo: blame.classes has changed.  Proxy thread. */
void latencies_forget(struct latencies *l);

/* A route has lost its place: make its last block.  Analysis thread. */
void latencies_end(struct latencies *l, struct account_store *store,
    unsigned place, int64_t now_wall_ns);

/* If a minute is over, make its blocks.  Analysis thread. */
void latencies_tick(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns);

/* Call take with the sum of each route's blocks that lie within [from_wall_ns,
 * to_wall_ns], in files and in memory.  Counts since the last block are a block
 * that ends at now_wall_ns.  The first sum is "other", the next ones are of the
 * LATENCY_NAMES - 1 routes with most requests.  0, -ENOMEM or another negative
 * errno.  Analysis thread. */
int latencies_read(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    void (*take)(void *user, const struct latency_block *sum), void *user);

/* As latencies_read, but append the sums as CSV, one line per bucket that is
 * not empty, after a line of column names:
 *   route    its name
 *   from_ns  begin of its first block
 *   to_ns    end of its last block
 *   unnamed  its requests that were of routes without a place ("other")
 *   le_ns    largest value of the bucket
 *   requests requests in the bucket */
int latencies_write(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    struct text *t);
