/*
 * report_json.h: the parts of run.json that are about slow requests; private
 * to report_json*.c.
 */
#ifndef TAILOR_LOADGEN_REPORT_REPORT_JSON_H
#define TAILOR_LOADGEN_REPORT_REPORT_JSON_H

#include "base/json.h"
#include "loadgen/experiment.h"

/* "slowest": a list of slow requests, with what is known of why. */
void report_json_slowest(
    struct json *j, const struct experiment *e, const struct slow_list *l);

/* "verdicts" and "talechain": causes of all, and how asking went. */
void report_json_causes(struct json *j, const struct experiment *e);

#endif
