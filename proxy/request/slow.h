/* slow.h: which finished requests are examined.
 *
 * Those over slow.target; and of the others the slowest slow.keep_slowest of
 * each minute, so that there is something to compare with.  Which those
 * are is known only when the window ends, and then the stream may have
 * overwritten their events: so each that is among the slowest so far is
 * examined at once, and the analysis keeps those that still are at the end.
 * Of n requests in random order that is about keep * ln(n / keep).  Of the slow
 * ones those are marked that are the slowest: the analysis, where it has to
 * leave out requests (proxy/analysis/budget.h), leaves out others.
 *
 * Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Long enough for a service that is seldom asked; slow.keep_slowest says how
 * many are kept of it. */
#define SLOW_WINDOW_NS (60 * NS_PER_S)
/* After a quiet second all would be taken: at most so many times per_s, so that
 * slow requests have room in the analysis thread's queue. */
#define SLOW_SAMPLE_BURST 4

/* How many tales slow.store_bytes is for: they take a few kilobytes, with
 * events of the kernel some hundreds. */
static inline unsigned
slow_tales_max(uint64_t store_bytes)
{
	uint64_t tales = store_bytes >> 16;

	return tales < 65536 ? (unsigned)tales : 65536;
}

/* Enter a request that took total_ns if it is among the keep (0 ..
 * SLOW_WINDOW_KEEP) slowest of its window so far; true if so.  O(keep). */
_Bool slow_window_take(struct slow_window *w, unsigned keep, int64_t length_ns,
    struct instant now, int64_t total_ns);

/* The time above which a request is slow, now. */
int64_t slow_target_ns(const struct proxy *p);

/* Slow requests that were not examined, so far: for lack of room, or beyond the
 * budget. */
uint64_t slow_left_out(const struct proxy *p);

/* A request has finished: count it, and have it examined if it is slow. */
void slow_finished(struct proxy *p, const struct tale_request *t);
