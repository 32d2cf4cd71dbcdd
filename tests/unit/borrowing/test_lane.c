/*
 * Goal: each policy lets batch work run until exactly then; whatever order
 * events come in, none promises more than its budget.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "borrowing/lane.h"

#define FREELY (-1)
#define DRAWN 200000

static const struct instant t0 = {1000 * (uint64_t)NS_PER_S};

struct stage {
	struct borrowing_queue queue;
	struct borrowing_lane lane;
};

static struct stage *
stage_new(enum borrowing_policy policy, int64_t budget_ms)
{
	static struct stage s;

	borrowing_queue_init(&s.queue, 1);
	borrowing_lane_init(&s.lane, &s.queue, policy, budget_ms * NS_PER_MS);
	return &s;
}

static struct instant
at(double ms)
{
	return instant_plus(t0, (int64_t)(ms * NS_PER_MS));
}

/* What is done at a time, and until when batch work may run then: ms after t0;
 * 0: not. */
struct moment {
	enum what {
		BUSY,
		IDLE,
		ARRIVE,
		WITHDRAW,
		START, /* of an id, that has come at arrived */
		FINISH,
		LOSS, /* id hundredths */
		LOOK,
		OVER
	} what;
	double ms, until_ms;
	unsigned id;
	double arrived_ms;
};

static struct instant
act(struct stage *s, const struct moment *m)
{
	struct borrowing_lane *l = &s->lane;

	switch (m->what) {
	case BUSY:
		return borrowing_busy(l, at(m->ms));
	case IDLE:
		return borrowing_idle(l, at(m->ms));
	case ARRIVE:
		borrowing_arrive(&s->queue);
		break;
	case WITHDRAW:
		borrowing_withdraw(&s->queue);
		break;
	case START:
		return borrowing_start(l, m->id, at(m->arrived_ms), at(m->ms));
	case FINISH:
		return borrowing_finish(l, at(m->ms));
	case LOSS:
		return borrowing_loss(
		    l, m->id / 100.0, m->id / 100.0, at(m->ms));
	case LOOK:
	case OVER:
		break;
	}
	return borrowing_look(l, at(m->ms));
}

static void
play(struct stage *s, const struct moment *m)
{
	for (unsigned i = 0; m[i].what != OVER; i++) {
		struct instant until = act(s, &m[i]);
		struct instant want = m[i].until_ms == FREELY ? BORROWING_FREELY
				      : m[i].until_ms == 0    ? INSTANT_NONE
							   : at(m[i].until_ms);

		if (until.ns != want.ns || s->lane.until.ns != want.ns)
			fail_msg("moment %u: %.6f instead of %.6f ms", i,
			    (double)instant_since(until, t0) / 1e6,
			    m[i].until_ms);
	}
}

TEST(test_names)
{
	assert_string_equal(borrowing_policy_name(BORROWING_DEBT), "debt");
	assert_string_equal(borrowing_policy_name(BORROWING_IDLE), "idle");
	assert_null(borrowing_policy_name(BORROWING_POLICIES));
}

TEST(test_idle)
{
	static const struct moment moments[] = {
	    {LOOK, 0, 0, 0, 0}, /* busy until there is an event */
	    {IDLE, 1, FREELY, 0, 0}, {ARRIVE, 2, 0, 0, 0}, {BUSY, 2, 0, 0, 0},
	    {START, 2, 0, 1, 2}, {FINISH, 5, 0, 0, 0}, {ARRIVE, 6, 0, 0, 0},
	    {IDLE, 6, 0, 0, 0}, /* a request waits */
	    {WITHDRAW, 7, FREELY, 0, 0}, /* it has gone */ {.what = OVER}};

	play(stage_new(BORROWING_IDLE, 10), moments);
}

/* Thesis 5.9 (b): B of a busy period, whichever requests are in it. */
TEST(test_fixed)
{
	static const struct moment moments[] = {
	    {BUSY, 0, 0, 0, 0}, /* its begin was not seen */
	    {IDLE, 1, FREELY, 0, 0}, {ARRIVE, 2, 12, 0, 0}, {BUSY, 2, 12, 0, 0},
	    {START, 2, 12, 1, 2}, {ARRIVE, 3, 12, 0, 0}, {FINISH, 8, 12, 0, 0},
	    {START, 8, 12, 2, 3}, {LOOK, 12, 0, 0, 0}, {FINISH, 13, 0, 0, 0},
	    {BUSY, 13.5, 0, 0, 0}, {IDLE, 14, FREELY, 0, 0},
	    {BUSY, 20, 30, 0, 0}, {.what = OVER}};

	play(stage_new(BORROWING_FIXED, 10), moments);
}

/* Thesis 5.9 (c): B anew for a request that begins while none waits. */
TEST(test_refresh)
{
	static const struct moment moments[] = {{IDLE, 1, FREELY, 0, 0},
	    {ARRIVE, 2, 12, 0, 0}, {BUSY, 2, 12, 0, 0}, {START, 2, 12, 1, 2},
	    {ARRIVE, 3, 12, 0, 0}, {ARRIVE, 4, 12, 0, 0}, {FINISH, 8, 12, 0, 0},
	    {START, 8, 12, 2, 3}, /* the third one waits */
	    {FINISH, 9, 12, 0, 0}, {START, 9, 19, 3, 4}, {LOOK, 10, 19, 0, 0},
	    {START, 11, 19, 3, 4}, /* the same one */
	    {LOOK, 19, 0, 0, 0}, {FINISH, 20, 0, 0, 0}, {ARRIVE, 20, 0, 0, 0},
	    {START, 20, 0, 4, 20}, /* nothing was left to refresh */
	    {.what = OVER}};

	play(stage_new(BORROWING_REFRESH, 10), moments);
}

/* Thesis 5.9 (d): with B / loss. */
TEST(test_dynamic)
{
	static const struct moment moments[] = {{LOSS, 0, 0, 50, 0},
	    {IDLE, 1, FREELY, 0, 0}, {ARRIVE, 2, 22, 0, 0}, {BUSY, 2, 22, 0, 0},
	    {START, 2, 22, 1, 2}, {LOSS, 3, 12, 100, 0}, {LOSS, 4, 42, 25, 0},
	    {LOSS, 5, FREELY, 0, 0}, {FINISH, 6, FREELY, 0, 0},
	    {LOSS, 7, 22, 50, 0}, {IDLE, 8, FREELY, 0, 0}, {.what = OVER}};

	play(stage_new(BORROWING_DYNAMIC, 10), moments);
}

/* Requests of 4 and 1 ms; each overlapped moment counts as lost, so the first
 * would have taken 2 ms alone. */
TEST(test_debt)
{
	static const struct moment moments[] = {{IDLE, 1, FREELY, 0, 0},
	    {ARRIVE, 2, 4, 0, 0}, {BUSY, 2, 4, 0, 0}, {START, 2, 4, 1, 2},
	    {ARRIVE, 3, 4, 0, 0}, {LOOK, 3, 4, 0, 0}, {LOOK, 4, 0, 0, 0},
	    {FINISH, 6, 0, 0, 0},
	    {START, 6, 0, 2, 3}, /* at 4 ms alone: nothing is left */
	    {FINISH, 7, 0, 0, 0}, {IDLE, 7, FREELY, 0, 0},
	    {ARRIVE, 8, 10, 0, 0}, {BUSY, 8, 10, 0, 0},
	    {START, 9, 10, 3, 8}, /* a late start is owed */
	    {FINISH, 9.5, 10, 0, 0}, {LOOK, 10, 0, 0, 0}, {.what = OVER}};

	play(stage_new(BORROWING_DEBT, 2), moments);
}

/* With a loss of a quarter, four times as long; with none, freely. */
TEST(test_debt_with_loss)
{
	static const struct moment moments[] = {{LOSS, 0, 0, 25, 0},
	    {IDLE, 1, FREELY, 0, 0}, {ARRIVE, 2, 10, 0, 0}, {BUSY, 2, 10, 0, 0},
	    {START, 2, 10, 1, 2}, {LOOK, 6, 10, 0, 0},
	    {LOSS, 6, 8, 50, 0}, /* 1 of 2 ms is owed */
	    {LOSS, 7, FREELY, 0, 0}, {FINISH, 8, FREELY, 0, 0}, {.what = OVER}};

	play(stage_new(BORROWING_DEBT, 2), moments);
}

/* Goal: a clock that jumps back ends borrowing until the lane is idle. */
TEST(test_clock_jumps_back)
{
	static const struct moment moments[] = {{IDLE, 10, FREELY, 0, 0},
	    {BUSY, 20, 30, 0, 0}, {LOOK, 15, 0, 0, 0}, {LOOK, 25, 0, 0, 0},
	    {START, 26, 0, 1, 25}, {FINISH, 27, 0, 0, 0},
	    {IDLE, 28, FREELY, 0, 0}, {BUSY, 29, 39, 0, 0}, {.what = OVER}};

	for (enum borrowing_policy policy = BORROWING_FIXED;
	     policy < BORROWING_POLICIES; policy++)
		play(stage_new(policy, 10), moments);
}

/* --- any order of events -------------------------------------------------- */

static void
draw(struct moment *m, double *ms)
{
	static const enum what often[] = {BUSY, IDLE, ARRIVE, ARRIVE, WITHDRAW,
	    START, START, FINISH, FINISH, LOOK};

	*ms += (double)unit_draw(2000) / 1000;
	*m = (struct moment){.what = often[unit_draw(10)],
	    .ms = *ms,
	    .id = (unsigned)unit_draw(3),
	    .arrived_ms = *ms - (double)unit_draw(3000) / 1000};
}

/* How long batch work runs from then to then, ms. */
static double
overlap_ms(struct instant until, double from_ms, double to_ms)
{
	double end_ms = until.ns == BORROWING_FREELY.ns
			    ? to_ms
			    : (double)instant_since(until, t0) / 1e6;

	end_ms = end_ms < to_ms ? end_ms : to_ms;
	return end_ms > from_ms ? end_ms - from_ms : 0;
}

/* Goal: of a busy period (fixed), of a running request (refresh, dynamic), no
 * more than the budget is overlapped; under idle nothing is. */
TEST(test_budget_holds_in_any_order)
{
	static const double most_ms[] = {[BORROWING_IDLE] = 0,
	    [BORROWING_FIXED] = 3,
	    [BORROWING_REFRESH] = 3,
	    [BORROWING_DYNAMIC] = 6};

	for (enum borrowing_policy policy = BORROWING_IDLE;
	     policy < BORROWING_DEBT; policy++) {
		struct stage *s = stage_new(policy, 3);
		double ms = 0, last_ms = 0, sum_ms = 0, worst_ms = 0;

		borrowing_loss(&s->lane, 0.5, 0.5, t0);
		for (unsigned i = 0; i < DRAWN; i++) {
			bool busy = s->lane.busy;
			struct moment m;

			draw(&m, &ms);
			if (busy)
				sum_ms +=
				    overlap_ms(s->lane.until, last_ms, ms);
			worst_ms = sum_ms > worst_ms ? sum_ms : worst_ms;
			act(s, &m);
			if (!s->lane.busy ||
			    (m.what == START && policy != BORROWING_FIXED))
				sum_ms = 0;
			last_ms = ms;
		}
		if (worst_ms > most_ms[policy] + 1e-5)
			fail_msg("%s: %.6f ms", borrowing_policy_name(policy),
			    worst_ms);
		assert_true(worst_ms >= 0.9 * most_ms[policy]);
	}
}

/* Goal: asking more often changes nothing. */
TEST(test_asking_changes_nothing)
{
	for (enum borrowing_policy policy = 0; policy < BORROWING_POLICIES;
	     policy++) {
		struct stage one, other;
		double ms = 0, before_ms;

		one = other = *stage_new(policy, 3);
		one.lane.queue = &one.queue;
		other.lane.queue = &other.queue;
		for (unsigned i = 0; i < DRAWN / 10; i++) {
			struct moment m;

			before_ms = ms;
			draw(&m, &ms);
			for (unsigned k = 1; k < 4; k++)
				borrowing_look(&other.lane,
				    at(before_ms + (ms - before_ms) * k / 4));
			/* Rounded up at each look. */
			act(&one, &m);
			act(&other, &m);
			assert_true(one.lane.until.ns == other.lane.until.ns ||
				    llabs(instant_since(one.lane.until,
					other.lane.until)) < 1000);
		}
	}
}
