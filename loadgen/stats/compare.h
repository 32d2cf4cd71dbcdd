/* compare.h: two targets measured in turn, and whether they differ.
 *
 * Iterations had the same schedules and are compared in pairs.  One sentence
 * for each statistic, with an interval, or that no difference is shown. */
#pragma once

#include "base/json.h"
#include "loadgen/stats/shift.h"
#include "loadgen/stats/verdict.h"

#define COMPARE_ROWS_MAX (PERCENTILES_MAX + 2)

struct compare_row {
	char name[PERCENTILE_KEY_MAX]; /* "p99", "max", "mean" */
	struct shift shift;
	size_t pairs; /* iterations compared */
};

/* What is compared; all borrowed. */
struct compare_side {
	const char *url;
	int64_t started_ns; /* wall clock */
	const struct summary *summary;
	const struct verdict *verdict;
};

struct ab_comparison {
	struct compare_side a;
	struct compare_side b;
	bool usable; /* neither generator was bad */
	struct compare_row rows[COMPARE_ROWS_MAX];
	size_t count;
};

/* Compare c->a and c->b, which have the same criteria and at most SHIFT_MAX
 * iterations.  Returns 0, -ENODATA (no iteration is complete and has successes
 * in both) or -ENOMEM. */
int compare_sides(struct ab_comparison *c);

/* The sentences. */
void compare_text(FILE *out, const struct ab_comparison *c);

/* Schema tailor.load.compare/1. */
void compare_json(const struct ab_comparison *c, struct json *j);
