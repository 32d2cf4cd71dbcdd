/*
 * report.h: the results of a run, in four forms.
 *
 *   text     a table for a person
 *   JSON     tailor.load.run/1: all of it, for a program
 *   NDJSON   one line per request, written after each iteration
 *   hgrm     HdrHistogram's percentile table, for its plotters
 *
 * All are made from the same summary and say the same.  A key whose value was
 * not measured is left out.
 */
#ifndef TAILOR_LOADGEN_REPORT_H
#define TAILOR_LOADGEN_REPORT_H

#include <stdio.h>

#include "loadgen/experiment.h"

/* The table and what follows it.  color: with escape sequences. */
void report_text(FILE *out, struct experiment *e, bool color);

/* Write run.json, if wanted.  Returns 0 or -ENOMEM. */
int report_json(struct experiment *e);

/* Write e->iteration's requests, if wanted.  Returns 0 or -ENOMEM. */
int report_requests(struct experiment *e);

/* Write the percentile table, if wanted.  Returns 0 or -ENOMEM. */
int report_hgrm(struct experiment *e);

#endif
