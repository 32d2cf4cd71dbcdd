/* quantity.h: the quantities of tailor-load's options (base/quantity.h). */
#pragma once

#include <errno.h>
#include <string.h>

#include "base/quantity.h"

/* Read a number and one of ns us ms s m h; only "0" may stand without a unit.
 * Returns 0, -EINVAL (syntax) or -ERANGE (above 292 years). */
static inline int
quantity_duration(const char *text, int64_t *out_ns)
{
	uint64_t ns = 0;
	int err = strcmp(text, "0") == 0
		      ? 0
		      : quantity_parse(QUANTITY_DURATION, text, 0, &ns);

	*out_ns = (int64_t)ns;
	return err == 0 && ns > INT64_MAX ? -ERANGE : err;
}

/* Read a whole number, with k (thousand) or M (million) if you like; "1.5k" is
 * 1500, "1.5" is an error.  Returns 0, -EINVAL or -ERANGE. */
static inline int
quantity_count(const char *text, uint64_t *out)
{
	return quantity_parse(QUANTITY_THOUSANDS, text, 1, out);
}
