/*
 * check.h: how well this machine lets a sender keep its schedule.
 *
 * Sends nothing.  A thread placed like the sender wakes at the instants of a
 * Poisson schedule: by timers alone for a third of the time, then by sleeping
 * and spinning as the sender does.  It records lateness and stalls.
 */
#ifndef TAILOR_LOADGEN_CHECK_H
#define TAILOR_LOADGEN_CHECK_H

#include <stdio.h>

#include "loadgen/experiment.h"

/*
 * check_machine(o, out):
 * Check for o->duration_ns (10 s if it is 0) at o->rate_per_s and print what
 * was found.  Returns EXIT_DONE, EXIT_BAD_GENERATOR (an experiment on this
 * machine, now, would be refused) or EXIT_COULD_NOT_RUN.
 */
enum exit_code check_machine(const struct options *o, FILE *out);

#endif
