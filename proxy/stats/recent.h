/*
 * recent.h: the last ten minutes, for people who look at a page.
 *
 * The proxy thread notes what happens in a few small rings; the live page shows
 * a copy.  Cost: some 20 KiB, and a few additions per request.
 */
#ifndef TAILOR_PROXY_STATS_RECENT_H
#define TAILOR_PROXY_STATS_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"
#include "talechain/hazard.h"

#define LIVE_SLICES 60
#define LIVE_SLICE_NS (10 * NS_PER_S)
#define LIVE_WINDOW_NS (LIVE_SLICES * LIVE_SLICE_NS)
#define LIVE_BUCKETS 22
#define LIVE_HAZARDS 512

/* Requests that finished in one slice of time. */
struct live_slice {
	uint64_t number; /* time / LIVE_SLICE_NS; another: of an older lap */
	uint32_t requests, slow;
	uint32_t bucket[LIVE_BUCKETS]; /* see live_bucket_edge_ns */
};

struct live_hazard {
	uint8_t server, kind, cause;
	struct instant begin, end; /* end not set: not over */
};

struct live {
	struct live_slice slice[LIVE_SLICES];
	struct live_hazard hazard[LIVE_HAZARDS];
	uint64_t hazards; /* ever */
};

/* Note a finished request, and a hazard's begin or end.  Proxy thread. */
void
live_request(struct live *l, struct instant now, int64_t total_ns, bool slow);
void live_note_hazard(struct live *l, const struct hazard *h);

/* The upper edge of bucket i: 1, 2, 5, 10, ... times 10 us; the last has
 * none (INT64_MAX). */
int64_t live_bucket_edge_ns(unsigned i);

#endif
