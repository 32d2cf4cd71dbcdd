/* background.h: a thread that gives way to servers. */
#pragma once

/* How late a timer may be by the kernel's default, ns. */
#define BACKGROUND_SLACK_NS 50000UL

/* Schedule the calling thread as work in the background: SCHED_BATCH with the
 * usual slice and timer slack.  It waits for a CPU like any other thread; by
 * the kernel's rules its wake-up preempts none, but a tick may.  A real-time
 * thread leaves its class; SCHED_IDLE, which gives way to more, stays.  The
 * nice value stays, too.  Threads that it starts are the same.
 * Returns 0 or a negative errno: then it is scheduled as before. */
int background_become(void);
