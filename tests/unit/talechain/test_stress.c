/*
 * Goal: with writers faster than the observer every event is accounted for as
 * recorded or lost and none is corrupt, and the same holds for readers of the
 * timeline stream behind it.
 */
#include "tests/unit/talechain/stress.h"

#define EVENTS 300000

TEST(test_stress)
{
	stress_run(EVENTS);
}
