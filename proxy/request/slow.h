/* slow.h: which finished requests are examined.
 *
 * Of all slow requests (above slow.target) a tale is kept and, for comparison,
 * of the slow.keep_slowest slowest of the others in each minute.  The latter
 * are known only when the minute ends, and by then the stream may have
 * overwritten their events.  So a request that is not slow but among the
 * slowest of its minute so far is examined at once, and the analysis keeps
 * those that still are at the end: of n requests in random order about keep *
 * ln(n / keep) are examined.  As many of those that failed are kept, and
 * examined at once.
 *
 * Accounts (tailorctl blame) are made of all these, and of all requests beyond
 * p95 of their route's last minute (latencies.h): a percentile consists of the
 * tail.  Of the rest there is one in each turn, of which a second has
 * analysis.accounts: each request of a turn replaces the one held with a
 * probability of 1 / (requests in this turn so far), so that all have the same
 * chance (a reservoir; Vitter 1985).  The one held is examined when the turn is
 * over, while its events are still in the stream.
 *
 * If the analysis has to leave out requests (proxy/analysis/budget.h), it
 * leaves out the slowest of the minute last.
 *
 * Proxy thread only. */
#pragma once

#include "proxy/analysis/missed.h"
#include "proxy/request/proxy.h"

/* Long enough for a service with few requests; slow.keep_slowest requests are
 * kept of each window. */
#define SLOW_WINDOW_NS (60 * NS_PER_S)

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

/* True if a request is held and its turn is over.
 *   per_s  turns in a second; 0: none */
_Bool slow_sample_over(
    const struct slow_sample *s, unsigned per_s, struct instant now);

/* Count a request in the present turn; the turn before is over and nothing is
 * held of it.  True: the caller holds this request from now on. */
_Bool slow_sample_take(
    struct slow_sample *s, unsigned per_s, struct instant now, uint64_t id);

/* The stratum of a request.  Two limits part them, slow.target and where its
 * route's tail begins, so that in each stratum all have the same chance.
 *   slow     above slow.target
 *   slowest  its tale is kept, or was until something slower came
 *   tail_ns  where the tail begins; 0: not known, what is slow is the tail */
enum account_stratum
slow_stratum(bool slow, bool slowest, int64_t total_ns, int64_t tail_ns);

/* The time above which a request is slow, now. */
int64_t slow_target_ns(const struct proxy *p);

/* How many slow requests have no timeline so far, for a reason. */
uint64_t slow_missed(const struct proxy *p, enum missed_reason reason);
/* The same for any reason. */
uint64_t slow_left_out(const struct proxy *p);

/* A request has finished: count it; examine it if it is slow, or one of those
 * to compare with. */
void slow_finished(struct proxy *p, const struct tale_request *t);

/* Examine a finished request, again if it was slow already, if it is slow with
 * the time before its first byte came, or after its response went. */
void slow_late(struct proxy *p, const struct tale_request *t);

/* The timer of the sample: examine the request held, if its turn is over.
 *   user  the struct proxy */
void slow_turn_over(void *user, bool forced);
