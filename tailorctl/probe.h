/* probe.h: finds the signals that this machine offers.
 *
 * Each probe tries the operation itself where possible (opens, maps, reads,
 * calls the kernel) instead of comparing versions, and leaves nothing behind.
 * Results depend on the user who runs the probe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROBE_TEXT 320

struct probe_finding {
	bool available;
	/* static, or as plain_format() returns it */
	const char *found;  /* what is available */
	const char *enable; /* how to enable or improve it, or NULL */
};

/* Fill in a zeroed finding. */
void probe_cpus(struct probe_finding *f);
void probe_scheduler(struct probe_finding *f);
void probe_clock(struct probe_finding *f);
void probe_memory(struct probe_finding *f);
void probe_exit(struct probe_finding *f);
void probe_pages(struct probe_finding *f);
void probe_agent(struct probe_finding *f);
void probe_steering(struct probe_finding *f);
void probe_kernel(struct probe_finding *f);
void probe_counters(struct probe_finding *f);

/* Describe which CPUs share a core with an observer on cpu (-1: not pinned) and
 * may be slowed by the observer, and how to measure that. */
struct topology;
void
probe_neighbour(const struct topology *t, int cpu, char *text, size_t size);

/* Run an observer in this process, unless the tailor that options select runs,
 * and report its cost: as text to standard output, or into the open JSON object
 * j if j is not NULL.  Takes a second.  Returns 0, or -1 after a message on
 * standard error. */
struct ctl_options;
struct json;
int probe_observer(const struct ctl_options *options, struct json *j);
