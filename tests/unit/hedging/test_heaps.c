/*
 * Goal: of two JVMs that size their edens as they like, under load with bursts,
 * requests meet at most 2 % of the collections.
 *
 * The larger sweep is tests/bench/bench_steer.c.
 */
#include "tests/unit/unit.h"

#include "heaps.h"

#define SEEDS 3
#define SWAPS_IN_S 17 /* one in 60 ms */

TEST(test_few_collections_are_met)
{
	for (unsigned k = 0; k < HEAPS_SETTINGS - 2; k++) {
		const struct heaps_setting *set = &heaps_setting[k];
		struct heaps_result r = {0};

		for (unsigned seed = 1; seed <= SEEDS; seed++)
			heaps_run(set, seed, &r);
		print_message(
		    "%s: %u of %u met\n", set->name, r.met, r.collections);
		assert_true(r.collections >= 60);
		assert_true(50 * r.met <= r.collections);
		assert_true(r.swaps_in_s <= SWAPS_IN_S);
		assert_in_range(r.unmet_apart_ms, 1, 20000);
	}
}

/* Goal: where neither server can cover the other's turn they share requests,
 * and are not left to one that collects all the time. */
TEST(test_too_fast_for_both_is_shared)
{
	struct heaps_result r = {0};

	heaps_run(&heaps_setting[HEAPS_SETTINGS - 1], 1, &r);
	assert_true(r.shared_ms > 5000);
	assert_true(r.swaps_in_s <= SWAPS_IN_S);
}
