/* stall.h: servers that may not run: their CPU quota is used up, or they are
 * stopped or frozen.
 *
 * Both show in the scheduler's events: a thread of the server leaves its CPU as
 * throttled or stopped, and from then on none of its threads gets one.  The
 * hazard begins STALL_LEAST_NS after that, stamped with the moment itself, and
 * ends with the next switch to one of its threads.  So a debugger that stops a
 * thread at each system call is no hazard, nor a quota that lets another thread
 * run on.  A quota's end is known as it begins: the kernel's next period, if no
 * group above has used up its own by then.  Threads may have a CPU earlier, if
 * another CPU of the group gives back what it has: one that then runs for
 * STALL_LEAST_NS.  And later, if others have theirs.  Needs the kernel's
 * events; a process that was asleep when a cgroup of version 1 froze it leaves
 * no CPU, and is not seen.
 *
 * Cost: two comparisons for each switch of a server's thread, one for each
 * server and sweep.  All of it is the observer's. */
#pragma once

#include "profiler/channels/hazard_state.h"
#include "profiler/channels/owner.h"

#define STALL_LEAST_NS (500 * NS_PER_US)

struct stalls {
	/* The server whose thread has the CPU, + 1; 0: none. */
	uint8_t runs[KERNEL_CPUS];
	struct {
		enum stall kind; /* hazard_state.h */
		struct instant since;
		struct instant until; /* of a quota: the next period */
		/* A thread has the CPU since before that, and when that was
		 * read; unset: none has. */
		struct instant entered, noticed;
		uint32_t pid; /* of the process that left its CPU so */
	} server[PROFILER_SERVERS];
	struct hazard_state *hazards; /* borrowed: of each server */
	/* borrowed; NULL: there are no events of the kernel */
	const struct kernel_owners *owners;
};

/* An event of the kernel that was read now. */
void stalls_event(struct stalls *s, const struct talechain_event *e);

/* The server has another process, or none. */
void stalls_forget(struct stalls *s, unsigned server);

/* Events of a CPU were lost: what runs there is not known. */
void stalls_lost(struct stalls *s);

/* Begin the hazards of stalls that last. */
void stalls_sweep(struct stalls *s, struct instant now);

/* True if a stall begins, or may begin, at a sweep that no event precedes. */
bool stalls_pending(const struct stalls *s);
