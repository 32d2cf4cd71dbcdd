/*
 * report_text.h: a part of the report for a person; private to report_text*.c.
 */
#ifndef TAILOR_LOADGEN_REPORT_REPORT_TEXT_H
#define TAILOR_LOADGEN_REPORT_REPORT_TEXT_H

#include <stdio.h>

#include "loadgen/experiment.h"

/* The slowest requests, and why they were slow as far as TaleChain knows. */
void report_text_slow(FILE *out, const struct experiment *e);

#endif
