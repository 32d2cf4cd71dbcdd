/* environment.h: notes on conditions of the machine that could disturb a run.
 *
 * The verdict says which figures can be trusted.  These notes name the
 * resources that the generator shared with other processes (facts) and, if the
 * verdict is not good, what to change (hints); they do not affect the
 * verdict. */
#pragma once

#include <stdio.h>

#include "loadgen/send/host.h"
#include "loadgen/stats/verdict.h"

#define ENVIRONMENT_NOTES_MAX 10
#define ENVIRONMENT_NOTE_MAX 256

#define PORTS_USED_UP                                                          \
	"EADDRNOTAVAIL: this machine's own ports are used up, as each closed " \
	"connection holds one for a minute: lower --rate, let the server "     \
	"keep connections, or widen net.ipv4.ip_local_port_range"

struct environment {
	unsigned count;
	unsigned facts; /* the first notes; the others are hints */
	char notes[ENVIRONMENT_NOTES_MAX][ENVIRONMENT_NOTE_MAX];
};

/* Fill in the facts.
 *   h          the machine, as it was before the run
 *   sender     the sender's CPUs; empty: it was not pinned
 *   same_host  the server is on this machine
 *   preempted  how often the sender lost its CPU against its will, per
 *              iteration */
void environment_describe(struct environment *e, const struct host *h,
    const cpu_set_t *sender, bool same_host, double preempted);

/* Unless v is good, add hints: what to change in the plan.
 *   real_time  the sender had real-time scheduling, or asked for it */
void environment_advise(struct environment *e, const struct plan *plan,
    const struct verdict *v, bool real_time);

/* Add PORTS_USED_UP. */
void environment_ports_used_up(struct environment *e);

/* Print the notes in lines of at most 80 columns: a fact after "note", or after
 * "disturbance" if figures are not good; a hint after "try". */
void environment_print(const struct environment *e, bool good, FILE *out);
