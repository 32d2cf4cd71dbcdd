/* page.h: report.html, a run on one page.
 *
 * The generator's verdict and the figures come first, then the pictures.
 * One file: static SVG, a style sheet, no script; a content security policy
 * forbids everything else.  Timelines of slow requests are linked; they lie
 * beside it. */
#pragma once

#include "loadgen/report/report.h"

/* Draw every request, or those of an iteration (0: all): when it was due, how
 * long it took.  Slow requests with a timeline are links.  A picture without
 * anything to show is a sentence that says so (HTML).  Returns 0 or -ENOMEM. */
int picture_scatter(FILE *out, const struct report *r, unsigned iteration);

/* Draw the distribution, on an axis that shows the tail; the same. */
void picture_tail(FILE *out, const struct summary *s);

/* Write the page of a finished report.  Returns 0, or -EIO or -ENOMEM. */
int page_write(FILE *out, struct report *r);
