/* Goal: a rate is that of the last 10 to 20 seconds, from a counter that is
 * read from time to time. */
#include "tests/unit/unit.h"

#include "proxy/stats/recent.h"

static struct instant
at_ms(int64_t ms)
{
	return (struct instant){.ns = (uint64_t)(1 + ms * NS_PER_MS)};
}

static void
assert_rate(
    const struct recent_rate *r, int64_t ms, uint64_t total, double per_s)
{
	double rate = recent_rate_per_s(r, at_ms(ms), total);

	assert_true(rate > per_s - 0.01 && rate < per_s + 0.01);
}

TEST(test_rate)
{
	/* Goal: 100 a second for 30 s, then nothing: forgotten after 20 s. */
	struct recent_rate r = {0};

	assert_rate(&r, 0, 7, 0); /* never read */
	for (int64_t ms = 0; ms <= 30000; ms += 10) {
		recent_rate_read(&r, at_ms(ms), 1000 + (uint64_t)ms / 10);
		if (ms > 0)
			assert_rate(&r, ms, 1000 + (uint64_t)ms / 10, 100);
	}
	/* Read 10 and 20 s ago, so it is counted from 20 s on. */
	recent_rate_read(&r, at_ms(35000), 4000);
	assert_rate(&r, 35000, 4000, 1000.0 / 15);
	recent_rate_read(&r, at_ms(40000), 4000);
	recent_rate_read(&r, at_ms(50000), 4000);
	assert_rate(&r, 55000, 4000, 0);
}

TEST(test_first_second)
{
	/* Goal: what was counted before the first reading is no rate. */
	struct recent_rate r = {0};

	recent_rate_read(&r, at_ms(0), 5000);
	assert_rate(&r, 0, 5000, 0);
	assert_rate(&r, 500, 5010, 20);
}

TEST(test_heaps)
{
	/* Goal: four samples a second, the first of each; a minute of them. */
	static struct recent l;
	double used[RECENT_SERVERS] = {0.123, -1};
	uint64_t last = 0;
	unsigned kept = 0;

	for (int64_t ms = 0; ms < 100000; ms += 10) {
		used[0] = ms % 250 == 0 ? 0.5 : 7;
		recent_heap_note(&l, at_ms(ms), used, ms >= 90000);
		last = at_ms(ms).ns / (uint64_t)RECENT_HEAP_NS;
	}
	for (unsigned i = 0; i < RECENT_HEAPS; i++) {
		kept += last - l.heap[i].number < RECENT_HEAPS;
		assert_int_equal(l.heap[i].used[0], 50);
		assert_int_equal(l.heap[i].used[1], RECENT_HEAP_UNKNOWN);
	}
	assert_int_equal(kept, RECENT_HEAPS);
	assert_int_equal(l.heap[last % RECENT_HEAPS].active, 1);
	used[0] = 7;
	recent_heap_note(&l, at_ms(100000), used, 1);
	assert_int_equal(l.heap[(last + 1) % RECENT_HEAPS].used[0], 200);
}
