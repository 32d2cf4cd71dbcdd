#include "loadgen/stats/statistics.h"

#include "base/array.h"
#include "base/histogram.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t
quantile_rank(double percent, size_t n)
{
	assert(n >= 1 && percent > 0 && percent <= 100);
	return histogram_rank(percent / 100, n);
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

	/* Move each bound inwards while the mass outside stays small. */
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

/* --- paired differences --------------------------------------------------- */

#define TAIL 0.025

static double
median_of(const double *sorted, size_t n)
{
	return n % 2 != 0 ? sorted[n / 2]
			  : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double
normal_tail(double z)
{
	return 0.5 * erfc(z / sqrt(2));
}

/* Set ways[s] to the probability that the sum of the ranks is s, if each of n
 * ranks is in the sum with probability 1/2. */
static void
signed_rank_chances(size_t n, double *ways, size_t size)
{
	memset(ways, 0, size * sizeof(*ways));
	ways[0] = 1;
	for (size_t rank = 1; rank <= n; rank++) {
		for (size_t s = size; s-- > 0;)
			ways[s] =
			    (ways[s] + (s >= rank ? ways[s - rank] : 0)) / 2;
	}
}

/* The distribution of the sum of ranks: exact, or normal. */
struct null {
	double *ways; /* owned; NULL: normal */
	size_t size;
	double mean;
	double deviation;
};

/* Return the probability of a sum of at most w. */
static double
null_below(const struct null *d, double w)
{
	double chance = 0;

	if (w < 0)
		return 0;
	if (d->ways == NULL)
		return normal_tail((d->mean - w - 0.5) / d->deviation);
	for (size_t s = 0; s < d->size && (double)s <= w; s++)
		chance += d->ways[s];
	return chance;
}

/* Return how many ordered estimates are outside the interval on each side. */
static size_t
null_cut(const struct null *d, size_t estimates)
{
	size_t cut = 0;

	while (cut < estimates / 2 && null_below(d, (double)cut) <= TAIL)
		cut++;
	return cut;
}

static double
two_sided(const struct null *d, double w)
{
	double mirrored = 2 * d->mean - w;
	double p = 2 * null_below(d, ceil(w < mirrored ? w : mirrored));

	return p > 1 ? 1 : p;
}

/* Turn sorted estimates of the log ratio into percentages. */
static void
fill(struct shift *out, const struct null *d, const double *estimates, size_t n)
{
	size_t cut = null_cut(d, n);

	out->change = expm1(median_of(estimates, n));
	out->bounded = cut > 0;
	if (!out->bounded)
		return;
	out->low = expm1(estimates[cut - 1]);
	out->high = expm1(estimates[n - cut]);
}

/* Return the sum of the ranks of the values above 0, ranked by distance from
 * 0. */
static double
positive_ranks(const double *d, size_t n, double *scratch)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(d[i]);
	array_sort_double(scratch, n);
	for (size_t i = 0; i < n; i++) {
		size_t first = 0, last;
		while (scratch[first] < fabs(d[i]))
			first++;
		for (last = first; last < n && scratch[last] <= fabs(d[i]);)
			last++;
		/* Equal distances share the mean rank; 0 counts as half. */
		double rank = (double)(first + 1 + last) / 2;
		sum += d[i] > 0 ? rank : d[i] < 0 ? 0 : rank / 2;
	}
	return sum;
}

static int
null_signed_rank(struct null *d, size_t n)
{
	double count = (double)n;

	*d = (struct null){.size = n * (n + 1) / 2 + 1,
	    .mean = count * (count + 1) / 4,
	    .deviation = sqrt(count * (count + 1) * (2 * count + 1) / 24)};
	if (n > SHIFT_EXACT)
		return 0;
	d->ways = calloc(d->size, sizeof(*d->ways));
	if (d->ways == NULL)
		return -ENOMEM;
	signed_rank_chances(n, d->ways, d->size);
	return 0;
}

int
shift_paired(
    const int64_t *a_ns, const int64_t *b_ns, size_t n, struct shift *out)
{
	size_t pairs = n * (n + 1) / 2;
	double *d = calloc(n, sizeof(*d));
	double *walsh = calloc(pairs, sizeof(*walsh));
	int64_t *differences = calloc(n, sizeof(*differences));
	struct null null = {0};
	size_t k = 0;
	int err = -ENOMEM;

	memset(out, 0, sizeof(*out));
	if (d == NULL || walsh == NULL || differences == NULL ||
	    null_signed_rank(&null, n) < 0)
		goto done;
	for (size_t i = 0; i < n; i++) {
		d[i] = log((double)b_ns[i] / (double)a_ns[i]);
		differences[i] = b_ns[i] - a_ns[i];
		out->lower += b_ns[i] < a_ns[i];
	}
	out->p = two_sided(&null, positive_ranks(d, n, walsh));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i; j < n; j++)
			walsh[k++] = (d[i] + d[j]) / 2;
	}
	array_sort_double(walsh, pairs);
	fill(out, &null, walsh, pairs);
	array_sort_int64(differences, n);
	out->difference_ns = quantile_sorted(differences, n, 50);
	err = 0;
done:
	free(null.ways);
	free(differences);
	free(walsh);
	free(d);
	return err;
}
