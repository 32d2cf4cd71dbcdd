#include "loadgen/stats/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int
compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void
samples_sort(int64_t *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), compare_values);
}

size_t
quantile_rank(double percent, size_t n)
{
	assert(n >= 1 && percent > 0 && percent <= 100);
	double exact = percent * (double)n / 100;
	double whole = nearbyint(exact);

	/* 99.9 has no exact binary form; 99.9 % of 1000 is still rank 999. */
	if (fabs(exact - whole) < 1e-9 * exact)
		exact = whole;
	size_t rank = (size_t)ceil(exact);
	if (rank < 1)
		rank = 1;
	return rank > n ? n : rank;
}

int64_t
quantile_sorted(const int64_t *sorted, size_t n, double percent)
{
	return sorted[quantile_rank(percent, n) - 1];
}

/* P(B = k) for B ~ Binomial(n, q). */
static double
binomial_mass(size_t n, double q, size_t k)
{
	int sign;
	double ways = lgamma_r((double)n + 1, &sign) -
		      lgamma_r((double)k + 1, &sign) -
		      lgamma_r((double)(n - k) + 1, &sign);

	return exp(ways + (double)k * log(q) + (double)(n - k) * log1p(-q));
}

/* Of n samples B ~ Binomial(n, q) lie below the population's quantile, so the
 * r-th smallest lies above it with P(B <= r - 1), and P(low-th <= quantile <
 * high-th) = P(low <= B <= high - 1). */
bool
rank_interval(size_t n, double percent, double level, struct rank_interval *out)
{
	const double q = percent / 100;
	const double side = (1 - level) / 2 + 1e-12;
	double below = 0;
	double above = 0;

	/* Move each bound inwards while what is left outside stays small. */
	out->low = 0;
	while (out->low < n) {
		double mass = binomial_mass(n, q, out->low);
		if (below + mass > side)
			break;
		below += mass;
		out->low++;
	}
	out->high = n + 1;
	while (out->high > 1) {
		double mass = binomial_mass(n, q, out->high - 1);
		if (above + mass > side)
			break;
		above += mass;
		out->high--;
	}
	out->coverage = 1 - below - above;
	return out->low >= 1 && out->high <= n;
}
