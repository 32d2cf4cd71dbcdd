/* page.h: report.html, a run on one page.
 *
 * The generator's verdict and the figures come first, then the pictures.
 * One file: static SVG, a style sheet, no script; a content security policy
 * forbids everything else.  Timelines of slow requests are linked if they lie
 * beside it. */
#pragma once

#include <stdio.h>

#include "loadgen/stats/run.h"

/* Draw every request, or those of an iteration (0: all): when it was due, how
 * long it took.  Slow requests with a timeline are links.  A picture without
 * anything to show is a sentence that says so (HTML).  Returns 0 or -ENOMEM. */
int picture_scatter(FILE *out, const struct run *r, const struct points *points,
    unsigned iteration);

/* Draw the distribution, on an axis that shows the tail; the same. */
int picture_tail(FILE *out, const struct points *points);

/* Write the page.  Returns 0, or -EIO or -ENOMEM. */
int page_write(FILE *out, const struct run *r, const struct points *points);

/* From a run.json, and the requests.ndjson beside it, to a page.
 *   out_path  or NULL: report.html beside run_path; "-": stdout
 * Returns 0 or a negative errno with why set. */
int page_make(
    const char *run_path, const char *out_path, char *why, size_t why_size);
