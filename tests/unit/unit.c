/*
 * unit.c: see unit.h.
 */
#include "tests/unit/unit.h"

#include <assert.h>
#include <errno.h>

#define TESTS_MAX 100

static struct CMUnitTest test[TESTS_MAX];
static unsigned line[TESTS_MAX], count;

/* The compiler is free to call constructors in another order than that of the
 * file. */
void
unit_add(const struct CMUnitTest *added, unsigned at)
{
	unsigned i = count++;

	assert(i < TESTS_MAX);
	for (; i > 0 && line[i - 1] > at; i--) {
		test[i] = test[i - 1];
		line[i] = line[i - 1];
	}
	test[i] = *added;
	line[i] = at;
}

int
unit_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	assert(count > 0);
	return _cmocka_run_group_tests(
	    program_invocation_short_name, test, count, setup, teardown);
}

uint64_t
unit_draw(uint64_t below)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

__attribute__((weak)) int
main(void)
{
	return unit_run(NULL, NULL);
}
