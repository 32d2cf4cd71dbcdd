/* slow_target.h: slow.target = auto: the time above which a request is slow.
 *
 * The time is the 99th percentile of the last minutes, so that one request in a
 * hundred is slow, however fast the service is.  Until there were enough
 * requests, the time is SLOW_TARGET_FIRST_NS.
 *
 * Cost: a few instructions a request, and a pass over 2 KiB ten times a minute;
 * 12 KiB.  Proxy thread only. */
#pragma once

#include "base/instant.h"

#define SLOW_TARGET_FIRST_NS (20 * NS_PER_MS)
#define SLOW_TARGET_QUANTILE 0.99
#define SLOW_TARGET_LEAST 1000 /* requests needed for a percentile */
#define SLOW_TARGET_PARTS 5    /* minutes that count, with the present */
#define SLOW_TARGET_PART_NS (60 * NS_PER_S)
#define SLOW_TARGET_RENEW_NS (6 * NS_PER_S)
/* Eight buckets per power of two: a target is at most an eighth too high. */
#define SLOW_TARGET_BUCKETS 512

struct slow_target {
	uint32_t bucket[SLOW_TARGET_PARTS][SLOW_TARGET_BUCKETS];
	uint64_t part;	   /* the present minute's number */
	int64_t target_ns; /* 0: too few requests so far */
	struct instant renewed;
};

/* The target now.  A struct of zeros is a valid start. */
static inline int64_t
slow_target_now_ns(const struct slow_target *t)
{
	return t->target_ns > 0 ? t->target_ns : SLOW_TARGET_FIRST_NS;
}

/* Add a request that finished at that time and took total_ns. */
void
slow_target_add(struct slow_target *t, struct instant at, int64_t total_ns);
