/*
 * Goal: the automatic target is the 99th percentile of the last minutes, of a
 * fast service and a slow one, and follows it; with few requests it is fixed.
 */
#include "tests/unit/unit.h"

#include "proxy/request/slow_target.h"

/* A request each ms for so long, of 1 to 100 units; how many were slow. */
static unsigned
serve(struct slow_target *t, int64_t *now_ns, unsigned seconds, int64_t unit_ns)
{
	unsigned slow = 0;
	struct instant at;

	for (unsigned i = 0; i < 1000 * seconds; i++) {
		int64_t total_ns = (1 + i * 37 % 100) * unit_ns;

		*now_ns += NS_PER_MS;
		at = instant_plus((struct instant){UINT64_C(1) << 40}, *now_ns);
		slow += total_ns > slow_target_now_ns(t);
		slow_target_add(t, at, total_ns);
	}
	return slow;
}

TEST(test_follows)
{
	static const int64_t unit_ns[] = {
	    2 * NS_PER_US, NS_PER_MS, 40 * NS_PER_MS, 300};
	struct slow_target t = {0};
	int64_t now_ns = 0;

	for (unsigned i = 0; i < 4; i++) {
		serve(&t, &now_ns, 301, unit_ns[i]);
		/* Of each hundred one is slower than 99. */
		assert_in_range(
		    slow_target_now_ns(&t), 99 * unit_ns[i], 112 * unit_ns[i]);
		assert_in_range(serve(&t, &now_ns, 60, unit_ns[i]), 0, 601);
	}
	/* Nothing for an hour: what was is no measure. */
	now_ns += 3600 * NS_PER_S;
	serve(&t, &now_ns, 1, NS_PER_US);
	now_ns += 7 * NS_PER_S;
	serve(&t, &now_ns, 1, NS_PER_US);
	assert_in_range(
	    slow_target_now_ns(&t), 99 * NS_PER_US, 112 * NS_PER_US);
}

TEST(test_few)
{
	struct slow_target t = {0};
	struct instant at = {UINT64_C(1) << 40};

	assert_int_equal(slow_target_now_ns(&t), SLOW_TARGET_FIRST_NS);
	for (unsigned i = 0; i < 900; i++) {
		at = instant_plus(at, 100 * NS_PER_MS);
		slow_target_add(&t, at, NS_PER_US);
		assert_int_equal(slow_target_now_ns(&t), SLOW_TARGET_FIRST_NS);
	}
	/* Values out of any range do no harm. */
	slow_target_add(&t, at, -1);
	slow_target_add(&t, at, 0);
	slow_target_add(&t, at, INT64_MAX);
	slow_target_add(&t, (struct instant){0}, 1);
}
