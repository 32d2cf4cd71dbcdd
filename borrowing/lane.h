/* lane.h: for how long batch work may run beside requests.
 *
 * A lane is a CPU on which a server's requests run; batch work borrows the
 * lanes next to it.  While both run, requests are slower: overlap.  loss is the
 * share of an overlapped moment that a request loses, 1 - 1 / slowdown.
 *
 * Events of the lane and of its requests come in; what comes out is the instant
 * until which batch work may run.  Five policies, with a budget B:
 *
 * idle     not while the lane is busy
 * fixed    B of each busy period, from its begin
 * refresh  the same, and B anew for each request that begins while none waits
 * dynamic  refresh with B / loss
 * debt     until the running request is B later than it would be alone
 *
 * The first four are those of "ELFEN" (thesis 5.9).  refresh and dynamic forget
 * that a request may begin late because the one before was slowed, so a request
 * can be later than B.  Under debt none is: whoever takes the next request is
 * free at most B later than alone, by induction over the requests.
 *
 * Overlap counts as if batch work ran whenever it may.  Time is an argument; an
 * event too many, or asking more often, changes nothing.  A clock that jumps
 * back ends borrowing until the lane is idle.
 *
 * Pure; allocates nothing; one thread.  O(1), debt as alone_delay_ns. */
#pragma once

#include "borrowing/alone.h"

#include <stdbool.h>

enum borrowing_policy {
	BORROWING_IDLE,
	BORROWING_FIXED,
	BORROWING_REFRESH,
	BORROWING_DYNAMIC,
	BORROWING_DEBT,
	BORROWING_POLICIES
};

/* Batch work may run freely: until the next event. */
#define BORROWING_FREELY ((struct instant){UINT64_MAX})

/* The queue of a server, for all of its lanes. */
struct borrowing_queue {
	unsigned waiting; /* requests that have come and not started */
	struct alone alone;
};

/* The budget of a busy period. */
enum lane_period {
	LANE_SPENT, /* nothing of it is left */
	LANE_NEW,
	LANE_RUNS /* batch work runs beside requests */
};

struct borrowing_lane {
	enum borrowing_policy policy; /* constant */
	int64_t budget_ns;	      /* B >= 0 */
	struct instant until;	      /* INSTANT_NONE: batch work may not run */

	/* Private to lane.c. */
	struct borrowing_queue *queue; /* borrowed */
	double loss, loss_upper;       /* 0 .. 1 */
	enum lane_period period;
	struct instant start; /* of what LANE_RUNS may use up */
	struct instant seen;  /* the latest event */
	bool busy, runs;      /* the lane; a request */
	bool jumped;	      /* the clock did */
	uint64_t request;     /* its number in alone, if runs */
	uint64_t last;	      /* refresh: identity of the latest request */
};

/* "idle", "fixed", ...; NULL beyond the last. */
const char *borrowing_policy_name(enum borrowing_policy policy);

/* borrowing_queue_init(q, workers): 1 <= workers <= ALONE_WORKERS. */
void borrowing_queue_init(struct borrowing_queue *q, unsigned workers);

/* The lane counts as busy, and each overlapped moment as lost, until there is
 * an event. */
void borrowing_lane_init(struct borrowing_lane *l, struct borrowing_queue *q,
    enum borrowing_policy policy, int64_t budget_ns);

/* A request has come to the server; one has left the queue without a start.
 * Then borrowing_look at each of its lanes that is idle. */
void borrowing_arrive(struct borrowing_queue *q);
void borrowing_withdraw(struct borrowing_queue *q);

/* Each of these is an event of the lane.  Returns until. */

/* A thread of the server got the CPU; the CPU became idle. */
struct instant borrowing_busy(struct borrowing_lane *l, struct instant now);
struct instant borrowing_idle(struct borrowing_lane *l, struct instant now);

/* A request that has come at arrived starts; id is its own (refresh).  One that
 * still runs in this lane ends. */
struct instant borrowing_start(struct borrowing_lane *l, uint64_t id,
    struct instant arrived, struct instant now);

/* The request of this lane ends. */
struct instant borrowing_finish(struct borrowing_lane *l, struct instant now);

/* The loss is known: its value (dynamic), and the upper end of its interval
 * (debt).  Beyond 0 .. 1 it is taken as 0 or 1. */
struct instant borrowing_loss(
    struct borrowing_lane *l, double value, double upper, struct instant now);

/* Nothing happened: the same as at the event before, unless that is over. */
struct instant borrowing_look(struct borrowing_lane *l, struct instant now);
