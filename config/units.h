/*
 * units.h: quantities as text, "250us", "1.5s", "64k"; private to config/.
 *
 * Exact integer arithmetic: a fraction that is not a whole number of
 * nanoseconds or bytes is an error, not rounded.
 */
#ifndef TAILOR_CONFIG_UNITS_H
#define TAILOR_CONFIG_UNITS_H

#include <stdint.h>

enum quantity {
	QUANTITY_COUNT,	   /* no unit */
	QUANTITY_BYTES,	   /* k, M, G: powers of 1024 */
	QUANTITY_DURATION, /* ns, us, ms, s, m, h */
};

/* Base units (ns, bytes) per unit; 0 if unknown. */
uint64_t unit_scale(enum quantity q, const char *unit);

/* Parse text; a number without a unit counts plain_scale base units.  Returns
 * 0, -EINVAL (not a quantity) or -ERANGE (over UINT64_MAX). */
int quantity_parse(
    enum quantity q, const char *text, uint64_t plain_scale, uint64_t *out);

#define QUANTITY_TEXT_MAX 32

/* Write v in the largest unit that divides it (at most s); returns out. */
char *quantity_format(enum quantity q, uint64_t v, char out[QUANTITY_TEXT_MAX]);

#endif
