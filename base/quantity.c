#include "base/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t scale;
	bool written; /* used for output */
};

/* Largest first, so that output finds the shortest text. */
static const struct unit durations[] = {
    {"h", UINT64_C(3600000000000), false},
    {"m", UINT64_C(60000000000), false},
    {"s", UINT64_C(1000000000), true},
    {"ms", UINT64_C(1000000), true},
    {"us", UINT64_C(1000), true},
    {"ns", UINT64_C(1), true},
    {NULL, 0, false},
};

static const struct unit sizes[] = {
    {"G", UINT64_C(1) << 30, true},
    {"M", UINT64_C(1) << 20, true},
    {"k", UINT64_C(1) << 10, true},
    {"K", UINT64_C(1) << 10, false},
    {"", 1, true},
    {NULL, 0, false},
};

static const struct unit thousands[] = {
    {"M", 1000000, false},
    {"k", 1000, false},
    {"", 1, true},
    {NULL, 0, false},
};

static const struct unit counts[] = {
    {"", 1, true},
    {NULL, 0, false},
};

static const struct unit *
units_of(enum quantity q)
{
	switch (q) {
	case QUANTITY_COUNT:
		return counts;
	case QUANTITY_THOUSANDS:
		return thousands;
	case QUANTITY_BYTES:
		return sizes;
	case QUANTITY_DURATION:
		return durations;
	}
	return counts;
}

uint64_t
unit_scale(enum quantity q, const char *unit)
{
	for (const struct unit *u = units_of(q); u->name != NULL; u++)
		if (strcmp(u->name, unit) == 0)
			return u->scale;
	return 0;
}

/* Read digits at *p as a number, and move *p past them. */
static int
parse_digits(const char **p, uint64_t *out, unsigned *digits)
{
	*out = 0;
	*digits = 0;
	for (; **p >= '0' && **p <= '9'; (*p)++, (*digits)++) {
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(**p - '0'), out))
			return -ERANGE;
	}
	return 0;
}

/* Compute fraction / 10^digits * scale, which must be a whole number. */
static int
scale_fraction(
    uint64_t fraction, unsigned digits, uint64_t scale, uint64_t *out)
{
	while (digits > 0 && fraction % 10 == 0) {
		fraction /= 10;
		digits--;
	}
	for (; digits > 0; digits--) {
		uint64_t divisor = scale % 10 == 0 ? 10 : 2;

		/* If scale has no factor of 5, fraction must have one. */
		if (scale % divisor != 0)
			return -EINVAL;
		scale /= divisor;
		if (divisor == 2) {
			if (fraction % 5 != 0)
				return -EINVAL;
			fraction /= 5;
		}
	}
	return __builtin_mul_overflow(fraction, scale, out) ? -ERANGE : 0;
}

int
quantity_parse(
    enum quantity q, const char *text, uint64_t plain_scale, uint64_t *out)
{
	uint64_t whole, fraction = 0, part, scale, value;
	unsigned digits, fraction_digits = 0;
	const char *p = text;
	int err;

	err = parse_digits(&p, &whole, &digits);
	if (err == 0 && digits > 0 && *p == '.') {
		p++;
		err = parse_digits(&p, &fraction, &fraction_digits);
		if (fraction_digits == 0)
			return -EINVAL;
	}
	if (err != 0 || digits == 0)
		return err != 0 ? err : -EINVAL;
	scale = *p == '\0' ? plain_scale : unit_scale(q, p);
	if (scale == 0)
		return -EINVAL;
	err = scale_fraction(fraction, fraction_digits, scale, &part);
	if (err != 0)
		return err;
	if (__builtin_mul_overflow(whole, scale, &value) ||
	    __builtin_add_overflow(value, part, &value))
		return -ERANGE;
	*out = value;
	return 0;
}

char *
quantity_format(enum quantity q, uint64_t v, char out[QUANTITY_TEXT_MAX])
{
	const struct unit *u = units_of(q);

	if (v == 0) {
		snprintf(out, QUANTITY_TEXT_MAX, "0");
		return out;
	}
	while (!u->written || v % u->scale != 0)
		u++;
	snprintf(
	    out, QUANTITY_TEXT_MAX, "%" PRIu64 "%s", v / u->scale, u->name);
	return out;
}

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
	/* strtod() would read "1e3" and "0x10" past the digits checked above:
	 * refuse such text. */
	if (*p == 'e' || *p == 'E' || *p == 'x' || *p == 'X' || *p == 'p')
		return -EINVAL;
	*out = strtod(text, NULL);
	*rest = p;
	return 0;
}

const char *
quantity_format_ns(int64_t ns, char out[QUANTITY_TEXT_MAX])
{
	double v = fabs((double)ns);
	const char *unit = "s";

	if (v < 1e3) {
		snprintf(out, QUANTITY_TEXT_MAX, "%dns", (int)ns);
		return out;
	}
	if (v < 999.5e3)
		v /= 1e3, unit = "us";
	else if (v < 999.5e6)
		v /= 1e6, unit = "ms";
	else
		v /= 1e9;
	snprintf(out, QUANTITY_TEXT_MAX, "%s%.*f%s", ns < 0 ? "-" : "",
	    v < 9.995	? 2
	    : v < 99.95 ? 1
			: 0,
	    v, unit);
	return out;
}

const char *
quantity_format_interval(
    int64_t low_ns, int64_t high_ns, char out[QUANTITY_INTERVAL_MAX])
{
	char low[QUANTITY_TEXT_MAX], high[QUANTITY_TEXT_MAX];
	char *unit;

	quantity_format_ns(low_ns, low);
	quantity_format_ns(high_ns, high);
	unit = low + strspn(low, "-.0123456789");
	if (strcmp(unit, high + strspn(high, "-.0123456789")) == 0)
		*unit = '\0';
	snprintf(out, QUANTITY_INTERVAL_MAX, "%s to %s", low, high);
	return out;
}
