/* slow_target.c: latencies of the last minutes, in buckets, and a
 * percentile. */
#include "proxy/request/slow_target.h"

#include <string.h>

/* The bucket of a duration: eight for each power of two. */
static unsigned
bucket_of(int64_t ns)
{
	uint64_t v = ns > 0 ? (uint64_t)ns : 1;
	unsigned log2 = 63 - (unsigned)__builtin_clzll(v);

	return log2 < 3 ? (unsigned)v
			: log2 * 8 + (unsigned)(v >> (log2 - 3) & 7);
}

/* The first value above a bucket. */
static int64_t
bucket_end_ns(unsigned bucket)
{
	unsigned log2 = bucket / 8;

	return log2 < 3 ? (int64_t)bucket + 1
			: (int64_t)(8 + bucket % 8 + 1) << (log2 - 3);
}

static void
renew(struct slow_target *t)
{
	uint64_t sum[SLOW_TARGET_BUCKETS] = {0}, all = 0, above = 0;
	unsigned i;

	for (unsigned part = 0; part < SLOW_TARGET_PARTS; part++)
		for (i = 0; i < SLOW_TARGET_BUCKETS; i++)
			sum[i] += t->bucket[part][i];
	for (i = 0; i < SLOW_TARGET_BUCKETS; i++)
		all += sum[i];
	t->target_ns = 0;
	if (all < SLOW_TARGET_LEAST)
		return;
	for (i = SLOW_TARGET_BUCKETS - 1; i > 0; i--) {
		above += sum[i];
		if ((double)above > (double)all * (1 - SLOW_TARGET_QUANTILE))
			break;
	}
	t->target_ns = bucket_end_ns(i);
}

/* Make part the present minute, and clear minutes that are too old. */
static void
part_set(struct slow_target *t, uint64_t part)
{
	if (part - t->part >= SLOW_TARGET_PARTS)
		memset(t->bucket, 0, sizeof(t->bucket));
	for (; t->part != part && part - t->part < SLOW_TARGET_PARTS; t->part++)
		memset(t->bucket[(t->part + 1) % SLOW_TARGET_PARTS], 0,
		    sizeof(t->bucket[0]));
	t->part = part;
}

void
slow_target_add(struct slow_target *t, struct instant at, int64_t total_ns)
{
	uint64_t part = at.ns / (uint64_t)SLOW_TARGET_PART_NS;

	if (part > t->part)
		part_set(t, part);
	t->bucket[part % SLOW_TARGET_PARTS][bucket_of(total_ns)]++;
	if (instant_since(at, t->renewed) < SLOW_TARGET_RENEW_NS)
		return;
	t->renewed = at;
	renew(t);
}
