/* tail.h: what p99 of the last minutes consists of, for metrics and the live
 * page.
 *
 * Once a minute the accounts in memory are divided by route.  A figure of a
 * route is of the last complete minute, or of the last ten if fewer than
 * BLAME_BEYOND accounts of that are slower than its p99; with fewer in ten
 * minutes, too, there is none.  Analysis thread, but for the atomics. */
#pragma once

#include "proxy/analysis/accounts.h"

#define TAIL_P 0.99
#define TAIL_NAME "0.99"
#define TAIL_MINUTES 10
#define TAIL_FEW 10 /* accounts slower than p99: fewer are doubtful */

/* p99 of all routes' requests of a minute. */
struct tail_minute {
	int64_t end_wall_ns; /* 0: there was no account */
	int64_t q_ns;
	unsigned beyond; /* accounts that are slower */
	int64_t share_ns[TALE_CAUSE_COUNT];
};

struct tail {
	int64_t minute; /* the last that is done, since 1970 */
	struct tail_minute at[TAIL_MINUTES]; /* by its number modulo these */

	/* Any thread reads, by place; q_ns 0: there is no figure. */
	_Atomic int64_t q_ns[ROUTE_PLACES];
	_Atomic int64_t share_ns[ROUTE_PLACES][TALE_CAUSE_COUNT];
};

/* If a minute is over, find its figures.  O(accounts of ten minutes) then, some
 * milliseconds; otherwise a comparison. */
void tail_update(struct tail *t, const struct accounts *a, int64_t now_wall_ns);

/* A route has lost its place: there is no figure. */
void tail_end(struct tail *t, unsigned place);
