/*
 * report.h: the results of a run, in five forms.
 *
 *   text     a table for a person
 *   JSON     tailor.load.run/1: all of it, for a program
 *   NDJSON   one line per request, written after each iteration
 *   CSV      the same as a table
 *   hgrm     HdrHistogram's percentile table, for its plotters
 *
 * All are made from the same summary and say the same.  A key whose value was
 * not measured is left out.
 */
#ifndef TAILOR_LOADGEN_REPORT_REPORT_H
#define TAILOR_LOADGEN_REPORT_REPORT_H

#include <stdio.h>

#include "loadgen/experiment.h"

/* The table and what follows it.  color: with escape sequences. */
void report_text(FILE *out, struct experiment *e, bool color);

/*
 * report_json_text(e, text, length):
 * run.json as a text, which the caller frees.  Returns 0 or -ENOMEM.
 */
int report_json_text(struct experiment *e, char **text, size_t *length);

/* Write it, if wanted.  Returns 0 or -ENOMEM. */
int report_json(struct experiment *e);

/* The names of the columns; once, before any row. */
void report_csv_head(struct experiment *e);

/* Measured request number at + 1 of e->iteration. */
void report_csv_row(struct experiment *e, size_t at, bool listed);

/* Write e->iteration's requests, if wanted.  Returns 0 or -ENOMEM. */
int report_requests(struct experiment *e);

/* Write the percentile table, if wanted.  Returns 0 or -ENOMEM. */
int report_hgrm(struct experiment *e);

#endif
