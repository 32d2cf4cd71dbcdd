/*
 * quantiles.h: a histogram as a JSON object: count, p1 .. p999 and max.
 */
#ifndef TAILOR_PROFILER_SHIM_QUANTILES_H
#define TAILOR_PROFILER_SHIM_QUANTILES_H

#include "base/histogram.h"
#include "base/json.h"

/* Write key and value; every value is divided by scale.  0 if it is empty. */
void quantiles_json(
    struct json *j, const char *key, const struct histogram *h, double scale);

#endif
