/* criteria.h: what is computed of a run: which percentiles, which requests
 * count as slow, which expressions must hold. */
#pragma once

#include "loadgen/stats/expectation.h"
#include "loadgen/stats/percentiles.h"

#define CRITERIA_FAILS_MAX 32
#define CRITERIA_SLOW_MAX 1000

struct criteria {
	struct percentiles percentiles;
	struct expectation fails[CRITERIA_FAILS_MAX];
	unsigned fail_count;
	uint64_t slow; /* how many are listed, per iteration, and analyzed */
};
