/* cause_peer.c: a sleep that another thread of the process ended.
 *
 * If the sleep was for a lock (waits.c), the waker held the lock; before the
 * waker, the thread that had woken the waker held it, and so on.  If not, the
 * sleeper waited for what the last thread of a chain of waits did (root.c): if
 * that thread received from elsewhere, or keeps timers, there was no lock. */
#include "talechain/claims/explainer.h"

#define TURNS_MAX 200 /* holders of a lock, one after the other */
/* A holder had waited for the lock if another thread ended a sleep of at least
 * this length. */
#define TURN_NS (100 * NS_PER_US)

/* The last sleep of a holder, within a wait, that another thread ended. */
static const struct thread_interval *
turn_before(const struct explainer *ex, uint32_t holder,
    const struct thread_interval *wait, int64_t end)
{
	const struct thread_interval *p = NULL, *found = NULL;

	while ((p = threads_next(ex, holder, p, end)) != NULL)
		if (p->state == THREAD_SLEEP && thread_is_peer(ex, p) &&
		    p->other != wait->tid && p->woken_ns > wait->begin_ns &&
		    p->woken_ns < end && p->end_ns - p->begin_ns >= TURN_NS)
			found = p;
	return found;
}

/* Claim a wait for a lock, one piece for each holder. */
static void
claim_turns(const struct thread_walk *w, const struct thread_interval *p,
    struct claim c)
{
	const struct thread_interval *turn = NULL;
	int64_t begin_ns = c.begin_ns;

	for (int i = 0; i < TURNS_MAX && c.end_ns > begin_ns; i++) {
		turn = turn_before(w->ex, c.other, p, c.end_ns);
		if (turn == NULL || turn->woken_ns <= begin_ns)
			break;
		c.begin_ns = turn->woken_ns;
		claim_add(w->ex, &c);
		c.end_ns = turn->woken_ns;
		c.other = turn->other;
	}
	c.begin_ns = begin_ns;
	claim_add(w->ex, &c);
}

/* The call by which a chain's last thread received from elsewhere, if the
 * thread slept for these bytes for half of the time or more; else NULL. */
static const struct talechain_event *
handed_over(const struct thread_walk *w, const struct root *r)
{
	const struct thread_interval *q = NULL, *found = NULL;

	while ((q = threads_next(w->ex, r->tid[r->count - 1], q, r->end_ns)) !=
	       NULL)
		if (q->state == THREAD_SLEEP && q->woken_ns != NEVER &&
		    q->woken_ns > r->begin_ns && q->woken_ns <= r->end_ns)
			found = q;
	if (found == NULL)
		return NULL;
	if (interval_within_ns(found, r->begin_ns, found->woken_ns) <
	    (r->end_ns - r->begin_ns) / 2)
		return NULL;
	return wait_peer(w->ex, w->like->attempt, found);
}

/* Set in a claim why a thread waited for another, if no lock is known. */
static void
claim_woken(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	struct root r;
	enum root_timer timer;

	root_find(w->ex, &r, p->tid, p->other, p->begin_ns, p->woken_ns);
	c->peer = handed_over(w, &r);
	if (c->peer != NULL) {
		c->cause = TALE_CAUSE_SLEEP;
		c->sender = wait_sender(w->ex, p, c->peer);
		return;
	}
	timer = root_timer(w->ex, &r);
	if (timer == ROOT_NO_TIMER)
		return;
	if (waits_by_stack(w->ex, p) == WAIT_MONITOR) {
		c->note = "a Java monitor";
		return;
	}
	c->timer = true;
	c->likely = true;
	if (timer == ROOT_KEEPS_TIMERS)
		c->cause = TALE_CAUSE_SLEEP;
}

void
cause_peer(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	static const char *const locks[] = {
	    [WAIT_LOCK] = "a lock",
	    [WAIT_INTERPRETER] = "the interpreter lock",
	    [WAIT_MONITOR] = "a Java monitor",
	};

	c->cause = TALE_CAUSE_LOCK;
	c->other = p->other;
	c->note = locks[p->wait];
	if (p->wait == WAIT_OTHER && p->woken_ns != NEVER)
		claim_woken(w, p, c);
	if (thread_is(w->ex, p->other, ROLE_COMPILER))
		c->cause = TALE_CAUSE_CLASS_LOADING;
	if (thread_is(w->ex, p->other, ROLE_VM))
		c->cause = TALE_CAUSE_SAFEPOINT;
	c->likely |= (p->other == 0 && p->wait != WAIT_MONITOR) ||
		     c->cause == TALE_CAUSE_SAFEPOINT;
	if (p->wait != WAIT_OTHER && p->other != 0)
		claim_turns(w, p, *c);
	else
		claim_add(w->ex, c);
}
