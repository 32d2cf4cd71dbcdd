/* Goal: percentiles are samples of the right rank; intervals are exact. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/random.h"
#include "loadgen/stats/statistics.h"

/* The rank by counting: the least r with 100 r >= percent n, in thousandths
   of a percent, so without rounding. */
static size_t
naive_rank(uint64_t millipercent, size_t n)
{
	size_t rank = 1;

	while ((uint64_t)rank * 100000 < millipercent * n)
		rank++;
	return rank;
}

/* Goal: nearest rank for every percentile in thousandths, any size. */
TEST(test_rank)
{
	static const uint64_t steps[] = {1, 10, 500, 10000, 33333, 50000, 75000,
	    90000, 95000, 99000, 99900, 99990, 99999, 100000};

	assert_int_equal(quantile_rank(99, 1000), 990);
	assert_int_equal(quantile_rank(99.9, 1000), 999);
	assert_int_equal(quantile_rank(99.9, 41000), 40959);
	assert_int_equal(quantile_rank(50, 1), 1);
	for (size_t n = 1; n <= 3000; n++) {
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
			assert_int_equal(
			    quantile_rank((double)steps[i] / 1000, n),
			    naive_rank(steps[i], n));
	}
}

/* How many of values are <= v. */
static size_t
count_to(const int64_t *values, size_t n, int64_t v)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += values[i] <= v;
	return count;
}

/* Goal: a percentile is a sample with that share at or below it. */
TEST(test_quantile)
{
	int64_t values[300], sorted[300];
	uint64_t seed = 3;

	for (int round = 0; round < 200; round++) {
		size_t n = 1 + splitmix64(&seed) % 300;
		for (size_t i = 0; i < n; i++)
			values[i] = sorted[i] =
			    (int64_t)(splitmix64(&seed) % 100) - 50;
		array_sort_int64(sorted, n);
		for (unsigned percent = 1; percent <= 100; percent++) {
			int64_t v = quantile_sorted(sorted, n, percent);
			assert_true(
			    count_to(values, n, v) * 100 >= percent * n);
			assert_true(
			    count_to(values, n, v - 1) * 100 < percent * n);
		}
	}
}

static void
check_interval(size_t n, double percent, size_t low, size_t high, double cover)
{
	struct rank_interval r;
	bool both = rank_interval(n, percent, 0.95, &r);

	assert_int_equal(both, low >= 1 && high <= n);
	assert_int_equal(r.low, low);
	assert_int_equal(r.high, high);
	if (both)
		assert_true(fabs(r.coverage - cover) < 0.0005);
}

/* Goal: the intervals of the design, number by number. */
TEST(test_intervals)
{
	check_interval(20, 50, 6, 15, 0.9586);
	check_interval(10, 50, 2, 9, 0.9785);
	check_interval(6, 50, 1, 6, 0.96875);
	check_interval(5, 50, 0, 6, 0);
	check_interval(1, 50, 0, 2, 0);
	check_interval(1000, 99, 983, 997, 0.976);
	check_interval(1000, 99.9, 997, 1001, 0);
	check_interval(20000, 99, 19772, 19828, 0.9535);
	check_interval(20000, 99.9, 19971, 19989, 0.9569);
}
