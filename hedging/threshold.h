/* threshold.h: how long to wait for the end of a pause before acting on it.
 *
 * A pause of unknown length L begins.  Waiting costs each request in flight the
 * rest of the pause; a hedge costs b: the other server's response time, and as
 * much again for the work.  That is the ski rental problem.  The latest lengths
 * of such pauses give the wait a with the least mean cost, between b / 2 and
 * 2 b.  Then a pause costs at most three times the least possible cost, even if
 * the history is no guide: a + b <= 3 b if L >= b, and a + b <= 3 a <= 3 L if
 * L < b, where a < L.  A wait of 0 (act at once) has no such factor, only the
 * bound b; it is chosen when all known pauses were longer than 2 b.
 *
 * Source: Purohit, Svitkina, Kumar, "Improving Online Algorithms via ML
 * Predictions", NeurIPS 2018, lambda = 1/2.  We differ: a threshold from a
 * history instead of one predicted length.
 *
 * Pure; allocates nothing; O(THRESHOLD_KEPT). */
#pragma once

#include "hedging/window.h"

#include <stdbool.h>

#define THRESHOLD_KEPT 64 /* lengths in a history */
#define THRESHOLD_KNOWN 8 /* least lengths needed to use a history */

/* The cost b of a hedge, ns, where a response usually takes response_ns. */
int64_t threshold_price_ns(int64_t response_ns);

/* How long to wait, ns: 0, or price / 2 .. 2 * price.
 *   lengths   at least one
 *   price_ns  b, > 0 */
int64_t threshold_ns(const struct window *lengths, int64_t price_ns);

/*
 * threshold_known_ns(left_ns, age_ns, price_ns):
 * As threshold_ns, for a pause whose end is known: 0 if the rest of the pause
 * costs more than a hedge; else the time until its end, and price / 2 more in
 * case it lasts longer.
 *   left_ns   from the pause's begin to its known end, > 0
 *   age_ns    how long it has lasted, >= 0; may be beyond its end
 */
int64_t threshold_known_ns(int64_t left_ns, int64_t age_ns, int64_t price_ns);

/* The cost of a pause beyond the least possible cost, ns, >= 0.
 *   waited    true: it ended before the threshold
 *   after_ns  if not waited: when it was acted upon, after its begin */
int64_t threshold_regret_ns(
    int64_t length_ns, bool waited, int64_t after_ns, int64_t price_ns);
