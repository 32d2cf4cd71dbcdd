/* stall.h: servers that may not run: their CPU quota is used up, or they are
 * stopped or frozen.
 *
 * Both show in the scheduler's events: a thread of the server leaves its CPU as
 * throttled or stopped, and from then on none of its threads gets one.  The
 * hazard is posted STALL_LEAST_NS later, with the time at which that thread
 * left its CPU, and ends with the next switch to a thread of the server.  So
 * there is no hazard if a debugger stops a thread at each system call, or if a
 * quota lets another thread run on.
 *
 * A quota's end is known at its begin: the kernel's next period, if no group
 * above has used up its own quota by then.  Threads may get a CPU earlier, if
 * another CPU of the group gives back time; then the hazard ends once one of
 * them has run for STALL_LEAST_NS.  They get one later if others have the CPUs.
 *
 * Needs the kernel's events.  A process that was asleep when a cgroup of
 * version 1 froze it leaves no CPU, and is not seen.
 *
 * If events are lost or paused during a stall, its end may be among them, and
 * an idle server gives no other.  A quota then ends when it is renewed at the
 * latest, and the attach thread reads whether a stopped process still is.
 *
 * Cost: two comparisons for each switch of a server's thread, one for each
 * server and sweep.  All of it is the observer's but check. */
#pragma once

#include "profiler/channels/hazard_state.h"
#include "profiler/channels/owner.h"

#define STALL_LEAST_NS (500 * NS_PER_US)

struct stalls {
	/* For each CPU, 1 + the server whose thread has it; 0: none. */
	uint8_t runs[KERNEL_CPUS];
	struct {
		enum stall kind; /* hazard_state.h */
		struct instant since;
		struct instant until; /* of a quota: begin of its next period */
		/* When a thread got a CPU before the quota's end, and when that
		 * was read; unset: none got one. */
		struct instant entered, noticed;
		uint32_t pid; /* process whose thread left its CPU */
		/* The stall is in force, and its end may not have been seen. */
		bool doubted;
	} server[PROFILER_SERVERS];
	/* For each server a stopped process whose state the attach thread is to
	 * read; 0: none.  The observer stores, that thread takes: atomic. */
	uint32_t check[PROFILER_SERVERS];
	bool checks;		      /* it is to be woken for that */
	struct hazard_state *hazards; /* borrowed: one for each server */
	/* borrowed; NULL: there are no events of the kernel */
	const struct kernel_owners *owners;
};

/* Handle an event of the kernel that was just read. */
void stalls_event(struct stalls *s, const struct talechain_event *e);

/* Forget a server's stall: it has another process, or none. */
void stalls_forget(struct stalls *s, unsigned server);

/* Forget which threads run: events of a CPU were lost, or are or were
 * paused. */
void stalls_lost(struct stalls *s);

/* True once if the attach thread is to look at check. */
bool stalls_want_check(struct stalls *s);

/* A process was not stopped at that time, as the attach thread found. */
void stalls_checked(
    struct stalls *s, unsigned server, uint32_t pid, struct instant at);

/* Post the hazards of stalls that have lasted STALL_LEAST_NS. */
void stalls_sweep(struct stalls *s, struct instant now);

/* True if a hazard may begin or end at a sweep without a new event. */
bool stalls_pending(const struct stalls *s);
