/* Goal: in a stream of many keys, whose share is more than one entry's is
 * there, and no count is further from the truth than its error. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/busiest.h"
#include "base/random.h"

#define ENTRIES 32
#define KEYS 5000
#define STREAM 200000

static uint64_t seed;

/* Few keys are frequent, most are rare; each run has another mixture. */
static uint64_t
key_next(unsigned run)
{
	uint64_t at = splitmix64(&seed) % KEYS + 1;

	for (unsigned i = 0; i < run % 8; i++)
		at = at * (splitmix64(&seed) % KEYS + 1) / KEYS;
	return at + 1;
}

TEST(counts_are_true_within_their_error)
{
	static uint64_t truth[KEYS + 2];

	for (unsigned run = 0; run < 24; run++) {
		struct busiest of[ENTRIES] = {{0}};
		uint64_t all = 0;

		memset(truth, 0, sizeof(truth));
		for (unsigned i = 0; i < STREAM; i++) {
			uint64_t key = key_next(run),
				 times = 1 + splitmix64(&seed) % 3;

			truth[key] += times;
			all += times;
			assert_int_equal(
			    busiest_add(of, ENTRIES, key, times)->key, key);
		}
		for (uint64_t key = 1; key < KEYS + 2; key++) {
			struct busiest *one = busiest_find(of, ENTRIES, key);

			if (one == NULL) {
				assert_true(truth[key] <= all / ENTRIES);
				continue;
			}
			assert_true(one->count >= truth[key]);
			assert_true(one->count - one->error <= truth[key]);
		}
		busiest_keep(of, ENTRIES, 5);
		for (unsigned i = 0; i < ENTRIES; i++) {
			assert_int_equal(of[i].key == 0, i >= 5);
			assert_true(i == 0 || of[i].count <= of[i - 1].count);
		}
	}
}

TEST(halves_are_forgotten)
{
	struct busiest of[4] = {{0}};

	busiest_add(of, 4, 7, 5);
	busiest_add(of, 4, 8, 1);
	busiest_halve(of, 4);
	assert_int_equal(busiest_find(of, 4, 7)->count, 2);
	assert_null(busiest_find(of, 4, 8));
}
