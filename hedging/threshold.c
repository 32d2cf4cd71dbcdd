/* threshold.c: the wait that follows from the lengths of earlier pauses. */
#include "hedging/threshold.h"

#include <assert.h>

int64_t
threshold_price_ns(int64_t response_ns)
{
	return 2 * response_ns;
}

/* The mean cost is least at the length of one of the pauses or at the least
 * wait, so only these are tried. */
int64_t
threshold_ns(const struct window *lengths, int64_t price_ns)
{
	int64_t least_ns = price_ns / 2, most_ns = 2 * price_ns;
	int64_t n = lengths->count, best_ns = least_ns, sum_ns = 0;
	int64_t best_cost_ns = n * (least_ns + price_ns);

	assert(n > 0 && price_ns > 0);
	if (lengths->sorted_ns[0] > most_ns)
		return 0;
	for (unsigned i = 0; i < lengths->count; i++) {
		int64_t wait_ns = lengths->sorted_ns[i], cost_ns;

		if (wait_ns > most_ns)
			break;
		sum_ns += wait_ns;
		if (wait_ns < least_ns)
			wait_ns = least_ns;
		cost_ns = sum_ns + (n - i - 1) * (wait_ns + price_ns);
		if (cost_ns < best_cost_ns) {
			best_cost_ns = cost_ns;
			best_ns = wait_ns;
		}
	}
	return best_ns;
}

int64_t
threshold_known_ns(int64_t left_ns, int64_t age_ns, int64_t price_ns)
{
	return left_ns - age_ns > price_ns ? 0 : left_ns + price_ns / 2;
}

int64_t
threshold_regret_ns(
    int64_t length_ns, bool waited, int64_t after_ns, int64_t price_ns)
{
	int64_t cost_ns = waited ? length_ns : after_ns + price_ns;

	return cost_ns - (length_ns < price_ns ? length_ns : price_ns);
}
