#include "loadgen/send/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: doubles count exactly to here */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int
quantity_real(const char *text, double *out, const char **rest)
{
	const char *p = text;

	if (!is_digit(*p))
		return -EINVAL;
	while (is_digit(*p))
		p++;
	if (p[0] == '.' && is_digit(p[1])) {
		p++;
		while (is_digit(*p))
			p++;
	}
	/* strtod() may not read past what was checked: "1e3", "0x10".  It has
	 * no end argument, so such text is refused by its unit. */
	if (*p == 'e' || *p == 'E' || *p == 'x' || *p == 'X' || *p == 'p')
		return -EINVAL;
	*out = strtod(text, NULL);
	*rest = p;
	return 0;
}

int
quantity_duration(const char *text, int64_t *out_ns)
{
	static const struct {
		const char *name;
		double ns;
	} unit[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9},
	    {"m", 60e9}, {"h", 3600e9}};
	const char *rest;
	double value;

	if (quantity_real(text, &value, &rest) < 0)
		return -EINVAL;
	if (*rest == '\0' && value <= 0) {
		*out_ns = 0;
		return 0;
	}
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		if (strcmp(rest, unit[i].name) != 0)
			continue;
		value *= unit[i].ns;
		if (value >= 9.2e18)
			return -ERANGE;
		*out_ns = llround(value);
		return 0;
	}
	return -EINVAL;
}

int
quantity_count(const char *text, uint64_t *out)
{
	const char *rest;
	double value;

	if (quantity_real(text, &value, &rest) < 0)
		return -EINVAL;
	if (strcmp(rest, "k") == 0)
		value *= 1e3;
	else if (strcmp(rest, "M") == 0)
		value *= 1e6;
	else if (*rest != '\0')
		return -EINVAL;
	if (value > WHOLE_MAX)
		return -ERANGE;
	if (value < floor(value) || value > floor(value))
		return -EINVAL;
	*out = (uint64_t)value;
	return 0;
}

const char *
quantity_format_ns(int64_t ns, char out[QUANTITY_TEXT_MAX])
{
	double v = (double)ns;
	double size = fabs(v);
	const char *unit = "s";

	if (size < 1e6 - 500) {
		v /= 1e3;
		unit = "us";
	} else if (size < 1e9 - 5e3) {
		v /= 1e6;
		unit = "ms";
	} else {
		v /= 1e9;
	}
	/* Tenths of a microsecond only where they are a visible part. */
	int digits = unit[0] == 'u' ? (size < 9950 ? 1 : 0) : 2;
	snprintf(out, QUANTITY_TEXT_MAX, "%.*f%s", digits, v, unit);
	return out;
}
