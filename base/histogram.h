/* histogram.h: a log-linear histogram of nanoseconds (or any uint64_t).
 *
 * Each power of two is cut into 128 equal buckets, so a reported quantile is
 * at most 1/128 = 0.79 % above the true sample.  Values below 128 are exact.
 * One writer; a reader on another
 * thread must work on a copy.
 *
 * Cost: 59 KiB each; recording is a shift, an add and no branch to mispredict.
 * Source: the layout is that of HdrHistogram (G. Tene), without its resizing.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
	uint64_t count;
	uint64_t sum; /* saturates at UINT64_MAX */
	uint64_t min; /* UINT64_MAX while empty */
	uint64_t max;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Make it empty, also for reuse. */
void histogram_init(struct histogram *h);

/* Count one value. */
void histogram_record(struct histogram *h, uint64_t value);

/* Count n equal values. */
void histogram_add(struct histogram *h, uint64_t value, uint64_t n);

/* Return the nearest rank, 1 .. count, of quantile 0 <= q <= 1: ceil(q *
 * count).  A product within rounding error of a whole number counts as that
 * number: 0.07 is stored a little above 7/100, but its rank in a hundred values
 * is 7. */
uint64_t histogram_rank(double q, uint64_t count);

/* Return the value at the rank of q: the upper edge of its bucket, but at most
 * the recorded maximum.  0 when empty.  O(buckets). */
uint64_t histogram_quantile(const struct histogram *h, double q);

/* The largest value that lands in bucket i, 0 <= i < HISTOGRAM_BUCKETS. */
uint64_t histogram_bucket_edge(unsigned i);

/* The bucket that a value lands in. */
unsigned histogram_bucket(uint64_t value);
