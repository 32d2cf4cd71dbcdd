/* probe.h: the signals this machine offers, one finding each.
 *
 * Each probe tries the operation itself where possible (opens, maps, reads,
 * calls the kernel) instead of comparing versions, and leaves nothing behind.
 * Results are for the user who runs it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROBE_TEXT 320

struct probe_finding {
	bool available;
	/* static, or as plain_format() returns it */
	const char *found;  /* what there is */
	const char *enable; /* how to make it available, or better; NULL */
};

/* Each fills in a zeroed finding. */
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
 * may be slowed by it, and how to measure that. */
struct topology;
void
probe_neighbour(const struct topology *t, int cpu, char *text, size_t size);

/* Report the cost of an observer in this process, unless a tailor runs (as
 * options select): as text to standard output, or into an open JSON object if j
 * is not NULL.  Takes a second.  Returns 0, or -1 after a message on standard
 * error. */
struct ctl_options;
struct json;
int probe_observer(const struct ctl_options *options, struct json *j);
