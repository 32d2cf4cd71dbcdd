/* timer.h: the proxy thread's timers.
 *
 * libevent's timers are either coarse (milliseconds, of a clock that moves
 * every 4 ms) or cost two timerfd_settime for each wait, a thirtieth of the
 * time of a request on one connection.  These timers are precise, and the
 * kernel's timer is set again only for one that is due before its present
 * setting, which the loop's tick makes rare.
 *
 * Timers of the same duration fire in the order they were set: each duration
 * has a list, and a new timer is appended.  Timers fire after the events of a
 * turn and before its writes, so a response that has arrived is seen before the
 * timer that limits the wait for it.
 *
 * Cost: some 10 ns to set or clear, no allocation; firing checks the head of
 * each list.  Proxy thread only. */
#pragma once

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "base/instant.h"

#define TIMER_LISTS 32 /* durations in use; more share one list */

struct timer;
/* Timers that are set, linked by timer.link. */
TAILQ_HEAD(timer_list, timer);

struct timer {
	void (*fire)(void *user, bool forced);
	void *user;
	struct instant due;
	struct timer_list *list; /* NULL: not set */
	TAILQ_ENTRY(timer) link;
};

struct timers {
	struct timer_list of[TIMER_LISTS]; /* ascending by due */
	int64_t after_ns[TIMER_LISTS];	   /* duration of each list of */
	struct timer_list others;	   /* ascending; any duration */
	struct timer_list forced;
	struct instant recent; /* a time of this turn; none: not read yet */
	struct instant
	    armed_until; /* when the kernel's timer fires; none: never */
	int fd;		 /* owned: a timerfd */
	struct event event;
	bool due;     /* the kernel's timer has fired */
	bool running; /* timers_fire runs, and sets that at its end */
};

/* Returns 0 or -errno (nothing to release). */
int timers_init(struct timers *ts, struct event_base *base);
void timers_fini(struct timers *ts);

/* Set up a timer, before its first use.  A timer of zeros is not set. */
void
timer_init(struct timer *t, void (*fire)(void *user, bool forced), void *user);

/* Fire once, after_ns (at least 0) from now; replaces an earlier setting.  now
 * may be a little old. */
void timer_set(
    struct timers *ts, struct timer *t, struct instant now, int64_t after_ns);

/* As timer_set, for a duration that hardly any other timer has. */
void timer_set_unsorted(
    struct timers *ts, struct timer *t, struct instant now, int64_t after_ns);

/* As timer_set, from the present time.  A duration of a second or more may end
 * early, by the length of a turn. */
void timer_arm(struct timers *ts, struct timer *t, int64_t after_ns);

/* Fire when this turn is over, with forced set.  Setting the timer again does
 * not change that; only timer_clear does. */
void timer_force(struct timers *ts, struct timer *t);

/* Clear a timer, set, forced or neither, so that it does not fire. */
void timer_clear(struct timers *ts, struct timer *t);

/* True while a timer is set or forced. */
static inline bool
timer_is_set(const struct timer *t)
{
	return t->list != NULL;
}

/* When the earliest timer is due; INSTANT_NONE: none is set. */
struct instant timers_next(const struct timers *ts);

/* Fire all timers that are due at now, earliest first within a list. */
void timers_fire(struct timers *ts, struct instant now);

/* Before the loop waits: a time read before that is old afterwards. */
static inline void
timers_wait(struct timers *ts)
{
	ts->recent = INSTANT_NONE;
}

/* At the end of each turn: fire the due timers if the kernel's timer fired. */
static inline void
timers_turn(struct timers *ts)
{
	if (ts->due)
		timers_fire(ts, instant_now());
}
