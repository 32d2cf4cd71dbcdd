/* quantity.h: numbers with units, as a person types and reads them.
 *
 * Reads "500ms", "20k", "1.5s" exactly, or not at all: no sign, exponent,
 * hexadecimal, infinity or trailing text, so that a typing error is refused and
 * not read as another number.  Allocates nothing.  Any thread. */
#pragma once

#include <stdint.h>

enum quantity {
	QUANTITY_COUNT,	    /* no unit */
	QUANTITY_THOUSANDS, /* k, M: powers of 1000 */
	QUANTITY_BYTES,	    /* k, M, G: powers of 1024 */
	QUANTITY_DURATION,  /* ns, us, ms, s, m, h */
};

#define QUANTITY_TEXT_MAX 32

/* Base units (ns, bytes) per unit; 0 if unknown. */
uint64_t unit_scale(enum quantity q, const char *unit);

/* Parse text, which must be a whole number of base units.  A number without a
 * unit is multiplied by plain_scale (0: refused).  Returns 0, -EINVAL (not a
 * quantity) or -ERANGE (over UINT64_MAX). */
int quantity_parse(
    enum quantity q, const char *text, uint64_t plain_scale, uint64_t *out);

/* Write v in the largest unit that divides it (at most s); returns out. */
char *quantity_format(enum quantity q, uint64_t v, char out[QUANTITY_TEXT_MAX]);

/* Read digits[.digits] from the start of text.
 *   out   receives the number, >= 0
 *   rest  receives the first character not read (the unit)
 * Returns 0, or -EINVAL if text does not start with a digit. */
int quantity_real(const char *text, double *out, const char **rest);

/* Write a duration for people, in three digits: "67ns", "1.21ms", "-41.2ms",
 * "813s".  Returns out. */
const char *quantity_format_ns(int64_t ns, char out[QUANTITY_TEXT_MAX]);

/* Write an interval of durations likewise; a common unit appears once: "37.1 to
 * 48.2ms", "-813us to 1.20ms".  Returns out. */
#define QUANTITY_INTERVAL_MAX (2 * QUANTITY_TEXT_MAX + 4)
const char *quantity_format_interval(
    int64_t low_ns, int64_t high_ns, char out[QUANTITY_INTERVAL_MAX]);
