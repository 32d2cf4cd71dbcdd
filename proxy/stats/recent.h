/* recent.h: the last ten minutes, for the live page.
 *
 * The proxy thread records requests, hazards and heaps in small rings; the live
 * page shows a copy.  Cost: some 25 KiB, and a few additions per request. */
#pragma once

#include "talechain/events/hazard.h"

#define RECENT_SLICES 60
#define RECENT_SLICE_NS (10 * NS_PER_S)
#define RECENT_WINDOW_NS (RECENT_SLICES * RECENT_SLICE_NS)
#define RECENT_BUCKETS 22
#define RECENT_HAZARDS 512
#define RECENT_HEAPS 240 /* entries of a minute */
#define RECENT_HEAP_NS (250 * NS_PER_MS)
#define RECENT_HEAP_UNKNOWN 255
#define RECENT_SERVERS 2

/* Requests that finished in one slice of time. */
struct recent_slice {
	uint64_t number; /* time / RECENT_SLICE_NS; otherwise out of date */
	uint32_t requests, slow, again;	 /* again: sent twice */
	uint32_t active;		 /* server active at the slice's end */
	uint32_t bucket[RECENT_BUCKETS]; /* see recent_bucket_edge_ns */
};

struct recent_hazard {
	uint8_t server, kind, cause;
	struct instant begin, end; /* end not set: not over */
	struct instant noticed;	   /* when the proxy learned of begin */
};

/* How full the servers' edens were, percent, at most 200; or
 * RECENT_HEAP_UNKNOWN. */
struct recent_heap {
	uint64_t number; /* time / RECENT_HEAP_NS */
	uint8_t used[RECENT_SERVERS], active;
};

struct recent {
	struct recent_slice slice[RECENT_SLICES];
	struct recent_hazard hazard[RECENT_HAZARDS];
	uint64_t hazards; /* ever */
	struct recent_heap heap[RECENT_HEAPS];
};

/* A finished request. */
struct recent_request {
	struct instant at;
	int64_t total_ns;
	bool slow, again; /* again: sent to a second server */
	unsigned active;  /* active server */
};

/* Record a finished request; or a hazard's begin or end, of which the proxy
 * learned now.  Proxy thread. */
void recent_note(struct recent *l, const struct recent_request *r);
void recent_hazard_note(
    struct recent *l, const struct hazard *h, struct instant now);

/* Record how full the servers' edens are: 1 is full, may be more; < 0: unknown.
 * At most one call per RECENT_HEAP_NS has an effect. */
void recent_heap_note(struct recent *l, struct instant now,
    const double used[RECENT_SERVERS], unsigned active);

/* The recent rate of a counter, from two readings of it. */
#define RECENT_RATE_NS (10 * NS_PER_S)

struct recent_rate {
	struct instant at[2]; /* times of the last two readings; or not set */
	uint64_t total[2];
};

/* Read the counter, if RECENT_RATE_NS have passed since the last reading. */
void
recent_rate_read(struct recent_rate *r, struct instant now, uint64_t total);

/* Return the growth of the counter per second over the last 10 to 20 s, or
 * since the first reading; 0 before that. */
double recent_rate_per_s(
    const struct recent_rate *r, struct instant now, uint64_t total);

/* Return the upper edge of bucket i: 1, 2, 5, 10, ... times 10 us; INT64_MAX
 * for the last. */
int64_t recent_bucket_edge_ns(unsigned i);
