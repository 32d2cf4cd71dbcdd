/*
 * environment.h: what about the machine could disturb a run, by name.
 *
 * The verdict says whether the generator kept its schedule.  These notes name
 * what it shared with others, and what to change; they do not affect the
 * verdict.
 */
#ifndef TAILOR_LOADGEN_STATS_ENVIRONMENT_H
#define TAILOR_LOADGEN_STATS_ENVIRONMENT_H

#include <sched.h>
#include <stdbool.h>

#include "loadgen/send/host.h"

#define ENVIRONMENT_NOTES_MAX 4
#define ENVIRONMENT_NOTE_MAX 160

struct environment {
	unsigned count;
	char notes[ENVIRONMENT_NOTES_MAX][ENVIRONMENT_NOTE_MAX];
};

/*
 * environment_describe(e, h, sender, same_host, preempted):
 * Fill in the notes.
 *   h          the machine, as it was before the run
 *   sender     the sender's CPUs; empty: it was not pinned
 *   same_host  the server is on this machine
 *   preempted  how often the sender lost its CPU against its will, per
 *              iteration
 */
void environment_describe(struct environment *e, const struct host *h,
    const cpu_set_t *sender, bool same_host, double preempted);

#endif
