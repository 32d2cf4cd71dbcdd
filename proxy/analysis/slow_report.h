/* slow_report.h: the list of kept tales as a JSON document, tailor.slow/1.
 * Analysis thread. */
#pragma once

#include "base/json.h"
#include "proxy/analysis/analysis.h"

/* List the kept tales that wanted selects, in its order.  Returns an array of
 * *n, which the caller frees; NULL: no memory.
 *   store   two stores; an element may be NULL
 *   most    the most tales to read
 *   missed  requests without a tale, which are listed as well; NULL: none */
struct tale_summary *slow_list(struct tale_store *const store[2], size_t most,
    const struct missed *missed, const struct analysis_list *wanted,
    unsigned *n);

/* Write n tales as the document, in the given order; the caller frees *text.  0
 * or -ENOMEM. */
int slow_report(const struct tale_summary *one, unsigned n,
    const struct analysis_list *list, char **text, size_t *length);

/* Write n tales as a JSON array. */
void
slow_report_list(const struct tale_summary *one, unsigned n, struct json *j);
