/* tail.h: what p99 of the last minutes consists of, for metrics and the live
 * page.
 *
 * Once a minute the accounts in memory are divided by route.  The figures of a
 * route are of the last complete minute.  If fewer than BLAME_BEYOND of its
 * accounts in that minute are slower than p99, they are of the last ten
 * minutes; with too few there as well, the route has no figures.  Analysis
 * thread, but for the atomics. */
#pragma once

#include "proxy/analysis/accounts.h"

#define TAIL_P 0.99
#define TAIL_NAME "0.99"
#define TAIL_MINUTES 10
#define TAIL_FEW 10 /* with fewer accounts beyond p99, figures are doubtful */

/* p99 of the requests of a minute, of all routes together. */
struct tail_minute {
	int64_t end_wall_ns; /* end of the minute; 0: no account */
	int64_t q_ns;
	unsigned beyond; /* accounts slower than q_ns */
	int64_t share_ns[TALE_CAUSE_COUNT];
};

struct tail {
	int64_t minute; /* the latest in at; minutes since 1970 */
	struct tail_minute at[TAIL_MINUTES]; /* ring, by minute number */

	/* Any thread reads, by place; q_ns 0: no figures. */
	_Atomic int64_t q_ns[ROUTE_PLACES];
	_Atomic int64_t share_ns[ROUTE_PLACES][TALE_CAUSE_COUNT];
};

/* If a minute is over, compute its figures, which takes some milliseconds,
 * O(accounts of ten minutes); otherwise do nothing. */
void tail_update(struct tail *t, const struct accounts *a, int64_t now_wall_ns);

/* A route has lost its place: clear the place's figures. */
void tail_end(struct tail *t, unsigned place);
