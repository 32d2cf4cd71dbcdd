/*
 * page.h: report.html, a run on one page.
 *
 * The generator's verdict and the figures come first, then the pictures.
 * One file: static SVG, a style sheet, no script; a content security policy
 * forbids everything else.  Timelines of slow requests are linked if they lie
 * beside it.
 */
#ifndef TAILOR_LOADGEN_REPORT_PAGE_H
#define TAILOR_LOADGEN_REPORT_PAGE_H

#include <stdio.h>

#include "loadgen/stats/run.h"

/* Write the page.  Returns 0, or -EIO or -ENOMEM. */
int page_write(FILE *out, const struct run *r, const struct points *points);

/*
 * page_make(run_path, out_path, plot, why, why_size):
 * From a run.json, and the requests.ndjson beside it, to a page.
 *   out_path  or NULL: report.html beside run_path; "-": stdout
 *   plot      name of one picture to write instead (picture.h), or NULL
 * Returns 0 or a negative errno with why set.
 */
int page_make(const char *run_path, const char *out_path, const char *plot,
    char *why, size_t why_size);

#endif
