/* Goal: seeds give the published numbers, for ever. */
#include "tests/unit/unit.h"

#include "base/random.h"

/* Goal: splitmix64 is the published one (vectors: Rosetta Code). */
TEST(test_splitmix)
{
	static const uint64_t expected[] = {6457827717110365317u,
	    3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
	    16408922859458223821u};
	uint64_t seed = 1234567;

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(splitmix64(&seed), expected[i]);
}

/* Goal: xoshiro256** is the published one (vectors: rand_xoshiro's). */
TEST(test_xoshiro)
{
	static const uint64_t expected[] = {11520u, 0u, 1509978240u,
	    1215971899390074240u, 1216172134540287360u, 607988272756665600u,
	    16172922978634559625u, 8476171486693032832u, 10595114339597558777u,
	    2904607092377533576u};
	struct prng p = {{1, 2, 3, 4}};

	for (size_t i = 0; i < 10; i++)
		assert_int_equal(prng_next(&p), expected[i]);
}
