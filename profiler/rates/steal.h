/* steal.h: CPU time that the host takes from this virtual machine.
 *
 * /proc/stat has the sum for each CPU in clock ticks: hundredths of a second,
 * so a growth may be off by almost one tick either way.  The attach thread
 * reads it ten times a second while requests are in flight, once a second
 * otherwise (up to an eighth of that sooner, with other work).  It sends the
 * growth to the observer as a rate of that CPU, for a curve and a metric.  Time
 * that was taken from a request is reported by the kernel's programs, exactly
 * and at the switch (TALECHAIN_STEAL).
 *
 * Cost: one read of /proc/stat, about 0.1 ms on two CPUs. */
#pragma once

#include "profiler/channels/command.h"

#define STEAL_CPUS 512 /* CPUs with a number below this are read */

struct steal {
	int fd;	    /* owned; -1: /proc/stat cannot be read */
	bool known; /* ticks is valid */
	struct instant at, due;
	uint64_t tick_ns;
	uint64_t ticks[STEAL_CPUS];
	/* any thread reads: relaxed */
	uint64_t total_ns; /* stolen from all CPUs since steal_open */
};

/* Open the file at path; NULL: /proc/stat.  Never fails: without the file
 * nothing is observed. */
void steal_open(struct steal *s, const char *path);
void steal_close(struct steal *s);

/* Read the file if due, and send a rate of each CPU whose stolen time has
 * grown.
 *   idle  no request has been in flight for some time
 * Returns the time until the next read, ns; -1: never.  The attach thread. */
int64_t steal_turn(struct steal *s, struct command_ring *commands, bool idle,
    struct instant now);

/* Get the stolen ticks of each CPU from the text of /proc/stat.
 *   ticks  room for STEAL_CPUS; CPUs that are not in the text keep theirs
 * Returns the number of CPUs that have them; 0: this kernel does not account
 * for stolen time. */
unsigned steal_parse(const char *text, uint64_t ticks[STEAL_CPUS]);
