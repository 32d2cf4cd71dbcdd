/* check.h: how well this machine lets a sender keep its schedule.
 *
 * Sends nothing.  A thread placed like the sender wakes at the instants of a
 * Poisson schedule, sleeping and spinning as the sender does. */
#pragma once

#include "loadgen/experiment.h"

/* Check for o->duration_ns (10 s if it is 0) at o->rate_per_s and print what
 * was found.  Returns EXIT_DONE, EXIT_BAD_GENERATOR (a lateness of 1 ms or more
 * at p99) or EXIT_COULD_NOT_RUN. */
enum exit_code check_machine(const struct load_options *o, FILE *out);

/* The same before a run, of a sender on these CPUs (none: anywhere), for 0.2 s:
 * print on stderr if figures of o cannot be good here, and what to change.
 * Prints nothing if they can, and of a closed loop.  Sending is not part of it,
 * so it may miss what the verdict finds. */
void check_before(const struct load_options *o, const cpu_set_t *cpus);
