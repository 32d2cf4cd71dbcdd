/*
 * Goal: with writers faster than the observer every event is accounted for as
 * recorded or lost and none is corrupt, and the same holds for readers of the
 * timeline stream behind it.
 */
#include "tests/unit/talechain/stress.h"

#define EVENTS 300000

static void
test_stress(void **state)
{
	(void)state;
	stress_run(EVENTS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
