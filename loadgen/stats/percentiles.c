#include "loadgen/stats/percentiles.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"

/* Percentiles are distinct to a millionth. */
static bool
same(double a, double b)
{
	return fabs(a - b) < 5e-7;
}

int
percentiles_add(struct percentiles *p, double percent)
{
	unsigned i = 0;

	if (!(percent > 0 && percent < 100))
		return -EINVAL;
	if (percent < 10 && !same(percent, nearbyint(percent)))
		return -EINVAL;
	while (i < p->count && p->at[i] < percent && !same(p->at[i], percent))
		i++;
	if (i < p->count && same(p->at[i], percent))
		return 0;
	if (p->count == PERCENTILES_MAX)
		return -ENOSPC;
	memmove(&p->at[i + 1], &p->at[i], (p->count - i) * sizeof(p->at[0]));
	p->at[i] = percent;
	p->count++;
	return 0;
}

int
percentiles_parse(struct percentiles *p, const char *text)
{
	double percent;
	int err;

	for (;;) {
		if (quantity_real(text, &percent, &text) < 0)
			return -EINVAL;
		err = percentiles_add(p, percent);
		if (err < 0)
			return err;
		if (*text == '\0')
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

unsigned
percentiles_index(const struct percentiles *p, double percent)
{
	unsigned i = 0;

	while (i < p->count && !same(p->at[i], percent))
		i++;
	assert(i < p->count);
	return i;
}

const char *
percentile_key(double percent, char out[PERCENTILE_KEY_MAX])
{
	char digits[PERCENTILE_KEY_MAX];
	size_t n = 0;

	snprintf(digits, sizeof(digits), "%.9g", percent);
	out[n++] = 'p';
	for (const char *d = digits; *d != '\0'; d++) {
		if (*d != '.')
			out[n++] = *d;
	}
	out[n] = '\0';
	return out;
}
