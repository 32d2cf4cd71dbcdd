/* background.h: reads and sets a thread's scheduling. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The kernel's struct sched_attr, first version.  linux/sched/types.h cannot be
 * included beside sched.h. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* slice, from Linux 6.12 on; 0: the default */
	uint64_t deadline_ns, period_ns;
};
#define SCHEDULING_RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK */

/* Read, or set, the scheduling of a thread, 0: of the calling one; size is
 * filled in.  Returns 0 or a negative errno.  Uses sched_setattr(), as a
 * systemd unit's filter of system calls refuses sched_setscheduler(). */
int scheduling_read(pid_t tid, struct scheduling *out);
int scheduling_set(pid_t tid, struct scheduling s);

/* The kernel's default timer slack, ns: how late a timer may fire. */
#define BACKGROUND_SLACK_NS 50000UL

/* Schedule the calling thread as background work: SCHED_BATCH with the default
 * slice and timer slack.  The thread waits for a CPU like any other; its
 * wake-up preempts no thread, but a scheduler tick may.  A real-time thread
 * leaves its class; a SCHED_IDLE thread, which yields even more, stays in it.
 * The nice value stays.  Threads that this thread starts inherit all of this.
 * Returns 0, or a negative errno and changes nothing. */
int background_become(void);
