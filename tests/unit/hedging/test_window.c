/* Goal: quantiles of a sliding window equal those of the sorted last values. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/array.h"
#include "hedging/window.h"

/* The definition, word for word: sort, take the ceil(p * n)-th. */
static int64_t
naive(const int64_t *all, size_t n, unsigned capacity, unsigned percent)
{
	int64_t last[WINDOW_MAX];
	size_t kept = n < capacity ? n : capacity;
	size_t rank = (kept * percent + 99) / 100;

	if (kept == 0)
		return 0;
	memcpy(last, all + n - kept, kept * sizeof(*all));
	array_sort_int64(last, kept);
	return last[rank - 1];
}

TEST(test_against_sorting)
{
	static const unsigned capacities[] = {1, 2, 32, 127, 128};
	static int64_t all[3000];
	struct window w;

	for (size_t c = 0; c < sizeof(capacities) / sizeof(*capacities); c++) {
		window_init(&w, capacities[c]);
		assert_int_equal(window_percentile(&w, 95), 0);
		for (size_t n = 0; n < 3000; n++) {
			/* few distinct values: ties are where it goes wrong */
			all[n] =
			    (int64_t)unit_draw(n % 500 < 250 ? 7 : 1000000);
			window_add(&w, all[n]);
			for (unsigned p = 1; p <= 100; p += 7)
				assert_int_equal(window_percentile(&w, p),
				    naive(all, n + 1, capacities[c], p));
			assert_int_equal(window_percentile(&w, 100),
			    naive(all, n + 1, capacities[c], 100));
		}
	}
}
