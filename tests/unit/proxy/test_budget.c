/*
 * Goal: the analysis of slow requests takes what it may and no more, whatever
 * their rate; whose tale is made does not depend on when they come in a second;
 * the slowest are left out last.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "proxy/analysis/budget.h"

#define CPU 0.02
#define COST_NS (200 * NS_PER_US)

static struct instant
at(int64_t ns)
{
	return instant_plus((struct instant){UINT64_C(1) << 40}, ns);
}

/* So many slow requests a second for a while; how many were taken. */
static unsigned
offer(struct analysis_budget *b, uint64_t *id, int64_t *now, unsigned per_s,
    unsigned seconds)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < per_s * seconds; i++) {
		*now += NS_PER_S / per_s;
		if (!budget_take(b, BUDGET_SLOW, ++*id, false, at(*now)))
			continue;
		budget_spend(b, COST_NS);
		taken++;
	}
	return taken;
}

/* Goal: all of 50 a second (a hundredth of a CPU), 2 % of a CPU of 5000. */
TEST(test_rates)
{
	struct analysis_budget b;
	uint64_t id = 0;
	int64_t now = 0;
	unsigned taken;

	budget_init(&b, CPU, at(now));
	assert_int_equal(offer(&b, &id, &now, 50, 60), 50 * 60);
	/* At most 200 ms were saved, and 20 ms are overdrawn. */
	taken = offer(&b, &id, &now, 5000, 60);
	assert_in_range(taken, 100 * 60 * 8 / 10, 100 * 60 + 1000 + 100);
	/* As before, once it is over. */
	offer(&b, &id, &now, 50, 20);
	assert_int_equal(offer(&b, &id, &now, 50, 60), 50 * 60);
}

/* Goal: once a second's chance is known, its first half has as many tales as
 * its second. */
TEST(test_fair)
{
	struct analysis_budget b;
	unsigned half[2] = {0};
	uint64_t id = 0;
	int64_t now = 0;

	budget_init(&b, CPU, at(now));
	offer(&b, &id, &now, 2000, 30);
	for (unsigned i = 0; i < 2000 * 100; i++) {
		now += NS_PER_S / 2000;
		if (!budget_take(&b, BUDGET_SLOW, ++id, false, at(now)))
			continue;
		budget_spend(&b, COST_NS);
		half[instant_since(at(now), b.period) * 2 >=
		     BUDGET_PERIOD_NS]++;
	}
	assert_in_range(half[0] + half[1], 100 * 80, 100 * 110);
	assert_in_range(half[1], half[0] * 85 / 100, half[0] * 115 / 100);
}

/* Goal: the slowest are taken though others are left out, but not for ever. */
TEST(test_slowest)
{
	struct analysis_budget b;
	uint64_t id = 0;
	int64_t now = 0;
	unsigned taken = 0;

	budget_init(&b, CPU, at(now));
	offer(&b, &id, &now, 5000, 5);
	for (unsigned i = 0; i < 500; i++)
		if (budget_take(&b, BUDGET_SLOW, ++id, true, at(++now))) {
			budget_spend(&b, COST_NS);
			taken++;
		}
	assert_int_equal(taken, 500);
	for (unsigned i = 0; i < 5000; i++)
		if (budget_take(&b, BUDGET_SLOW, ++id, true, at(++now))) {
			budget_spend(&b, COST_NS);
			taken++;
		}
	assert_in_range(taken, 500, 1100);
}

/* Goal: the first slow requests after a start are taken whatever they cost, and
 * what they cost is not missed afterwards; not if nothing may be spent. */
TEST(test_first)
{
	struct analysis_budget b;
	double credit_ns;

	budget_init(&b, CPU, at(0));
	credit_ns = b.credit_ns;
	for (unsigned i = 0; i < BUDGET_FIRST; i++) {
		assert_true(budget_give(&b));
		budget_spend(&b, NS_PER_S);
	}
	assert_false(budget_give(&b));
	assert_true(b.credit_ns == credit_ns);
	assert_true(budget_take(&b, BUDGET_SLOW, 1, false, at(0)));
	budget_spend(&b, NS_PER_S);
	assert_true(b.credit_ns < 0);
	budget_init(&b, 0, at(0));
	assert_false(budget_give(&b));
}

/* Goal: no limit is none, and nothing is nothing. */
TEST(test_ends)
{
	struct analysis_budget b;
	uint64_t id = 0;
	int64_t now = 0;

	budget_init(&b, 1, at(now));
	assert_int_equal(offer(&b, &id, &now, 20000, 2), 40000);
	budget_init(&b, 0, at(now));
	assert_int_equal(offer(&b, &id, &now, 100, 10), 0);
	assert_false(budget_take(&b, BUDGET_SLOW, 1, true, at(now)));
	budget_set(&b, CPU);
	assert_true(offer(&b, &id, &now, 10, 10) > 80);
}

/* So many of each kind a second for half a minute, after as long a time; how
 * many of each were taken. */
static void
offer_kinds(const unsigned per_s[BUDGET_KINDS], unsigned taken[BUDGET_KINDS])
{
	struct analysis_budget b;
	unsigned all = per_s[0] + per_s[1] + per_s[2], seconds = 60;
	enum budget_kind k;
	uint64_t id = 0;
	int64_t now = 0;

	memset(taken, 0, BUDGET_KINDS * sizeof(*taken));
	budget_init(&b, CPU, at(now));
	for (unsigned i = 0; i < all * seconds; i++) {
		unsigned lot = i * 7919 % all; /* in any order */

		k = lot < per_s[0]		? BUDGET_OTHER
		    : lot < per_s[0] + per_s[1] ? BUDGET_TAIL
						: BUDGET_SLOW;
		now += NS_PER_S / all;
		if (!budget_take(&b, k, ++id, false, at(now)))
			continue;
		budget_spend(&b, COST_NS);
		taken[k] += i >= all * seconds / 2;
	}
}

/* Goal: what is too much is taken from those who need more than their part;
 * 100 requests a second can be paid for. */
TEST(test_kinds)
{
	unsigned taken[BUDGET_KINDS];

	offer_kinds((const unsigned[]){1000, 1000, 2000}, taken);
	assert_in_range(taken[BUDGET_OTHER], 600, 900);
	assert_in_range(taken[BUDGET_TAIL], 600, 900);
	assert_in_range(taken[BUDGET_SLOW], 1200, 1700);
	/* The slow ones come first to what the others leave. */
	offer_kinds((const unsigned[]){4, 1000, 60}, taken);
	assert_in_range(taken[BUDGET_OTHER], 110, 120);
	assert_in_range(taken[BUDGET_SLOW], 1700, 1800);
	assert_in_range(taken[BUDGET_TAIL], 800, 1250);
	/* The rest has its quarter, however long the tail. */
	offer_kinds((const unsigned[]){4, 0, 5000}, taken);
	assert_in_range(taken[BUDGET_OTHER], 110, 120);
	assert_in_range(taken[BUDGET_SLOW], 2300, 3000);
}
