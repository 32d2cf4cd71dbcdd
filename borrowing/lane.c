/* lane.c: the policies (lane.h). */
#include "borrowing/lane.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const names[BORROWING_POLICIES] = {
    [BORROWING_IDLE] = "idle",
    [BORROWING_FIXED] = "fixed",
    [BORROWING_REFRESH] = "refresh",
    [BORROWING_DYNAMIC] = "dynamic",
    [BORROWING_DEBT] = "debt",
};

const char *
borrowing_policy_name(enum borrowing_policy policy)
{
	return policy < BORROWING_POLICIES ? names[policy] : NULL;
}

void
borrowing_queue_init(struct borrowing_queue *q, unsigned workers)
{
	q->waiting = 0;
	alone_init(&q->alone, workers);
}

void
borrowing_lane_init(struct borrowing_lane *l, struct borrowing_queue *q,
    enum borrowing_policy policy, int64_t budget_ns)
{
	assert(policy < BORROWING_POLICIES && budget_ns >= 0);
	memset(l, 0, sizeof(*l));
	l->policy = policy;
	l->budget_ns = budget_ns;
	l->queue = q;
	l->loss = l->loss_upper = 1;
	l->busy = true;
}

void
borrowing_arrive(struct borrowing_queue *q)
{
	q->waiting++;
}

void
borrowing_withdraw(struct borrowing_queue *q)
{
	if (q->waiting > 0)
		q->waiting--;
}

/* --- until ---------------------------------------------------------------- */

/* So long may overlap last that costs cost_ns. */
static struct instant
overlap_end(struct instant from, int64_t cost_ns, double loss)
{
	double ns = (double)cost_ns;

	if (cost_ns <= 0)
		return INSTANT_NONE;
	if (loss <= 0 || ns / loss >= (double)INT64_MAX)
		return BORROWING_FREELY;
	return instant_plus(from, (int64_t)floor(ns / loss));
}

/* Thesis 5.9 (b) to (d). */
static struct instant
period_end(struct borrowing_lane *l, struct instant now)
{
	double loss = l->policy == BORROWING_DYNAMIC ? l->loss : 1;
	struct instant end;

	if (l->period == LANE_NEW) {
		l->period = LANE_RUNS;
		l->start = now;
	}
	end = overlap_end(l->start, l->budget_ns, loss);
	if (l->period != LANE_RUNS || !instant_before(now, end)) {
		l->period = LANE_SPENT;
		return INSTANT_NONE;
	}
	return end;
}

static struct instant
debt_end(struct borrowing_lane *l, struct instant now)
{
	int64_t debt_ns;

	if (l->runs) {
		debt_ns = alone_delay_ns(&l->queue->alone, l->request, now);
		return debt_ns < l->budget_ns
			   ? overlap_end(
				 now, l->budget_ns - debt_ns, l->loss_upper)
			   : INSTANT_NONE;
	}
	/* Busy, and not yet with a request: overlap delays the next start. */
	if (l->period == LANE_NEW) {
		l->period = LANE_RUNS;
		return overlap_end(now, l->budget_ns, l->loss_upper);
	}
	return instant_before(now, l->until) ? l->until : INSTANT_NONE;
}

static struct instant
lane_until(struct borrowing_lane *l, struct instant now)
{
	if (!l->busy && l->queue->waiting == 0) {
		l->period = LANE_NEW;
		l->jumped = false;
		return BORROWING_FREELY;
	}
	if (l->jumped)
		return INSTANT_NONE;
	switch (l->policy) {
	case BORROWING_FIXED:
	case BORROWING_REFRESH:
	case BORROWING_DYNAMIC:
		return period_end(l, now);
	case BORROWING_DEBT:
		return debt_end(l, now);
	case BORROWING_IDLE:
	case BORROWING_POLICIES:
		break;
	}
	return INSTANT_NONE;
}

/* --- events --------------------------------------------------------------- */

static void
clock_look(struct borrowing_lane *l, struct instant now)
{
	if (instant_before(now, l->seen))
		l->jumped = true;
	l->seen = now;
}

/* Return until when batch work may run, after what has happened. */
static struct instant
decide(struct borrowing_lane *l, struct instant now)
{
	l->until = lane_until(l, now);
	if (l->runs)
		alone_overlap(
		    &l->queue->alone, l->request, l->until, l->loss_upper, now);
	return l->until;
}

struct instant
borrowing_look(struct borrowing_lane *l, struct instant now)
{
	clock_look(l, now);
	return decide(l, now);
}

struct instant
borrowing_busy(struct borrowing_lane *l, struct instant now)
{
	l->busy = true;
	return borrowing_look(l, now);
}

struct instant
borrowing_idle(struct borrowing_lane *l, struct instant now)
{
	l->busy = false;
	return borrowing_look(l, now);
}

static void
end(struct borrowing_lane *l, struct instant now)
{
	if (l->runs)
		alone_finish(&l->queue->alone, l->request, now);
	l->runs = false;
}

struct instant
borrowing_start(struct borrowing_lane *l, uint64_t id, struct instant arrived,
    struct instant now)
{
	bool anew =
	    l->policy == BORROWING_REFRESH || l->policy == BORROWING_DYNAMIC;

	clock_look(l, now);
	end(l, now);
	borrowing_withdraw(l->queue);
	l->request = alone_start(&l->queue->alone, arrived, now);
	l->runs = l->busy = true;
	if (anew && l->period == LANE_RUNS && id != l->last &&
	    l->queue->waiting == 0 && instant_before(now, l->until))
		l->start = now;
	l->last = id;
	return decide(l, now);
}

struct instant
borrowing_finish(struct borrowing_lane *l, struct instant now)
{
	clock_look(l, now);
	end(l, now);
	return decide(l, now);
}

struct instant
borrowing_loss(
    struct borrowing_lane *l, double value, double upper, struct instant now)
{
	clock_look(l, now);
	l->loss = fmin(fmax(value, 0), 1);
	l->loss_upper = fmin(fmax(upper, 0), 1);
	return decide(l, now);
}
