/* slow_report.h: the list of kept tales as a JSON document, tailor.slow/1.
 * Analysis thread. */
#pragma once

#include "base/json.h"
#include "proxy/analysis/analysis.h"

/* The kept tales that are wanted, in the order that is: *n of them, for the
 * caller to free.  NULL: no memory.
 *   store  two; NULL: there is none
 *   most   no more are read */
struct tale_summary *slow_list(struct tale_store *const store[2], size_t most,
    const struct analysis_list *wanted, unsigned *n);

/* Write n of them, in that order; the caller frees *text.  0 or -ENOMEM. */
int slow_report(const struct tale_summary *one, unsigned n,
    const struct analysis_list *list, char **text, size_t *length);

/* The array of them, as a value. */
void
slow_report_list(const struct tale_summary *one, unsigned n, struct json *j);
