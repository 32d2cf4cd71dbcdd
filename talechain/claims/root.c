/* root.c: the end of a chain of threads that wait for each other.
 *
 * A thread may wait for a second one, which waits for a third, and so on.  What
 * the last of them does is why the first waits.  A thread belongs to the chain
 * only if it waits for the next thread for at least half of the time looked at:
 * otherwise it did something of its own.
 *
 * If timers woke the last thread, no event shows why the first one waited: for
 * a lock that the sleeper held, or for a timer that the sleeper keeps for
 * others (a timer wheel, a runtime's scheduler).  A thread that ticks, or waits
 * in epoll, keeps timers. */
#include "talechain/claims/explainer.h"

#define HALF(ns) ((ns) / 2)
#define TICK_RUN_NS (300 * NS_PER_US) /* a tick runs for less */

/* The wait of the chain's last thread for another thread, if it took over half
 * of the root's time, or NULL. */
static const struct thread_interval *
waited_for(const struct explainer *ex, const struct root *r)
{
	const struct thread_interval *p = NULL;
	int64_t half_ns = HALF(r->end_ns - r->begin_ns);

	while (
	    (p = threads_next(ex, r->tid[r->count - 1], p, r->end_ns)) != NULL)
		if (p->state == THREAD_SLEEP && thread_is_peer(ex, p) &&
		    p->doubt == NULL && p->woken_ns != NEVER &&
		    p->woken_ns <= r->end_ns &&
		    interval_within_ns(p, r->begin_ns, r->end_ns) > half_ns)
			return p;
	return NULL;
}

static bool
is_in(const struct root *r, uint32_t tid)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->tid[i] == tid)
			return true;
	return false;
}

void
root_find(const struct explainer *ex, struct root *r, uint32_t waiter,
    uint32_t tid, int64_t begin_ns, int64_t end_ns)
{
	const struct thread_interval *p;

	*r = (struct root){
	    .tid[0] = tid, .count = 1, .begin_ns = begin_ns, .end_ns = end_ns};
	while ((p = waited_for(ex, r)) != NULL) {
		r->open = r->count == ROOT_DEEP || p->other == waiter ||
			  is_in(r, p->other);
		if (r->open)
			return;
		r->tid[r->count++] = p->other;
		if (p->begin_ns > r->begin_ns)
			r->begin_ns = p->begin_ns;
		r->end_ns = p->woken_ns;
	}
	r->open = !thread_is_watched(ex, r->tid[r->count - 1]);
}

/* True if two lengths differ by less than a quarter. */
static bool
is_alike(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns + b_ns / 4 && b_ns < a_ns + a_ns / 4;
}

enum root_timer
root_timer(const struct explainer *ex, const struct root *r)
{
	const struct thread_interval *p = NULL;
	int64_t slept_ns = 0, ran_ns = 0, last_ns = 0, ns;
	bool loop = false, ticks = false;

	while ((p = threads_next(ex, r->tid[r->count - 1], p, r->end_ns)) !=
	       NULL) {
		ns = p->end_ns - p->begin_ns;
		if (p->state == THREAD_RUN)
			ran_ns += ns;
		if (p->state != THREAD_SLEEP)
			continue;
		if (!thread_timer_ended(p) || p->woken_ns > r->end_ns) {
			last_ns = 0;
			ticks = false;
			continue;
		}
		ticks |= last_ns > 0 && ran_ns <= TICK_RUN_NS &&
			 is_alike(ns, last_ns);
		loop = call_is_loop(p->call);
		slept_ns += interval_within_ns(p, r->begin_ns, r->end_ns);
		last_ns = ns;
		ran_ns = 0;
	}
	if (r->open || slept_ns <= HALF(r->end_ns - r->begin_ns))
		return ROOT_NO_TIMER;
	return loop || ticks ? ROOT_KEEPS_TIMERS : ROOT_SLEPT;
}
