/* Goal: over 200 seeds and several servers the search's intervals, as printed,
 * hold the true rate in nine of ten (with regular pauses in 85 %), and the
 * result was kept in its own trials.
 * Prints how often, how wide they are, and where the result stands. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "tests/unit/loadgen/service.h"

#define SEEDS 200
#define SHORT_S 2
#define BUDGET_S 180

struct tally {
	unsigned held, unbounded, found;
	double width, rate;
};

static void
add(struct tally *t, const struct rate_search *s, double truth)
{
	struct rate_found f;

	rate_search_result(s, &f);
	if (f.rate != NULL)
		f.low_per_s = fmin(f.low_per_s, f.rate->rate_per_s);
	t->held += f.low_per_s <= truth &&
		   (f.high_per_s <= 0 || truth <= f.high_per_s);
	if (f.low_per_s > 0 && f.high_per_s > 0)
		t->width += f.high_per_s / f.low_per_s;
	else
		t->unbounded++;
	if (f.rate == NULL)
		return;
	assert_true(f.rate->full > 0 && rate_keeps(s, f.rate));
	t->found++;
	t->rate += f.rate->rate_per_s / truth;
}

/* Search with many seeds; so many percent of the intervals hold the truth. */
static void
many(const char *name, const struct service *s, double percent, unsigned least)
{
	double truth = service_truth(s, percent, SEARCH_FULL * SHORT_S);
	struct rate_search *search = calloc(1, sizeof(*search));
	struct tally t = {0};

	assert_non_null(search);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct service copy = *s;
		copy.seed = 100000 * seed;
		memset(search, 0, sizeof(*search));
		search->percent = percent;
		search->lowest_per_s = 1;
		search->highest_per_s = 100000;
		search->start_per_s = 0.5 / s->mean_s;
		service_search(&copy, search, SHORT_S, BUDGET_S);
		add(&t, search, truth);
	}
	print_message("%-28s true %6.1f/s: held in %u of %u, mean width %.2f "
		      "(%u unbounded), result %.2f of it\n",
	    name, truth, t.held, SEEDS, t.width / (SEEDS - t.unbounded + 1e-9),
	    t.unbounded, t.rate / (t.found + 1e-9));
	free(search);
	assert_true(t.held >= SEEDS * least / 100);
}

TEST(test_equal_services)
{
	many("equal service times",
	    &(struct service){.mean_s = 0.002, .limit_ns = 10 * NS_PER_MS}, 99,
	    90);
}

TEST(test_random_services)
{
	many("exponential service times",
	    &(struct service){.mean_s = 0.002,
		.exponential = true,
		.limit_ns = 20 * NS_PER_MS},
	    99, 90);
}

TEST(test_fast_server)
{
	many("fast server, steep",
	    &(struct service){.mean_s = 0.0002, .limit_ns = 5 * NS_PER_MS}, 99,
	    90);
}

TEST(test_near_saturation)
{
	many("limit near saturation",
	    &(struct service){.mean_s = 0.002, .limit_ns = 100 * NS_PER_MS}, 99,
	    90);
}

TEST(test_disturbed_machine)
{
	many("each trial 10 % off",
	    &(struct service){.mean_s = 0.002,
		.exponential = true,
		.limit_ns = 30 * NS_PER_MS,
		.noise = 0.1},
	    99, 90);
}

/* Pauses bend the share over the limit otherwise than the curve. */
TEST(test_pauses)
{
	many("pauses of 8 ms",
	    &(struct service){.mean_s = 0.001,
		.limit_ns = 10 * NS_PER_MS,
		.pause_every_s = 0.5,
		.pause_s = 0.008},
	    99, 85);
}

TEST(test_median)
{
	many("p50",
	    &(struct service){.mean_s = 0.002,
		.exponential = true,
		.limit_ns = 10 * NS_PER_MS},
	    50, 90);
}
