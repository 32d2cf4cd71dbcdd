/* slow_list.h: the K slowest of a stream of requests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"

/* One of the slowest requests. */
struct slow {
	unsigned iteration;
	uint32_t number; /* from 1 */
	struct instant scheduled;
	int64_t latency_ns;
	int64_t lag_ns;
	int64_t server_ns; /* -1: not reported */
	bool unpinned;	   /* of analyzer.c: to be pinned */
};

struct slow_list {
	struct slow *slowest; /* owned; slowest first */
	size_t count;
	size_t capacity;
};

/* Room for capacity entries, possibly 0.  Returns 0 or -ENOMEM. */
int slow_list_init(struct slow_list *l, size_t capacity);
void slow_list_fini(struct slow_list *l);

/* Keep *candidate if it is among the slowest so far; of equals the first.
   Returns whether it is. */
bool slow_list_offer(struct slow_list *l, const struct slow *candidate);
