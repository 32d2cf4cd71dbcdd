/* walk.c: the way of a request through the threads of a server.
 *
 * The walk goes backwards from the moment the request left its last thread.
 * What a thread did is claimed (cause_thread.c).  If another thread of the
 * process woke it, the sleeper waited either for the waker's part of the same
 * request or for something that the waker had: a lock, CPython's interpreter.
 * In the first case the walk goes through the waker, from the wake-up back to
 * the begin of the sleep, and then returns to the sleeper: the request stays
 * with the thread that received it until this thread hands work over.
 *
 * A wake-up alone is no hand-over, since releasing a lock is a wake-up, too.  A
 * thread got work if it was idle when the request came, the sleeper woke it
 * (directly, or through threads that got work so), and it then woke the
 * sleeper.  A thread that waited for its turn was not idle; a thread busy with
 * other work is only waited for.  If the sleeper computes on after the
 * hand-over, it has the request until it sleeps: what the other thread waited
 * for meanwhile delayed nothing.
 *
 * A runtime like Go's moves work between threads: a woken idle thread may go on
 * with other work.  The walk goes through such a thread as well, but what the
 * thread computes is claimed as waited for, not as work on the request.
 *
 * This is the critical path of task graphs, except that the path leaves a
 * thread only if it comes back to it. */
#include "base/array.h"
#include "talechain/claims/explainer.h"

#define STEPS_MAX 20000 /* intervals a walk goes through */
#define DEPTH_MAX 16	/* threads that wait for each other */

/* The last interval of a thread that begins before a moment, or NULL. */
static const struct thread_interval *
interval_before(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	const struct thread_interval *p = ex->interval;
	size_t n = FIRST_WHERE(i, ex->intervals,
	    p[i].tid > tid || (p[i].tid == tid && p[i].begin_ns >= ns));

	return n > 0 && p[n - 1].tid == tid ? &p[n - 1] : NULL;
}

/* True if a sleep was ended by a thread of the same process that takes part. */
static bool
ended_by_peer(const struct explainer *ex, const struct thread_interval *p)
{
	return p->state == THREAD_SLEEP && p->woken_ns != NEVER &&
	       p->wait == WAIT_OTHER && thread_is_peer(ex, p) &&
	       tale_thread_find(ex->t, p->other) != NULL &&
	       !thread_is(ex, p->other, ROLE_COMPILER) &&
	       !thread_is(ex, p->other, ROLE_VM);
}

/* The sleep in which a thread was idle as the leg began, if a thread of its
 * process ended it by before; else NULL. */
static const struct thread_interval *
idle_sleep(const struct thread_walk *w, uint32_t tid, int64_t before)
{
	const struct thread_interval *p =
	    interval_before(w->ex, tid, w->from_ns + 1);

	return p != NULL && ended_by_peer(w->ex, p) &&
		       p->woken_ns > w->from_ns && p->woken_ns <= before
		   ? p
		   : NULL;
}

/* True if thread tid got work from thread from: tid was idle as the leg began,
 * and from woke it, directly or through threads that got work so. */
static bool
got_work(
    const struct thread_walk *w, uint32_t tid, uint32_t from, int64_t before)
{
	const struct thread_interval *p;

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		p = idle_sleep(w, tid, before);
		if (p == NULL)
			return false;
		if (p->other == from)
			return true;
		tid = p->other;
		before = p->woken_ns;
	}
	return false;
}

/* When a thread was last woken by a thread from which it got work. */
static int64_t
got_work_at(struct thread_walk *w, uint32_t tid, uint32_t from, int64_t before)
{
	const struct thread_interval *p;
	int64_t at = before;

	while (at > w->from_ns && w->steps++ < STEPS_MAX) {
		p = interval_before(w->ex, tid, at);
		if (p == NULL)
			break;
		at = p->begin_ns;
		if (!ended_by_peer(w->ex, p) || p->woken_ns >= before)
			continue;
		if (p->other == from)
			return p->woken_ns;
		if (at <= w->from_ns) {
			tid = p->other;
			at = before = p->woken_ns;
		}
	}
	return w->from_ns;
}

/* When a thread first slept after from; else from.  Until then it worked on the
 * request itself, whatever it had given to others. */
static int64_t
first_sleep(
    const struct explainer *ex, uint32_t tid, int64_t from, int64_t before)
{
	const struct thread_interval *p = interval_before(ex, tid, from + 1);
	const struct thread_interval *end = ex->interval + ex->intervals;

	for (; p != NULL && p < end && p->begin_ns < before; p++)
		if (p->state == THREAD_SLEEP && p->end_ns > from)
			return p->begin_ns > from ? p->begin_ns : from;
	return from;
}

/* True if the thread that ended a sleep had the request during the sleep;
 * *since: from when on. */
static bool
was_with_waker(
    struct thread_walk *w, const struct thread_interval *p, int64_t *since)
{
	if (!ended_by_peer(w->ex, p) || p->woken_ns <= w->from_ns ||
	    w->depth >= DEPTH_MAX)
		return false;
	*since = w->from_ns;
	/* The thread was idle: the waker brought the request. */
	if (p->begin_ns <= w->from_ns)
		return true;
	if (!got_work(w, p->other, p->tid, p->woken_ns))
		return false;
	*since = got_work_at(w, p->other, p->tid, p->woken_ns);
	*since = first_sleep(w->ex, p->tid, *since, p->end_ns);
	return true;
}

static void
walk(struct thread_walk *w, uint32_t tid, int64_t from_ns, int64_t to_ns)
{
	const struct thread_interval *p, *waiter = w->waiter;
	int64_t at = to_ns, since, end;

	while (at > from_ns && w->steps++ < STEPS_MAX) {
		p = interval_before(w->ex, tid, at);
		if (p == NULL)
			break;
		end = p->end_ns < at ? p->end_ns : at;
		if (end <= from_ns)
			break;
		if (was_with_waker(w, p, &since)) {
			at = since > from_ns ? since : from_ns;
			if (waiter == NULL && p->begin_ns > w->from_ns &&
			    thread_moves_work(w->ex, p->tid))
				w->waiter = p;
			w->depth++;
			walk(w, p->other, at,
			    p->woken_ns < end ? p->woken_ns : end);
			w->depth--;
			w->waiter = waiter;
			continue;
		}
		at = p->begin_ns > from_ns ? p->begin_ns : from_ns;
		cause_interval(w, p, at, end);
	}
}

void
threads_walk(struct explainer *ex, const struct claim *like, int64_t from_ns,
    int64_t to_ns)
{
	struct thread_walk w = {.ex = ex, .like = like, .from_ns = from_ns};

	walk(&w, like->tid, from_ns, to_ns);
}
