/* finish.h: the end of an experiment: outputs and exit status. */
#pragma once

#include "loadgen/experiment.h"

/* Write every output that is wanted and close it, then report.html.
 *   text  also print the report for a person, if stdout is free
 * Returns 0 or a negative errno. */
int finish_write(struct experiment *e, bool text);

/* Of a run that ended, well or early: the exit status.  Prints on stderr why it
 * is not 0, unless the report says so. */
enum exit_code finish_judge(struct experiment *e);
