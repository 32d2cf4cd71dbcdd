/* timer.h: the proxy thread's timers.
 *
 * libevent's are either coarse (milliseconds, of a clock that moves each 4 ms)
 * or cost two timerfd_settime for each wait, which is a thirtieth of a request
 * with one connection.  These are precise, and the kernel's timer is set only
 * for one that comes earlier than it is set for: while a tick of 10 ms is set
 * that is nearly never.
 *
 * Timers of the same duration come in the order they were set, so there is a
 * list for each duration, and setting one is appending to it.  They fire
 * between the events of a turn and what it has to write: an answer that has
 * come and a timer that waited for it no longer race.
 *
 * Cost: setting and clearing some 10 ns, no allocation; firing a look at each
 * list.  Proxy thread only. */
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
	int64_t after_ns[TIMER_LISTS];	   /* whose timers those are */
	struct timer_list others;	   /* ascending; any duration */
	struct timer_list forced;
	struct instant recent; /* not long ago, and never after now */
	struct instant
	    armed_until; /* when the kernel will wake us; none: never */
	int fd;		 /* owned: a timerfd */
	struct event event;
	bool due;     /* it has */
	bool running; /* the kernel's timer is set at the end */
};

/* Returns 0 or -errno (nothing to release). */
int timers_init(struct timers *ts, struct event_base *base);
void timers_fini(struct timers *ts);

/* Set up a timer, before anything else is done with it; one of zeros is not
 * set. */
void
timer_init(struct timer *t, void (*fire)(void *user, bool forced), void *user);

/* Fire once, after_ns (at least 0) from now; what was set before is
 * forgotten.  now may be a little old. */
void timer_set(
    struct timers *ts, struct timer *t, struct instant now, int64_t after_ns);

/* The same for a duration that hardly any other timer has. */
void timer_set_unsorted(
    struct timers *ts, struct timer *t, struct instant now, int64_t after_ns);

/* The same from now.  Of a second or more up to a tick less. */
void timer_arm(struct timers *ts, struct timer *t, int64_t after_ns);

/* Fire as soon as this turn is over, with forced set, whatever is set
 * until then; only clearing undoes it. */
void timer_force(struct timers *ts, struct timer *t);

/* Clear a timer, set, forced or neither: it does not fire. */
void timer_clear(struct timers *ts, struct timer *t);

/* True while a timer is set or forced. */
static inline bool
timer_is_set(const struct timer *t)
{
	return t->list != NULL;
}

/* When the earliest one is due; none: none is set. */
struct instant timers_next(const struct timers *ts);

/* Fire all timers that are due at now, earliest first within a list. */
void timers_fire(struct timers *ts, struct instant now);

/* At the end of each turn: fire if the kernel says that it is time. */
static inline void
timers_turn(struct timers *ts)
{
	if (ts->due)
		timers_fire(ts, instant_now());
}
