/*
 * slow_list.h: the K slowest of a stream of requests.
 */
#ifndef TAILOR_LOADGEN_STATS_SLOW_LIST_H
#define TAILOR_LOADGEN_STATS_SLOW_LIST_H

#include "loadgen/stats/summary.h"

/* Room for capacity entries, possibly 0.  Returns 0 or -ENOMEM. */
int slow_list_init(struct slow_list *l, size_t capacity);
void slow_list_fini(struct slow_list *l);

/* Keep *candidate if it is among the slowest so far; of equals the first.
   Returns whether it is. */
bool slow_list_offer(struct slow_list *l, const struct slow *candidate);

#endif
