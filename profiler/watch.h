/*
 * watch.h: what the observer knows of one server, and when that is a hazard.
 *
 * Several sources may report the same stop: the JVM's agent and its
 * hsperfdata page see the same collection some microseconds apart.  The
 * watch turns their reports into one level per kind of hazard and posts only
 * its changes.  An agent's word on collections stands above the page's,
 * except for the stalls of a concurrent collector, of which an agent knows
 * nothing; a dead process has no hazard but its own end.
 *
 * Levels are re-derived from the sources' present state at each report, so
 * no lost report can leave a hazard in force.
 */
#ifndef TAILOR_PROFILER_WATCH_H
#define TAILOR_PROFILER_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/output.h"
#include "talechain/events/hazard.h"

struct watch {
	struct output *output; /* borrowed */
	unsigned server;
	pid_t pid; /* 0: not known */
	/* what the sources say now */
	bool exited;
	unsigned agents;       /* agents' channels of this server */
	unsigned agents_in_gc; /* of those, in a collection */
	bool page_gc;	       /* hsperfdata: in a collection */
	bool page_concurrent;  /* and its collector is concurrent */
	bool page_safepoint;   /* hsperfdata: in a safepoint */
	uint32_t active;       /* bit per kind: posted as begun */
	struct instant since[HAZARD_KIND_COUNT];
};

/* When and why something changed. */
struct change {
	enum talechain_cause cause;
	struct instant at;
	struct instant seen;
};

/* Whether the page's collections count, or an agent's are used instead. */
bool watch_page_counts(const struct watch *w);

/* Post what differs between the sources' state and what was posted. */
void watch_update(struct watch *w, const struct change *c);

/* A hazard that began at begin and had ended before it was seen. */
void watch_pulse(struct watch *w, enum hazard_kind kind, struct instant begin,
    const struct change *end);

/* The server's process is gone, or there is a new one. */
void watch_exit(struct watch *w, int status, const struct change *c);
void watch_start(struct watch *w, pid_t pid, const struct change *c);

#endif
