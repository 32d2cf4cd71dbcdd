/* Bucket i < 128 holds the value i.  Above that the bucket number is the
 * position of the value's highest bit (less 6), times 128, plus the seven bits
 * below it. */
#include "base/histogram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SUB_BUCKETS (1u << HISTOGRAM_SUB_BITS)

unsigned
histogram_bucket(uint64_t value)
{
	unsigned shift;

	if (value < SUB_BUCKETS)
		return (unsigned)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return ((shift + 1) << HISTOGRAM_SUB_BITS) +
	       ((unsigned)(value >> shift) & (SUB_BUCKETS - 1));
}

static uint64_t
add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t
histogram_bucket_edge(unsigned i)
{
	unsigned shift;
	uint64_t top;

	assert(i < HISTOGRAM_BUCKETS);
	if (i < SUB_BUCKETS)
		return i;
	shift = (i >> HISTOGRAM_SUB_BITS) - 1;
	top = SUB_BUCKETS + (i & (SUB_BUCKETS - 1));
	/* In the last bucket the shift gives 2^64 = 0; minus one is right. */
	return ((top + 1) << shift) - 1;
}

void
histogram_init(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void
histogram_add(struct histogram *h, uint64_t value, uint64_t n)
{
	uint64_t sum;

	if (n == 0)
		return;
	if (__builtin_mul_overflow(value, n, &sum))
		sum = UINT64_MAX;
	h->count += n;
	h->sum = add_saturating(h->sum, sum);
	h->min = value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
	h->bucket[histogram_bucket(value)] += n;
}

void
histogram_record(struct histogram *h, uint64_t value)
{
	histogram_add(h, value, 1);
}

void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	into->count += from->count;
	into->sum = add_saturating(into->sum, from->sum);
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t
histogram_rank(double q, uint64_t count)
{
	double exact = q * (double)count;
	double whole = nearbyint(exact);
	double rank =
	    fabs(exact - whole) <= exact * 1e-15 ? whole : ceil(exact);

	if (rank < 1)
		return 1;
	if (rank >= (double)count)
		return count;
	return (uint64_t)rank;
}

uint64_t
histogram_quantile(const struct histogram *h, double q)
{
	uint64_t rank, seen = 0;

	assert(q >= 0 && q <= 1);
	if (h->count == 0)
		return 0;
	rank = histogram_rank(q, h->count);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t edge;

		seen += h->bucket[i];
		if (seen < rank)
			continue;
		edge = histogram_bucket_edge(i);
		return edge < h->max ? edge : h->max;
	}
	return h->max;
}
