/* Goal: the search for a rate finds the known capacity of a simulated server,
 * within an interval that holds it, and never a rate that was not kept. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "tests/unit/loadgen/service.h"

#define SHORT_S 2
#define BUDGET_S 180

static struct rate_search search;
static struct rate_found found;

/* Search with a server; *s is left as it is. */
static unsigned
run(const struct service *s, uint64_t seed, double percent, double lowest,
    double highest)
{
	struct service copy = *s;
	unsigned trials;

	copy.seed = 100000 * seed;
	memset(&search, 0, sizeof(search));
	search.percent = percent;
	search.lowest_per_s = lowest;
	search.highest_per_s = highest;
	search.start_per_s = 0.5 / s->mean_s;
	trials = service_search(&copy, &search, SHORT_S, BUDGET_S);
	rate_search_result(&search, &found);
	return trials;
}

/* The result was tried, and kept the limit; nothing below it did not. */
static void
check_found(void)
{
	if (found.rate == NULL)
		return;
	assert_true(found.rate->full > 0 && rate_keeps(&search, found.rate));
	assert_true((double)found.rate->over_most <=
		    (double)found.rate->requests * (1 - search.percent / 100));
	assert_true(found.over == NULL ||
		    found.rate->rate_per_s < found.over->rate_per_s);
}

/* Goal: the simulated server is the textbook's: of M/M/1 the share over L is
 * exp(-(mu - lambda) L). */
TEST(test_simulated_server)
{
	const struct service s = {
	    .mean_s = 0.002, .exponential = true, .limit_ns = 20 * NS_PER_MS};
	double truth = 500 + log(0.01) / 0.02;

	assert_true(fabs(service_truth(&s, 99, 100) / truth - 1) < 0.02);
}

/* Goal: of 20 searches the intervals of 18 hold the true rate, and are small
 * enough to be of use. */
TEST(test_interval_holds_the_truth)
{
	const struct service s = {
	    .mean_s = 0.002, .limit_ns = 10 * NS_PER_MS, .noise = 0.03};
	double truth = service_truth(&s, 99, SEARCH_FULL * SHORT_S);
	unsigned held = 0, small = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		run(&s, seed, 99, 1, 100000);
		check_found();
		assert_non_null(found.rate);
		small += found.high_per_s > 0 &&
			 found.high_per_s < 1.3 * found.low_per_s;
		held += found.low_per_s <= truth &&
			(found.high_per_s <= 0 || truth <= found.high_per_s);
	}
	assert_true(held >= 18);
	assert_true(small >= 15);
}

/* Goal: a limit that not even a single request keeps is not kept at the lowest
 * rate, and that is known soon. */
TEST(test_never_kept)
{
	const struct service s = {.mean_s = 0.01, .limit_ns = 5 * NS_PER_MS};

	assert_true(run(&s, 1, 99, 10, 1000) <= 6);
	assert_null(found.rate);
	assert_ptr_equal(found.over, &search.tried[0]);
	assert_true(fabs(found.over->rate_per_s - 10) < 1e-9);
}

/* Goal: what is kept at the highest rate is confirmed there, and has no
 * interval. */
TEST(test_kept_at_the_highest)
{
	const struct service s = {.mean_s = 0.001, .limit_ns = NS_PER_S};

	run(&s, 1, 99, 1, 100);
	check_found();
	assert_true(fabs(found.rate->rate_per_s - 100) < 1e-9);
	assert_int_equal(found.rate->full, 3);
	assert_null(found.over);
	assert_true(found.low_per_s <= 0 && found.high_per_s <= 0);
}

/* Goal: a rate that the generator cannot offer is no result, neither as kept
 * nor as too much for the server. */
TEST(test_generator_is_the_limit)
{
	const struct service s = {
	    .mean_s = 0.0001, .limit_ns = 50 * NS_PER_MS, .most_per_s = 900};

	run(&s, 1, 99, 1, 100000);
	check_found();
	assert_non_null(found.rate);
	assert_true(found.rate->rate_per_s <= 900);
	assert_int_equal(found.over->requests, 0);
	assert_true(found.over->late >= 3 && found.over->rate_per_s > 900);
	assert_true(found.high_per_s <= 0);
	const struct service none = {
	    .mean_s = 0.0001, .limit_ns = 50 * NS_PER_MS, .most_per_s = 0.5};
	run(&none, 1, 99, 1, 100000);
	assert_null(found.rate);
	assert_int_equal(search.tried[0].requests, 0);
}

/* Goal: a rate at which latency grows to the end is not kept, even if no
 * request was over the limit yet; one at which it fluctuates is. */
TEST(test_growing_queue)
{
	struct rate_trial t = {.rate_per_s = 100, .full = true};

	search = (struct rate_search){.percent = 99, .highest_per_s = 1000};
	for (unsigned i = 0; i < SEARCH_SLICES; i++) {
		t.slices[i].requests = 1000;
		t.slices[i].median_ns = (1 + i) * NS_PER_MS;
	}
	rate_search_add(&search, &t);
	assert_true(search.tried[0].rising);
	assert_false(rate_keeps(&search, &search.tried[0]));
	t.rate_per_s = 50;
	t.slices[5].median_ns = NS_PER_MS;
	rate_search_add(&search, &t);
	assert_true(rate_keeps(&search, &search.tried[0]));
	/* 10 of 1000 may be over, not 11 */
	t = (struct rate_trial){.rate_per_s = 20, .full = true};
	t.slices[0] = (struct trial_slice){.requests = 1000, .over_most = 10};
	rate_search_add(&search, &t);
	assert_true(rate_keeps(&search, &search.tried[0]));
	t.slices[0] = (struct trial_slice){.requests = 1000, .over_most = 11};
	rate_search_add(&search, &t);
	assert_false(rate_keeps(&search, &search.tried[0]));
}

/* Goal: what the generator's lateness may have added keeps a rate from being
 * the result, and from being called too much. */
TEST(test_lateness)
{
	struct rate_trial t = {.rate_per_s = 100, .full = true};
	double rate;

	search = (struct rate_search){.percent = 99,
	    .lowest_per_s = 100,
	    .highest_per_s = 100,
	    .start_per_s = 100};
	for (unsigned i = 0; i < SEARCH_SLICES; i++)
		t.slices[i] = (struct trial_slice){
		    .requests = 100, .over_most = 5, .over_least = 0};
	while (rate_search_next(&search, false, &rate) != SEARCH_DONE)
		rate_search_add(&search, &t);
	rate_search_result(&search, &found);
	assert_null(found.rate);
	assert_null(found.over);
	assert_int_equal(search.tried[0].full, 3);
}
