/* slow_report.h: the list of kept tales as a JSON document, tailor.slow/1.
 *
 * A pure function.  Analysis thread. */
#pragma once

#include "base/json.h"
#include "proxy/analysis/analysis.h"

/* n of them, in that order; the caller frees *text.  0 or -ENOMEM. */
int slow_report(const struct tale_summary *one, unsigned n,
    const struct analysis_list *list, char **text, size_t *length);

/* The array of them, as a value. */
void
slow_report_list(const struct tale_summary *one, unsigned n, struct json *j);
