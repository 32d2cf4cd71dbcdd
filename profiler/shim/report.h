/*
 * report.h: what the reports of observations and of the bench share.
 */
#ifndef TAILOR_PROFILER_SHIM_REPORT_H
#define TAILOR_PROFILER_SHIM_REPORT_H

#include "base/histogram.h"
#include "base/json.h"

/* Print lead, a space, text and a full stop in lines of at most 80 columns,
 * all but the first indented by two.  The text is ours, without a full stop. */
void sentence_print(const char *lead, const char *text);

/* A histogram as key and object: count, p1 .. p999 and max, each value divided
 * by scale; 0 if it is empty. */
void quantiles_json(
    struct json *j, const char *key, const struct histogram *h, double scale);

#endif
