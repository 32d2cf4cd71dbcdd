/* hazard_state.h: one server's hazards, derived from all sources.
 *
 * Several sources may report the same stop: the JVM's agent and its hsperfdata
 * page see the same collection some microseconds apart.  This turns their
 * reports into one level per kind of hazard and posts only its changes.  For
 * collections an agent takes precedence over the page, except for the stalls of
 * a concurrent collector, which an agent cannot see.  A dead process has no
 * hazard but EXIT.
 *
 * Levels are derived anew from the sources' present state at each report, so no
 * lost report can leave a hazard in force. */
#pragma once

#include "profiler/channels/output.h"

/* Reason why no thread of a server may run (stall.h). */
enum stall {
	STALL_NONE,
	STALL_QUOTA,
	STALL_STOPPED,
};

struct hazard_state {
	struct observer_output *output; /* borrowed */
	unsigned server;
	pid_t pid; /* 0: not known */
	/* present state of the sources */
	bool exited;
	unsigned agents;	 /* agents with a channel */
	unsigned agents_in_gc;	 /* agents in a collection */
	unsigned agents_marking; /* agents whose collector marks in steps */
	bool page_gc;		 /* in a collection, by hsperfdata */
	bool page_concurrent;	 /* the page's collector is concurrent */
	bool page_safepoint;	 /* in a safepoint, by hsperfdata */
	enum stall stall;	 /* why no thread may run, by the scheduler */
	uint8_t eden;		 /* quarters of eden in use, when last read */
	uint32_t active;	 /* bit per kind: posted as begun */
	struct instant since[HAZARD_KIND_COUNT];
};

/* When and why something changed. */
struct hazard_change {
	enum talechain_cause cause;
	bool over;		/* the hazard had ended before it was seen */
	uint32_t quota_left_us; /* until the quota's known end; else 0 */
	struct instant at;
	struct instant seen;
};

/* True if the page's collections count; else an agent's do. */
bool hazard_state_page_counts(const struct hazard_state *w);

/* Post the differences between the sources' state and what was posted. */
void hazard_state_update(struct hazard_state *w, const struct hazard_change *c);

/* Post a hazard that had ended before it was seen. */
void hazard_state_pulse(struct hazard_state *w, enum hazard_kind kind,
    struct instant begin, const struct hazard_change *end);

/* hazard_state_exit: the server's process is gone.  hazard_state_start: process
 * pid runs; 0: none is known yet. */
void hazard_state_exit(
    struct hazard_state *w, int status, const struct hazard_change *c);
void hazard_state_start(
    struct hazard_state *w, pid_t pid, const struct hazard_change *c);
