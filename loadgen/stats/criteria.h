/* criteria.h: what is computed of a run: which percentiles, which requests
 * count as slow, which expressions must hold. */
#pragma once

#include "loadgen/stats/expectation.h"
#include "loadgen/stats/percentiles.h"

#define CRITERIA_FAILS_MAX 32
#define CRITERIA_SLOW_MAX 1000

/* Which requests are listed, pinned and analyzed as slow. */
enum slow_rule {
	SLOW_TOP,	 /* the slow_top slowest of each iteration */
	SLOW_OVER,	 /* those above slow_over_ns */
	SLOW_PERCENTILE, /* those above that percentile of their iteration */
};

struct criteria {
	struct percentiles percentiles;
	struct expectation fails[CRITERIA_FAILS_MAX];
	unsigned fail_count;
	enum slow_rule slow_rule;
	uint64_t slow_top; /* how many are listed at most, per iteration */
	int64_t slow_over_ns;
	double slow_percent;
};
