/* Goal: differences, intervals and p values are those of the textbooks. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/random.h"
#include "loadgen/stats/statistics.h"

#define N_MAX 64

static int64_t a_ns[N_MAX];
static int64_t b_ns[N_MAX];
static struct prng prng;

static void
fill_random(size_t n)
{
	for (size_t i = 0; i < n; i++)
		a_ns[i] =
		    1000000 + (int64_t)(1e6 * random_unit(prng_next(&prng)));
	for (size_t i = 0; i < n; i++)
		b_ns[i] =
		    1100000 + (int64_t)(1e6 * random_unit(prng_next(&prng)));
}

/* The sum of the ranks of |d| with a set bit, ranks counted naively. */
static unsigned
naive_rank_sum(const double *d, size_t n, unsigned signs)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned rank = 0;
		for (size_t k = 0; k < n; k++)
			rank += fabs(d[k]) <= fabs(d[i]);
		sum += (signs >> i & 1) != 0 ? rank : 0;
	}
	return sum;
}

/* Goal: the paired p value is the share of all sign patterns as extreme. */
TEST(test_paired_naive)
{
	for (unsigned trial = 0; trial < 60; trial++) {
		size_t n = 1 + trial % 9;
		unsigned own = 0, extreme = 0;
		double d[9];
		struct shift s;

		fill_random(n);
		for (size_t i = 0; i < n; i++) {
			d[i] = log((double)b_ns[i] / (double)a_ns[i]);
			own |= (unsigned)(d[i] > 0) << i;
		}
		double mean = (double)(n * (n + 1)) / 4;
		double distance = fabs(naive_rank_sum(d, n, own) - mean) - 1e-9;
		for (unsigned signs = 0; signs < 1u << n; signs++)
			extreme += fabs(naive_rank_sum(d, n, signs) - mean) >=
				   distance;
		assert_int_equal(shift_paired(a_ns, b_ns, n, &s), 0);
		assert_true(fabs(s.p - (double)extreme / (1u << n)) < 1e-9);
	}
}

/* Goal: intervals are cut where the printed tables of Wilcoxon cut them. */
TEST(test_paired_interval)
{
	static const size_t table[][2] = {
	    {6, 0}, {7, 2}, {8, 3}, {10, 8}, {15, 25}, {20, 52}, {25, 89}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t n = table[i][0], k = 0;
		double walsh[N_MAX * N_MAX] = {0};
		struct shift s;

		fill_random(n);
		assert_int_equal(shift_paired(a_ns, b_ns, n, &s), 0);
		for (size_t x = 0; x < n; x++)
			for (size_t y = x; y < n; y++)
				walsh[k++] =
				    (log((double)b_ns[x] / (double)a_ns[x]) +
					log((double)b_ns[y] /
					    (double)a_ns[y])) /
				    2;
		array_sort_double(walsh, k);
		assert_true(s.bounded);
		assert_true(fabs(s.low - expm1(walsh[table[i][1]])) < 1e-9);
		assert_true(
		    fabs(s.high - expm1(walsh[k - 1 - table[i][1]])) < 1e-9);
		assert_true(s.low <= s.change && s.change <= s.high);
	}
}

/* Goal: five pairs have no 95 % interval; a known change is found. */
TEST(test_known)
{
	struct shift s;

	for (size_t i = 0; i < 20; i++) {
		a_ns[i] = 1000000 + 1000 * (int64_t)i;
		b_ns[i] = a_ns[i] / 2;
	}
	assert_int_equal(shift_paired(a_ns, b_ns, 5, &s), 0);
	assert_false(s.bounded);
	assert_int_equal(shift_paired(a_ns, b_ns, 20, &s), 0);
	assert_true(s.bounded && s.p < 1e-5);
	assert_int_equal(s.lower, 20);
	assert_true(fabs(s.change + 0.5) < 1e-6);
	assert_int_equal(s.difference_ns, -505000);
	assert_int_equal(shift_paired(a_ns, a_ns, 20, &s), 0);
	assert_true(s.p > 0.99);
	assert_int_equal(s.lower, 0);
}

/* Goal: beyond the exact tables the normal form is close to them. */
TEST(test_normal)
{
	struct shift exact, normal;

	fill_random(SHIFT_EXACT);
	assert_int_equal(shift_paired(a_ns, b_ns, SHIFT_EXACT, &exact), 0);
	/* One more pair changes little, but is computed the other way. */
	a_ns[SHIFT_EXACT] = a_ns[0];
	b_ns[SHIFT_EXACT] = b_ns[0];
	assert_int_equal(shift_paired(a_ns, b_ns, SHIFT_EXACT + 1, &normal), 0);
	assert_true(fabs(exact.p - normal.p) < 0.03);
	assert_true(fabs(exact.low - normal.low) < 0.03);
}

static int
set_up(void **state)
{
	(void)state;
	prng_init(&prng, 42);
	return 0;
}

int
main(void)
{
	return unit_run(set_up, NULL);
}
