/*
 * Goal: the wait is the one that the lengths so far ask for, and however wrong
 * they were, it costs at most three times what it must.
 */
#include "tests/unit/unit.h"

#include <math.h>

#include "base/instant.h"
#include "base/random.h"
#include "hedging/threshold.h"

#define US NS_PER_US

static uint64_t seed = 2018;

static double
draw(void)
{
	return random_unit(splitmix64(&seed));
}

static int64_t
between(int64_t low_ns, int64_t high_ns)
{
	return low_ns + (int64_t)(draw() * (double)(high_ns - low_ns));
}

/* What a pause costs if it is acted upon after so long. */
static int64_t
cost_ns(int64_t length_ns, int64_t after_ns, int64_t price_ns)
{
	return length_ns <= after_ns && after_ns > 0 ? length_ns
						     : after_ns + price_ns;
}

static int64_t
least_ns(int64_t length_ns, int64_t price_ns)
{
	return length_ns < price_ns ? length_ns : price_ns;
}

/* Goal: exact waits for histories made by hand; b is 2 ms. */
TEST(test_exact)
{
	static const struct {
		int64_t us[THRESHOLD_KNOWN];
		int64_t wait_us;
	} cases[] = {
	    /* short: the least wait */
	    {{300, 300, 300, 300, 300, 300, 300, 300}, 1000},
	    /* longer than 2 b, all of them: none */
	    {{60000, 61000, 62000, 4001, 60000, 60000, 60000, 60000}, 0},
	    {{60000, 61000, 62000, 4000, 60000, 60000, 60000, 60000}, 1000},
	    /* up to b + b/2 each is better waited out */
	    {{1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500}, 1500},
	    {{2999, 2999, 2999, 2999, 2999, 2999, 2999, 2999}, 2999},
	    {{3001, 3001, 3001, 3001, 3001, 3001, 3001, 3001}, 1000},
	    /* a mixture: past the short ones, not for the long ones */
	    {{1500, 60000, 1500, 60000, 1500, 60000, 1500, 60000}, 1500},
	    {{1800, 60000, 60000, 60000, 60000, 60000, 60000, 300}, 1000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct window w;

		window_init(&w, THRESHOLD_KEPT);
		for (unsigned k = 0; k < THRESHOLD_KNOWN; k++)
			window_add(&w, cases[i].us[k] * US);
		assert_int_equal(
		    threshold_ns(&w, 2000 * US), cases[i].wait_us * US);
	}
}

static void
history_random(struct window *w, int64_t price_ns)
{
	unsigned n = 1 + (unsigned)(draw() * THRESHOLD_KEPT);
	double wide = 4 * draw();

	window_init(w, THRESHOLD_KEPT);
	while (n-- > 0)
		window_add(w, 1 + (int64_t)(pow(10, wide * (draw() - 0.5)) *
					    (double)price_ns));
}

/* Goal: no wait within the bounds has a lower mean than the one chosen. */
TEST(test_least_mean)
{
	struct window w;

	for (unsigned i = 0; i < 2000; i++) {
		int64_t price_ns = between(US, 100 * NS_PER_MS), wait_ns;
		int64_t chosen_ns = 0;

		history_random(&w, price_ns);
		wait_ns = threshold_ns(&w, price_ns);
		if (wait_ns == 0) {
			assert_true(w.sorted_ns[0] > 2 * price_ns);
			continue;
		}
		for (unsigned k = 0; k < w.count; k++)
			chosen_ns += cost_ns(w.sorted_ns[k], wait_ns, price_ns);
		for (unsigned j = 0; j < w.count + 3; j++) {
			int64_t sum_ns = 0,
				other_ns = j < w.count	      ? w.sorted_ns[j]
					   : j == w.count     ? price_ns / 2
					   : j == w.count + 1 ? price_ns
							      : 2 * price_ns;

			if (other_ns < price_ns / 2 || other_ns > 2 * price_ns)
				continue;
			for (unsigned k = 0; k < w.count; k++)
				sum_ns +=
				    cost_ns(w.sorted_ns[k], other_ns, price_ns);
			assert_true(chosen_ns <= sum_ns);
		}
	}
}

/* Goal: an adversary that knows the wait makes it cost at most three times the
 * least that is possible, or one hedge where nothing is waited. */
TEST(test_adversary)
{
	double worst = 0;
	struct window w;

	for (unsigned i = 0; i < 10000; i++) {
		int64_t price_ns = between(2 * US, 100 * NS_PER_MS);
		int64_t wait_ns, length_ns[4];

		history_random(&w, price_ns);
		wait_ns = threshold_ns(&w, price_ns);
		length_ns[0] = wait_ns + 1; /* just missed */
		length_ns[1] = wait_ns;
		length_ns[2] = price_ns;
		length_ns[3] = between(1, 8 * price_ns);
		for (unsigned k = 0; k < 4; k++) {
			int64_t cost = cost_ns(length_ns[k], wait_ns, price_ns);
			int64_t least = least_ns(length_ns[k], price_ns);

			if (length_ns[k] == 0)
				continue;
			assert_int_equal(
			    threshold_regret_ns(length_ns[k],
				length_ns[k] <= wait_ns, wait_ns, price_ns),
			    cost - least);
			if (wait_ns == 0) {
				assert_true(cost - least <= price_ns);
				continue;
			}
			assert_true(wait_ns >= price_ns / 2);
			assert_true(wait_ns <= 2 * price_ns);
			assert_true(cost <= 3 * least + 2); /* halves */
			if ((double)cost / (double)least > worst)
				worst = (double)cost / (double)least;
		}
	}
	print_message("worst factor %.3f\n", worst);
	assert_true(worst > 2.9); /* it was looked for where it is */
}
