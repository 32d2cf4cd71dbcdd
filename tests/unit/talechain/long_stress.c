/*
 * Goal: the same as in test_stress.c where the observer really meets writers in
 * their slots.
 *
 * Long: how the threads meet differs from run to run, and on a busy machine
 * they mostly take turns.
 */
#include "base/instant.h"
#include "tests/unit/talechain/stress.h"

#define EVENTS 2000000

TEST(test_stress)
{
	struct instant begun = instant_now();
	uint64_t torn = 0;
	int round;

	/* Until they have really met, but not for ever. */
	for (round = 0; round < 3 || torn < 300; round++) {
		torn += stress_run(EVENTS);
		if (instant_since(instant_now(), begun) > 10 * NS_PER_S)
			break;
	}
}
