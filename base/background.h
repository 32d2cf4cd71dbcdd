/* background.h: how a thread is scheduled, and how it gives way to servers. */
#pragma once

#include <stdint.h>

/* The kernel's struct sched_attr, first version.  linux/sched/types.h cannot be
 * included beside sched.h. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* a slice, from Linux 6.12 on; 0: the usual one */
	uint64_t deadline_ns, period_ns;
};
#define SCHEDULING_RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK */

/* Read, or set, how the calling thread is scheduled; size is filled in.
 * Returns 0 or a negative errno.  Setting is not sched_setscheduler(), which a
 * unit's filter of system calls refuses. */
int scheduling_read(struct scheduling *out);
int scheduling_set(struct scheduling s);

/* How late a timer may be by the kernel's default, ns. */
#define BACKGROUND_SLACK_NS 50000UL

/* Schedule the calling thread as work in the background: SCHED_BATCH with the
 * usual slice and timer slack.  It waits for a CPU like any other thread; by
 * the kernel's rules its wake-up preempts none, but a tick may.  A real-time
 * thread leaves its class; SCHED_IDLE, which gives way to more, stays.  The
 * nice value stays, too.  Threads that it starts are the same.
 * Returns 0 or a negative errno: then it is scheduled as before. */
int background_become(void);
