/* timer.c: lists of timers, and one timerfd for all.  See timer.h. */
#include "proxy/net/timer.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void
on_time(evutil_socket_t fd, short what, void *user)
{
	struct timers *ts = user;

	(void)fd;
	(void)what;
	ts->armed_until = INSTANT_NONE;
	ts->due = true;
}

/* A time of this turn: the clock is read once. */
static struct instant
recent(struct timers *ts)
{
	if (!instant_is_set(ts->recent))
		ts->recent = instant_now();
	return ts->recent;
}

/* Set the kernel's timer to fire at due. */
static void
kernel_arm(struct timers *ts, struct instant due)
{
	struct itimerspec at = {
	    .it_value = {.tv_sec = (time_t)(due.ns / (uint64_t)NS_PER_S),
		.tv_nsec = (long)(due.ns % (uint64_t)NS_PER_S)}};
	int err = timerfd_settime(ts->fd, TFD_TIMER_ABSTIME, &at, NULL);

	assert(err == 0); /* fails only for a bad descriptor or time */
	(void)err;
	ts->armed_until = due;
}

int
timers_init(struct timers *ts, struct event_base *base)
{
	int err;

	memset(ts, 0, sizeof(*ts));
	for (unsigned i = 0; i < TIMER_LISTS; i++)
		TAILQ_INIT(&ts->of[i]);
	TAILQ_INIT(&ts->others);
	TAILQ_INIT(&ts->forced);
	ts->recent = instant_now();
	ts->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ts->fd < 0)
		return -errno;
	/* Edge-triggered: timerfd_settime clears it, so no read is needed. */
	event_assign(&ts->event, base, ts->fd, EV_READ | EV_PERSIST | EV_ET,
	    on_time, ts);
	if (event_add(&ts->event, NULL) == 0)
		return 0;
	err = -ENOMEM;
	close(ts->fd);
	ts->fd = -1;
	return err;
}

void
timers_fini(struct timers *ts)
{
	if (ts->fd < 0)
		return;
	event_del(&ts->event);
	close(ts->fd);
	ts->fd = -1;
}

void
timer_init(struct timer *t, void (*fire)(void *user, bool forced), void *user)
{
	memset(t, 0, sizeof(*t));
	t->fire = fire;
	t->user = user;
}

/* The list of a duration: that with this duration already, else an empty one,
 * else others. */
static struct timer_list *
list_of(struct timers *ts, int64_t after_ns)
{
	struct timer_list *empty = NULL;

	for (unsigned i = 0; i < TIMER_LISTS; i++) {
		if (ts->after_ns[i] == after_ns)
			return &ts->of[i];
		if (empty == NULL && TAILQ_EMPTY(&ts->of[i]))
			empty = &ts->of[i];
	}
	if (empty == NULL)
		return &ts->others;
	ts->after_ns[empty - ts->of] = after_ns;
	return empty;
}

static void
enter(struct timers *ts, struct timer *t, struct timer_list *list,
    struct instant due)
{
	struct timer *before = TAILQ_LAST(list, timer_list);

	t->due = due;
	t->list = list;
	while (before != NULL && instant_before(due, before->due))
		before = TAILQ_PREV(before, timer_list, link);
	if (before == NULL)
		TAILQ_INSERT_HEAD(list, t, link);
	else
		TAILQ_INSERT_AFTER(list, before, t, link);
	if (!ts->running && !ts->due &&
	    (!instant_is_set(ts->armed_until) ||
		instant_before(due, ts->armed_until)))
		kernel_arm(ts, due);
}

void
timer_clear(struct timers *ts, struct timer *t)
{
	(void)ts; /* the kernel's timer stays set, and may fire early */
	if (t->list == NULL)
		return;
	TAILQ_REMOVE(t->list, t, link);
	t->list = NULL;
}

static void
set(struct timers *ts, struct timer *t, struct timer_list *list,
    struct instant now, int64_t after_ns)
{
	assert(after_ns >= 0);
	if (t->list == &ts->forced)
		return;
	timer_clear(ts, t);
	if (instant_before(ts->recent, now))
		ts->recent = now;
	enter(ts, t, list, instant_plus(now, after_ns));
}

void
timer_set(
    struct timers *ts, struct timer *t, struct instant now, int64_t after_ns)
{
	set(ts, t, list_of(ts, after_ns), now, after_ns);
}

void
timer_set_unsorted(
    struct timers *ts, struct timer *t, struct instant now, int64_t after_ns)
{
	set(ts, t, &ts->others, now, after_ns);
}

void
timer_arm(struct timers *ts, struct timer *t, int64_t after_ns)
{
	timer_set(
	    ts, t, after_ns < NS_PER_S ? instant_now() : recent(ts), after_ns);
}

void
timer_force(struct timers *ts, struct timer *t)
{
	timer_clear(ts, t);
	enter(ts, t, &ts->forced, recent(ts));
}

struct instant
timers_next(const struct timers *ts)
{
	const struct timer *t = TAILQ_FIRST(&ts->forced);
	struct instant next = t == NULL ? INSTANT_NONE : t->due;

	for (unsigned i = 0; i <= TIMER_LISTS; i++) {
		t = TAILQ_FIRST(i < TIMER_LISTS ? &ts->of[i] : &ts->others);
		if (t != NULL &&
		    (!instant_is_set(next) || instant_before(t->due, next)))
			next = t->due;
	}
	return next;
}

static void
ring_list(struct timers *ts, struct timer_list *list, struct instant now)
{
	struct timer *t;

	while (
	    (t = TAILQ_FIRST(list)) != NULL && !instant_before(now, t->due)) {
		timer_clear(ts, t);
		t->fire(t->user, list == &ts->forced);
	}
}

void
timers_fire(struct timers *ts, struct instant now)
{
	struct instant next;

	ts->due = false;
	ts->running = true;
	if (instant_before(ts->recent, now))
		ts->recent = now;
	ring_list(ts, &ts->forced, now);
	for (unsigned i = 0; i < TIMER_LISTS; i++)
		ring_list(ts, &ts->of[i], now);
	ring_list(ts, &ts->others, now);
	ts->running = false;
	next = timers_next(ts);
	if (instant_is_set(next))
		kernel_arm(ts, next);
}
