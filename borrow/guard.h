/* guard.h: keeps batch work off lanes while those beside them are busy.
 *
 * A thread on each borrowing lane is woken as its core gets busy (lanes/), and
 * naps on the lane until it is not.  Batch work in an idle group (group.h) does
 * not run while it does; all others share the lane with it as with any thread.
 * Nothing is stopped: when we are killed, batch work runs on.
 *
 * To wake it costs the CPU that gets busy an interrupt to the other.  To look
 * again and again instead costs the borrower a timer's interrupt and two task
 * switches each time: where a hypervisor answers for both, 30 us.
 *
 * A real-time thread would not be better here: the kernel's fair server then
 * has batch work run for up to 50 ms of a second.
 *
 * After "ELFEN" (thesis 5.3), whose nanonap needs a changed kernel. */
#pragma once

#include <stdint.h>

#include "lanes/lanes.h"

/* A core on which a thread asks itself (talechain_borrow.h) is looked at this
 * often instead.  If twice in a row batch work has run, and by its own word not
 * napped, for more than one part in GUARD_PART of the time for which the core
 * was busy, it is guarded from then on. */
#define GUARD_TRUST_MS 100
#define GUARD_PART 20

/* The kernel gives a thread's turn of some ms to batch work, too, but not that
 * of a thread that has just been woken: so a nap is at most this long.  Then it
 * is woken again, if there is batch work. */
#define GUARD_NAP_NS 2000000

struct lane_guard; /* opaque */

/* The words of all lanes, which a guard reads. */
struct guard_view {
	const struct talechain_lane *words;		   /* lanes_words */
	const struct talechain_asker *askers;		   /* lanes_askers */
	uint64_t *guarded;				   /* lanes_guarded */
	void (*wait)(void *user, int cpu, int timeout_ms); /* lanes_wait */
	void (*end)(void *user);			   /* lanes_end */
	void *user;					   /* the lanes */
};

/* Start: batch work may run for budget_ns of each busy period (0: not).  What
 * view has is borrowed until guard_stop.  Returns 0 or a negative errno, also
 * if a lane may not be used.  Main thread. */
int guard_start(struct lane_guard **out, const struct guard_view *view,
    const struct lanes_pairs *pairs, int64_t budget_ns);
void guard_stop(struct lane_guard **gp);
