/* compare.h: two runs with the same schedules, and whether they differ.
 *
 * Iterations are compared in pairs.  One sentence for each statistic, with an
 * interval, or that no difference is shown. */
#pragma once

#include "base/json.h"
#include "loadgen/stats/run.h"
#include "loadgen/stats/shift.h"

#define COMPARE_ROWS_MAX (PERCENTILES_MAX + 2)

struct compare_row {
	char name[PERCENTILE_KEY_MAX]; /* "p99", "max", "mean" */
	struct shift shift;
	size_t pairs; /* iterations compared */
};

struct comparison {
	bool usable;   /* neither generator was bad */
	char why[128]; /* they cannot be compared, or "" */
	struct compare_row rows[COMPARE_ROWS_MAX];
	size_t count;
};

/* Returns 0, -EINVAL (other schedules, no iteration complete in both, or over
 * SHIFT_MAX of them: out->why says which) or -ENOMEM. */
int
compare_runs(const struct run *a, const struct run *b, struct comparison *out);

/* The sentences. */
void compare_text(FILE *out, const struct run *a, const struct run *b,
    const struct comparison *c);

/* Schema tailor.load.compare/1. */
void compare_json(const struct run *a, const struct run *b,
    const struct comparison *c, struct json *j);
