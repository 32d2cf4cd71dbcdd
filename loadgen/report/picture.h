/*
 * picture.h: the pictures of a run, each an SVG of its own.
 *
 *   time        every request: when it was due, how long it took
 *   worst       the same of the iteration with the slowest request
 *   iterations  p99 and max of each, with the medians and their intervals
 *   tail        the distribution, on an axis that shows the tail
 */
#ifndef TAILOR_LOADGEN_REPORT_PICTURE_H
#define TAILOR_LOADGEN_REPORT_PICTURE_H

#include <stdio.h>

#include "loadgen/stats/run.h"

/*
 * Draw one.  Slow requests with a timeline are links.  A picture without
 * anything to show is a sentence that says so (HTML).  Returns 0, -EINVAL (no
 * such name) or -ENOMEM.
 */
int picture_draw(FILE *out, const char *name, const struct run *r,
    const struct points *points);

#endif
