/*
 * bench_steer.c: how many collections requests meet in the simulation of
 * tests/unit/hedging/heaps.h, steered.
 *
 * 	build/bench/bench_steer [SEEDS [KIND]]		20, all
 */
#include <stdio.h>
#include <stdlib.h>

#include "hedging/steer.h"
#include "tests/unit/hedging/heaps.h"

static void
print_row(const struct heaps_setting *set, const struct heaps_result *r)
{
	printf("%-22s %6u %5u %6.2f %6u %5u %4u %5u %6.1f %6.1f  ", set->name,
	    r->collections, r->met,
	    r->collections > 0 ? 100.0 * r->met / r->collections : 0, r->caught,
	    r->swaps, r->swaps_in_s, r->shares, (double)r->shared_ms / 1000,
	    (double)r->unmet_apart_ms / 1000);
	for (unsigned i = 0; i < STEER_MISS_COUNT; i++)
		printf(" %llu", (unsigned long long)r->missed[i]);
	printf("\n");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	unsigned only = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	printf("%u seeds; caught: requests in flight at a collection; missed: "
	       "in the order of enum steer_miss\n%-22s %6s %5s %6s %6s %5s %4s "
	       "%5s %6s %6s  missed\n",
	    seeds, "", "coll.", "met", "%", "caught", "swaps", "in s", "times",
	    "shared", "apart");
	for (unsigned k = 0; k < HEAPS_SETTINGS; k++) {
		struct heaps_result r = {0};

		if (only != 0 && k + 1 != only)
			continue;
		for (unsigned seed = 1; seed <= seeds; seed++)
			heaps_run(&heaps_setting[k], seed, &r);
		print_row(&heaps_setting[k], &r);
	}
	return 0;
}
