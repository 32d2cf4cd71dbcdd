/* Goal: the permutation is the published cipher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/permute.h"

/* Speck64/128 in appendix C of the paper. */
static void
test_published_vector(void **state)
{
	const uint32_t key[4] = {
	    0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918};
	struct permutation p;

	(void)state;
	permutation_init(&p, key);
	assert_true(permutation_of(&p, UINT64_C(0x3b7265747475432d)) ==
		    UINT64_C(0x8c6fa548454e028b));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_published_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
