/* ab.h: two targets measured in turn, with the same schedules.
 *
 * For each iteration both are measured, one straight after the other; which
 * of them first is decided by the seed.  So what changes on the machine in
 * the course of an hour falls on both, and the differences are paired. */
#pragma once

#include "loadgen/experiment.h"

/* Measure o->url_a and o->url_b, print and write the comparison, and with -o
 * each run, into a/ and b/.  Returns the exit status; says on stderr what went
 * wrong. */
enum exit_code ab_run(const struct load_options *o);
