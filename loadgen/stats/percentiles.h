/* percentiles.h: which percentiles a run reports.
 *
 * A short list, ascending, without repetition; the two that the table shows
 * (50 and 99) are always in it. */
#pragma once

#include <stddef.h>

#define PERCENTILES_MAX 16
#define PERCENTILE_KEY_MAX 24

struct percentiles {
	unsigned count;
	double at[PERCENTILES_MAX];
};

/* Add one.  Returns 0, -EINVAL (not above 0 and below 100, or a fraction below
 * 10, whose key would be ambiguous) or -ENOSPC. */
int percentiles_add(struct percentiles *p, double percent);

/* Read "50,90,99.9", adding each.  Returns 0, -EINVAL or -ENOSPC. */
int percentiles_parse(struct percentiles *p, const char *text);

/* The place of percent in the list; it must be there. */
unsigned percentiles_index(const struct percentiles *p, double percent);

/* Write the key of a percentile, 99.9 -> "p999"; returns out. */
const char *percentile_key(double percent, char out[PERCENTILE_KEY_MAX]);
