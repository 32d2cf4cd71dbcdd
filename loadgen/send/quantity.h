/* quantity.h: numbers with units, as a person types and reads them.
 *
 * Reads "500ms", "20k", "1.5s"; writes "1.21ms".  Strict on purpose: no sign,
 * exponent, hexadecimal, infinity or trailing text, so that a slip of the
 * hand is a usage error and not an experiment with other numbers.
 * Allocates nothing.  Any thread. */
#pragma once

#include <stdint.h>

#define QUANTITY_TEXT_MAX 24

/* Read digits[.digits] from the start of text.
 *   out   receives the number, >= 0
 *   rest  receives the first character not read (the unit)
 * Returns 0, or -EINVAL if text does not start with a digit. */
int quantity_real(const char *text, double *out, const char **rest);

/* Read a number and one of ns us ms s m; only "0" may stand without a unit.
 * Returns 0, -EINVAL (syntax) or -ERANGE (above 292 years). */
int quantity_duration(const char *text, int64_t *out_ns);

/* Read a whole number, with k (thousand) or M (million) if you like; "1.5k" is
 * 1500, "1.5" is an error.  Returns 0, -EINVAL or -ERANGE (above 2^53). */
int quantity_count(const char *text, uint64_t *out);

/* Write ns as "0.1us", "4us", "1.21ms", "2.50s" into out; returns out. */
const char *quantity_format_ns(int64_t ns, char out[QUANTITY_TEXT_MAX]);
