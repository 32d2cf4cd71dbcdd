/* walk.c: the way of a request through the threads of a server.
 *
 * The walk goes backwards from the moment the request left its last thread.
 * What a thread did is claimed (cause_thread.c).  Where it slept until a thread
 * of its own process woke it, it waited either for that thread's part of the
 * same request or for something that thread had: a lock, CPython's interpreter.
 * In the first case the walk goes through the other thread, from the wake-up
 * back to the begin of the sleep, and there back to the sleeper: the request
 * stays with the thread that received it until that hands work over.
 *
 * A wake-up alone hands nothing over, since to release a lock is a wake-up too:
 * two threads that take turns wake each other.  Work was handed over to a
 * thread that was idle when the request came, that the sleeper woke (or a
 * thread that it had woken so), and that then woke the sleeper.  A thread that
 * waited for its turn was not idle; one that was busy with other work is a
 * thread that was waited for.  A thread that hands work over and computes on
 * has the request until it sleeps: what the other waited for meanwhile, in
 * parallel, delayed nothing.
 *
 * A runtime like Go's moves its work between threads: one that was idle and is
 * woken may go on with work of its own.  The walk goes through it as well, as
 * that is how the response came about, but what it computes is waited for and
 * not called the request's.
 *
 * This is the critical path of task graphs; we differ in that the path leaves a
 * thread only if it comes back. */
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

/* True if a thread of the same process that takes part ended a sleep. */
static bool
ended_by_peer(const struct explainer *ex, const struct thread_interval *p)
{
	return p->state == THREAD_SLEEP && p->woken_ns != NEVER &&
	       p->wait == WAIT_OTHER && thread_is_peer(ex, p) &&
	       tale_thread_find(ex->t, p->other) != NULL &&
	       !thread_is(ex, p->other, ROLE_COMPILER) &&
	       !thread_is(ex, p->other, ROLE_VM);
}

/* The sleep in which a thread was idle as the leg began, or NULL. */
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

/* True if a thread got work from another: it was idle as the leg began, and was
 * woken then by that thread, or by one that had got work from it. */
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

/* When a thread was last woken by one that it got work from. */
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

/* When a thread first slept from a moment on: until then it worked on the
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

/* True if the request was with the thread that ended a sleep; *since: from when
 * on. */
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
