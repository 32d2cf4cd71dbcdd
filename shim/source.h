/* source.h: from options of the command line to signals.
 *
 *	counter:NAME             a counter of --pid, of all its threads, or of
 *	                         --cpu (counter.h)
 *	neighbour:NAME           the core's, less our CPU's: the SMT sibling's
 *	word:FILE:OFFSET[:NAME]  64 bits of a file, mapped: shared memory
 *	jvm:NAME                 a number in a JVM's performance page
 *
 * Opens and checks sources, with reasons; sampling is in sampler.h. */
#pragma once

#include "shim/sampler.h"

struct hsperf_page;
struct lanes;

/* The observed process or CPU. */
struct shim_target {
	pid_t pid; /* 0: none */
	int cpu;   /* -1: none */
	int on;	   /* our CPU; -1: not decided */
};

struct source_map {
	void *at; /* owned mapping, guarded */
	size_t bytes;
	uint32_t cut; /* not 0: the file was cut; reads give zeros */
};

#define SOURCE_COUNTERS 256 /* of all threads together */

/* Everything that signals refer to. */
struct sources {
	struct shim_target target;
	struct sampler sampler;
	struct counter counter[SOURCE_COUNTERS]; /* owned */
	unsigned counters;
	struct source_map map[SAMPLER_SIGNALS + 1]; /* owned; one for the tag */
	unsigned maps;
	struct hsperf_page *page; /* owned, or NULL: the JVM's */
	struct lanes *lanes;	  /* owned, or NULL: the tag is a task */
};

#define SOURCE_WHY 640

/* Begin without signals; target is copied.  sources_fini closes all signals and
 * leaves the struct as sources_init does. */
void sources_init(struct sources *s, const struct shim_target *target);
void sources_fini(struct sources *s);

/* True once a file of words was cut since it was mapped. */
bool sources_are_cut(const struct sources *s);

/* Add a signal.  Returns 0, or a negative errno with a sentence in why
 * (SOURCE_WHY bytes): what is wrong, and what to do. */
int sources_add(struct sources *s, const char *spec, char *why);

/* Set the tag: a word, or "task": the task on the target's CPU.  Returns as
 * sources_add. */
int sources_tag(struct sources *s, const char *spec, char *why);

/* Add the default signals: instructions and cycles with a PMU, else a process's
 * CPU time or a CPU's switches of tasks.  why receives the reason if a counter
 * is missing, else "". */
int sources_add_default(struct sources *s, char *why);
