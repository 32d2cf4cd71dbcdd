/*
 * observed.h: one log line for each process of a server: what is observed, what
 * is not, why not, and how to change that.
 *
 * The line comes when its collections are seen, or OBSERVED_PATIENCE_NS after
 * the process was found: a JVM makes its page in its first tenths of a second.
 * Collections seen later (an agent was loaded) are a second line.
 *
 * All of it runs on the attach thread.
 */
#pragma once

#include "profiler/attach/process.h"

#define OBSERVED_PATIENCE_NS NS_PER_S

struct observed {
	unsigned generation; /* process.generation, when last seen here */
	struct instant found;
	bool reported, collections; /* line logged; it had collections */
	unsigned misses;	    /* in that line */
	struct profiler_miss miss[PROFILER_MISSES];
};

/* Facts of the line, besides those of the process; all borrowed. */
struct observed_facts {
	const char *socket; /* socket of channels; NULL: none */
	/* Why there are no events of the kernel, and how to change that. */
	const char *kernel_why, *kernel_fix;
	const char *detail; /* how the server's collections are seen */
	bool collections;   /* collections are seen */
};

/* Log the line of a server's process if it is due.  Returns the time until
 * then, ns; -1: never. */
int64_t observed_turn(struct observed *o, const struct process *p,
    const struct observed_facts *facts, struct instant now);
