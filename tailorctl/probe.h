/*
 * probe.h: what this machine offers, one finding per signal.
 *
 * Each probe tries the thing itself where that is possible (opens, maps,
 * reads, asks the kernel) instead of concluding from version numbers, and
 * leaves nothing behind.  It speaks of the user who runs it.
 */
#ifndef TAILOR_TAILORCTL_PROBE_H
#define TAILOR_TAILORCTL_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#define PROBE_TEXT 320

struct finding {
	bool available;
	char found[PROBE_TEXT];	 /* what there is */
	char enable[PROBE_TEXT]; /* what would make it available, or better */
};

/* Each fills in a finding that was all zero. */
void probe_cpus(struct finding *f);
void probe_scheduler(struct finding *f);
void probe_clock(struct finding *f);
void probe_memory(struct finding *f);
void probe_exit(struct finding *f);
void probe_pages(struct finding *f);
void probe_agent(struct finding *f);
void probe_kernel(struct finding *f);
void probe_counters(struct finding *f);

/*
 * probe_costs(j):
 * Measure what the kernel's signals cost here and say which are to be had:
 * as text to standard output, or into an open JSON object if j is not NULL.
 * Takes about 8 seconds where BPF is permitted, else no time.
 */
struct json;
void probe_costs(struct json *j);

/*
 * probe_neighbour(t, cpu, text, size):
 * Who shares a core with an observer on cpu (-1: not pinned) and may be slowed
 * by it, and how to measure that.
 */
struct topology;
void
probe_neighbour(const struct topology *t, int cpu, char *text, size_t size);

/*
 * probe_observer(options, j):
 * Tell what the observer of the running tailor costs (asked as options say),
 * or one of our own; in the same two ways.  Takes a second.  Returns 0, or -1
 * after a message on standard error.
 */
struct options;
int probe_observer(const struct options *options, struct json *j);

#endif
