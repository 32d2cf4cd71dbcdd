/* slow.h: which finished requests are examined.
 *
 * All slow requests (above slow.target) are examined and, for comparison, the
 * slow.keep_slowest slowest of the others in each minute.  The latter are known
 * only when the minute ends, and by then the stream may have overwritten their
 * events.  So a request that is not slow but among the slowest of its minute so
 * far is examined at once, and the analysis keeps those that still are at the
 * end: of n requests in random order about keep * ln(n / keep) are examined.
 * As many of those that failed are kept, and examined at once.
 * The slowest of the slow requests are marked: if the analysis has to leave
 * out requests (proxy/analysis/budget.h), it leaves out unmarked ones.
 *
 * Proxy thread only. */
#pragma once

#include "proxy/analysis/missed.h"
#include "proxy/request/proxy.h"

/* Long enough for a service with few requests; slow.keep_slowest requests are
 * kept of each window. */
#define SLOW_WINDOW_NS (60 * NS_PER_S)
/* At most this many times per_s are taken in a second, so that slow requests
 * have room in the analysis thread's queue: after a quiet second the share to
 * examine is 1. */
#define SLOW_SAMPLE_BURST 4

/* How many tales slow.store_bytes holds at most: one takes a few kilobytes,
 * with events of the kernel some hundreds. */
static inline unsigned
slow_tales_max(uint64_t store_bytes)
{
	uint64_t tales = store_bytes >> 16;

	return tales < 65536 ? (unsigned)tales : 65536;
}

/* Enter a request into its window if its total_ns is among the slowest so far;
 * true if so.  O(keep).  The first window is a sixtieth as long as the others,
 * so that who has just started Tailor soon sees a request explained.
 *   keep  how many to keep, 0 .. SLOW_WINDOW_KEEP */
_Bool slow_window_take(struct slow_window *w, unsigned keep, int64_t length_ns,
    struct instant now, int64_t total_ns);

/* The time above which a request is slow, now. */
int64_t slow_target_ns(const struct proxy *p);

/* How many slow requests have no timeline so far, for a reason. */
uint64_t slow_missed(const struct proxy *p, enum missed_reason reason);
/* The same for any reason. */
uint64_t slow_left_out(const struct proxy *p);

/* A request has finished: count it; examine it if it is slow, or one of those
 * to compare with. */
void slow_finished(struct proxy *p, const struct tale_request *t);

/* A finished request's response was acknowledged late: examine it, again if it
 * was slow already, if it is slow with that time. */
void slow_late(struct proxy *p, const struct tale_request *t);
