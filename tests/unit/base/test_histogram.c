/* Goal: quantiles are within 1/128 of the sorted samples, on any shape. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/random.h"

#define SAMPLES 5000

static struct histogram one;
static uint64_t samples[SAMPLES];

static uint64_t
sample_small(uint64_t *seed)
{
	return splitmix64(seed) % 300;
}

static uint64_t
sample_any_magnitude(uint64_t *seed)
{
	unsigned shift = (unsigned)(splitmix64(seed) % 64);

	return splitmix64(seed) >> shift;
}

static uint64_t
sample_two_humps(uint64_t *seed)
{
	uint64_t pause = splitmix64(seed) % 100 < 3 ? 200000000 : 0;

	return pause + 3000000 + splitmix64(seed) % 1000000;
}

static uint64_t (*const shapes[])(uint64_t *) = {
    sample_small,
    sample_any_magnitude,
    sample_two_humps,
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int
compare(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void
assert_near(uint64_t got, uint64_t truth)
{
	assert_true(got >= truth);
	assert_true(got - truth <= truth / 128);
	if (truth < 256)
		assert_int_equal(got, truth);
}

TEST(test_quantiles_against_sorted_samples)
{
	/* Ranks in thousandths, so that the true rank is integer arithmetic. */
	static const unsigned thousandths[] = {
	    0, 1, 10, 70, 250, 500, 900, 950, 990, 999, 1000};
	uint64_t seed = 1;

	for (unsigned shape = 0; shape < SHAPES; shape++) {
		histogram_init(&one);
		for (unsigned i = 0; i < SAMPLES; i++) {
			samples[i] = shapes[shape](&seed);
			histogram_record(&one, samples[i]);
		}
		qsort(samples, SAMPLES, sizeof(samples[0]), compare);
		assert_int_equal(one.min, samples[0]);
		assert_int_equal(one.max, samples[SAMPLES - 1]);
		for (unsigned i = 0; i < 11; i++) {
			unsigned rank = (thousandths[i] * SAMPLES + 999) / 1000;
			double q = thousandths[i] / 1000.0;

			assert_near(histogram_quantile(&one, q),
			    samples[rank > 0 ? rank - 1 : 0]);
		}
	}
}

TEST(test_nearest_rank)
{
	histogram_init(&one);
	for (uint64_t v = 1; v <= 100; v++)
		histogram_record(&one, v);
	/* q = k/100 must give exactly the k-th value, also where the product
	 * in floating point lies a little above k. */
	for (unsigned k = 1; k <= 100; k++)
		assert_int_equal(histogram_quantile(&one, k / 100.0), k);
	assert_int_equal(histogram_quantile(&one, 0.101), 11);
	assert_int_equal(histogram_quantile(&one, 0.0), 1);
}

TEST(test_empty_and_edges)
{
	static const uint64_t edges[] = {
	    0, 127, 128, 255, 256, 257, UINT64_MAX - 1, UINT64_MAX};

	histogram_init(&one);
	assert_int_equal(histogram_quantile(&one, 0.5), 0);
	for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		histogram_init(&one);
		histogram_record(&one, edges[i]);
		assert_int_equal(histogram_quantile(&one, 0.5), edges[i]);
	}
	histogram_record(&one, UINT64_MAX);
	assert_true(one.sum == UINT64_MAX); /* saturated */
}

TEST(test_bucket_edges_tile_the_range)
{
	for (unsigned i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		uint64_t edge = histogram_bucket_edge(i);

		assert_true(histogram_bucket_edge(i + 1) > edge);
		histogram_init(&one);
		histogram_record(&one, edge);
		histogram_record(&one, edge + 1);
		assert_int_equal(one.bucket[i], 1);
		assert_int_equal(one.bucket[i + 1], 1);
	}
	assert_true(histogram_bucket_edge(HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}
