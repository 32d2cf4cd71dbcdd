/* cause_thread.c: from what a thread did to why the request waited.
 *
 * A thread that ran was at work; a ready thread waited for a CPU.  A thread
 * that slept until another thread of its process woke it waited for the waker
 * (cause_peer.c). */

#include "base/array.h"
#include "talechain/claims/explainer.h"
#include "talechain/events/events.h"

#define SOFTIRQ_NET_RX 3
#define SOFTIRQ_TASKLET 6
#define SOFTIRQ_HRTIMER 8
/* No CPU takes longer to leave idle; a thread that waits longer is kept off. */
#define IDLE_LONGEST_NS (10 * NS_PER_MS)
#define EITHER_NS (200 * NS_PER_US) /* shorter runs are not checked */
/* The kernel limits softirqs to about this.  A longer one may have had no CPU:
 * not all hosts report what they take from a virtual one. */
#define SOFTIRQ_LONGEST_NS NS_PER_MS

/* The event that ended a CPU's last idle time in [begin, end], or NULL. */
static const struct talechain_event *
idle_before(const struct explainer *ex, int cpu, int64_t begin, int64_t end)
{
	const struct talechain_event *v, *found = NULL;
	size_t i, last = entry_from(ex->t, end + 1);

	for (i = entry_from(ex->t, begin); i < last; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->type == TALECHAIN_IDLE && (int)v->cpu == cpu)
			found = v;
	}
	return found;
}

/* True if a sleep in the middle of the response was for room in the socket.  A
 * softirq ends such a sleep: it handles a receiver's ACK, or TCP's own timers
 * (pacing, ACKs held back on this machine).  A thread's own timers run in
 * interrupts. */
static bool
is_full_socket(const struct thread_walk *w, const struct thread_interval *p)
{
	const struct chain_attempt *a = &w->ex->chain.attempt[w->like->attempt];

	return a->begun != NEVER && p->begin_ns >= a->begun &&
	       p->tid == a->sender && p->woken_ns != NEVER &&
	       p->context == TALECHAIN_CONTEXT_SOFTIRQ &&
	       (p->vector == SOFTIRQ_NET_RX || p->vector == SOFTIRQ_TASKLET ||
		   p->vector == SOFTIRQ_HRTIMER);
}

/* True if, at a moment, the last bytes for the client waited for the client to
 * read. */
static bool
is_client_full(const struct explainer *ex, int64_t ns)
{
	const struct event_query q = {
	    .cookie = ex->t->cookie[TALE_SOCKET_CLIENT],
	    .type = TALECHAIN_SOCK_SEND,
	    .from = NEVER,
	    .to = ns - 1};
	const struct tale_entry *e = query_last(ex->t, &q);

	return e != NULL &&
	       tale_low(e->slot.event.arg[2]) == TALECHAIN_HELD_WINDOW;
}

/* Claim a sleep whose reason is not observed: timers ended it, which may be the
 * program's own, a Java monitor's or an interpreter lock's; or no event shows
 * the end of its wait in futex. */
static void
claim_either(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	c->cause = TALE_CAUSE_NOT_OBSERVED;
	if (p->wait == WAIT_TURNS)
		c->note = "slept until timers of 5 ms woke it: its own, or "
			  "those of an interpreter's lock";
	else if (p->woken_ns == NEVER)
		c->note = "slept in futex(); no event shows why";
	else
		c->note = "slept until timers woke it: its own, or those of a "
			  "Java monitor that was then free";
	claim_add(w->ex, c);
}

/* True if a system call may wait until a child has called exec: vfork, or
 * clone, with which posix_spawn does so. */
static bool
is_vfork(unsigned call)
{
#ifdef SYS_vfork
	if (call == SYS_vfork + 1)
		return true;
#endif
	return call == SYS_clone + 1 || call == SYS_clone3 + 1;
}

/* True if an uninterruptible wait was for a lock: the kernel's stack shows one,
 * or there is no stack and the system call may wait for locks. */
static bool
is_kernel_lock(const struct thread_walk *w, const struct thread_interval *p)
{
	static const char *const locks[] = {"mutex", "rwsem", "down_read",
	    "down_write", "__down", "percpu_down", "lock_page", "folio_wait",
	    "wait_on_bit_lock", "lock_mm", "rtlock", "lock_sock"};
	bool known;

	if (stack_find(w->ex, p->tid, p->end_ns, true, locks, COUNT(locks),
		&known) >= 0)
		return true;
	return !known && !is_vfork(p->call) && p->call != SYS_membarrier + 1;
}

/* Claim a sleep that a timer or bytes ended, with a rank above pauses: the
 * sleep lasts as long even if the whole process is paused meanwhile. */
static void
claim_until_woken(const struct thread_walk *w, const struct thread_interval *p,
    struct claim c)
{
	if (p->woken_ns == NEVER || p->other != 0 ||
	    p->context == TALECHAIN_CONTEXT_TASK)
		return;
	c.rank = RANK_ASLEEP;
	if (c.end_ns > p->woken_ns)
		c.end_ns = p->woken_ns;
	if (c.begin_ns < c.end_ns)
		claim_add(w->ex, &c);
}

/* Claim a sleep that no thread of the process ended. */
static void
claim_asleep(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	static const char *const contexts[] = {
	    NULL, NULL, "a timer or another interrupt"};

	c->cause = TALE_CAUSE_SLEEP;
	c->other = p->other;
	if (p->state == THREAD_BLOCKED && is_kernel_lock(w, p)) {
		c->cause = TALE_CAUSE_LOCK;
		c->other = 0;
	} else if (is_full_socket(w, p)) {
		c->cause = TALE_CAUSE_WINDOW;
		c->likely = true; /* the waker is taken for an ACK */
		c->note = "the response";
		/* Tailor stops reading while its client does not read. */
		if (is_client_full(w->ex, p->end_ns)) {
			c->attempt = -1;
			c->tid = 0;
		}
	} else if (p->woken_ns != NEVER &&
		   p->context == TALECHAIN_CONTEXT_SOFTIRQ) {
		c->note = talechain_softirq_name(p->vector);
	} else if (p->woken_ns != NEVER && p->context < 3) {
		c->note = contexts[p->context];
	}
	if (c->cause == TALE_CAUSE_SLEEP)
		c->peer = wait_peer(w->ex, w->like->attempt, p);
	if (c->cause == TALE_CAUSE_SLEEP)
		c->sender = wait_sender(w->ex, p, c->peer);
	/* io_uring may receive one request while the program waits for what
	 * another request needs. */
	c->likely |=
	    p->call == SYS_io_uring_enter + 1 && w->ex->chain.in_flight > 1;
	claim_add(w->ex, c);
	if (c->cause == TALE_CAUSE_SLEEP)
		claim_until_woken(w, p, *c);
}

static void
claim_sleep(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	if (w->like->attempt < 0)
		return; /* Tailor sleeps when it has nothing to do */
	c->cpu = -1;
	if (w->like->cause == TALE_CAUSE_BACKEND_QUEUE) {
		/* The thread still has the other request. */
		if (w->like->value != 0)
			claim_add(w->ex, c);
		if (w->like->value != 0 || p->begin_ns <= w->from_ns)
			return; /* not woken for this request yet */
	}
	if (p->state == THREAD_SLEEP &&
	    (p->wait == WAIT_EITHER || p->wait == WAIT_TURNS))
		claim_either(w, p, c);
	else if (p->state == THREAD_SLEEP &&
		 (p->wait != WAIT_OTHER || thread_is_peer(w->ex, p)))
		cause_peer(w, p, c);
	else if (w->like->cause == TALE_CAUSE_BACKEND_QUEUE &&
		 other_is_served(w->ex, c->attempt, p->tid, p->begin_ns))
		claim_add(w->ex, c); /* it sleeps for the other request */
	else
		claim_asleep(w, p, c);
}

/* Read into a claim the fault, reclaim or softirq of an event, which held up a
 * thread on its CPU.  False: the event is none of these. */
static bool
held_up(const struct talechain_event *v, struct claim *c)
{
	c->cpu = -1;
	c->value = 0;
	switch (v->type) {
	case TALECHAIN_PAGEFAULT:
		c->rank = RANK_FAULT;
		c->cause = TALE_CAUSE_PAGE_FAULT;
		return true;
	case TALECHAIN_RECLAIM:
		c->rank = RANK_RECLAIM;
		c->cause = TALE_CAUSE_RECLAIM;
		c->value = v->arg[0];
		return true;
	case TALECHAIN_SOFTIRQ:
		c->rank = RANK_SOFTIRQ;
		c->cause = TALE_CAUSE_SOFTIRQ;
		c->likely |= tale_event_latency_ns(v) > SOFTIRQ_LONGEST_NS;
		c->value = v->arg[0];
		c->cpu = v->cpu <= INT16_MAX ? (int)v->cpu : -1;
		return true;
	}
	return false;
}

static void
claim_faults(
    struct explainer *ex, const struct claim *like, int64_t from, int64_t to)
{
	const struct talechain_event *v;
	struct claim c = *like;
	int64_t end, begin, fault_ended = NEVER;
	size_t i, last;

	c.other = 0;
	c.last = 0;
	c.call = 0;
	c.peer = NULL;
	c.sender = NULL;
	c.note = NULL;
	if (__builtin_add_overflow(to, ex->longest_ns + 1, &end))
		end = INT64_MAX;
	last = entry_from(ex->t, end);
	for (i = entry_from(ex->t, from); i < last; i++) {
		v = &ex->t->entry[i].slot.event;
		c.likely = like->likely;
		if (v->tid != like->tid || !held_up(v, &c))
			continue;
		end = moment_at(ex->t, ex->t->entry[i].at);
		begin = end - tale_event_latency_ns(v);
		if (begin >= to || end <= from)
			continue;
		if (v->type == TALECHAIN_PAGEFAULT) {
			if (fault_ended != NEVER && fault_ended < begin &&
			    begin - fault_ended < TALE_FAULT_EDGE_NS)
				begin = fault_ended;
			fault_ended = end;
		}
		c.begin_ns = begin > from ? begin : from;
		c.end_ns = end < to ? end : to;
		claim_add(ex, &c);
	}
}

/* Claim a thread that was runnable while its CPU idled.  Something that no
 * event names kept it from running: the idle task takes no CPU from another. */
static void
claim_kept_off(struct claim *c)
{
	c->cause = TALE_CAUSE_NOT_OBSERVED;
	c->note =
	    "was runnable while its CPU was idle (a CPU quota can cause that)";
}

/* Claim a wait for a CPU, one piece for each turn of a thread that had it. */
static void
claim_behind(const struct thread_walk *w, const struct thread_interval *p,
    const struct claim *like)
{
	struct cpu_turns turns;
	struct claim c;
	struct cpu_turn turn;

	turns_begin(w->ex, p, &turns);
	while (turns_next(w->ex, &turns, &turn)) {
		c = *like;
		c.other = turn.tid;
		c.last = turn.last;
		c.unseen = turn.unseen;
		/* A compiler thread of another process is like any other
		 * thread. */
		if (c.attempt >= 0 &&
		    thread_is(w->ex, c.other, ROLE_COMPILER) &&
		    thread_attempt(w->ex, c.other) == c.attempt)
			c.cause = TALE_CAUSE_CLASS_LOADING;
		if (turn.batch)
			c.cause = TALE_CAUSE_BORROWED_LANE;
		if (claim_cut(&c, turn.begin_ns, turn.end_ns))
			claim_add(w->ex, &c);
	}
}

/* Claim a ready thread's wait for a CPU that first had to leave idle. */
static void
claim_idle(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	const struct talechain_event *idle;

	if (p->end_ns - p->begin_ns > IDLE_LONGEST_NS) {
		claim_kept_off(c);
		return;
	}
	c->cause = TALE_CAUSE_IDLE_WAKEUP;
	idle = idle_before(w->ex, p->cpu, p->begin_ns - NS_PER_MS, p->end_ns);
	if (idle != NULL) {
		c->value = idle->arg[0];
		c->note = "idle";
	}
}

/* Claim a time in which a thread could not run: it had no CPU or was
 * stopped. */
static void
claim_off_cpu(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	c->rank = RANK_CPU;
	c->cause = interval_cause(w->ex, p);
	if ((p->state == THREAD_READY || p->state == THREAD_PREEMPTED) &&
	    p->other != 0) {
		claim_behind(w, p, c);
		return;
	}
	if (p->state == THREAD_READY)
		claim_idle(w, p, c);
	else if (p->state == THREAD_PREEMPTED)
		claim_kept_off(c);
	claim_add(w->ex, c);
}

/* The last sleep of a thread within the leg before an interval, or NULL. */
static const struct thread_interval *
slept_before(const struct thread_walk *w, const struct thread_interval *p)
{
	const struct thread_interval *k = NULL, *last = NULL;

	while ((k = threads_next(w->ex, p->tid, k, p->begin_ns)) != NULL)
		if (k->state == THREAD_SLEEP && k->end_ns > w->from_ns)
			last = k;
	return last;
}

/* The other work for which a thread may compute after a sleep, as a note; NULL:
 * only for this request.  Either the thread took another request before and has
 * not responded to it.  Or it is an event loop: its timers and callbacks may
 * serve any request in flight, also one taken long before, or none. */
static const char *
either_of(const struct thread_walk *w, const struct thread_interval *p)
{
	const struct thread_interval *sleep;

	if (w->depth > 0 || w->waiter != NULL || w->like->attempt < 0 ||
	    w->like->cause != TALE_CAUSE_WORK ||
	    p->end_ns - p->begin_ns < EITHER_NS ||
	    (sleep = slept_before(w, p)) == NULL)
		return NULL;
	if ((w->ex->chain.in_flight > 1 && call_is_loop(sleep->call)) ||
	    other_is_with(w->ex, w->like->attempt, p->tid, p->begin_ns))
		return "for this request or for another that it had";
	return call_is_loop(sleep->call)
		   ? "for this request or for other work of its loop"
		   : NULL;
}

/* Claim computing of a thread whose runtime moves work between threads.  The
 * work is the request's if the thread read the request, or was woken and then
 * sent the response; other threads are only seen to compute.  False: the work
 * is the request's, and nothing was claimed. */
static bool
claim_moved(const struct thread_walk *w, const struct thread_interval *p,
    struct claim *c)
{
	if (c->cause != TALE_CAUSE_WORK || !thread_moves_work(w->ex, p->tid))
		return false;
	if (w->waiter != NULL) {
		c->cause = TALE_CAUSE_LOCK;
		c->tid = w->waiter->tid;
		c->call = w->waiter->call;
		c->other = p->tid;
		c->note = NULL;
	} else if (p->tid == w->ex->chain.attempt[c->attempt].taker ||
		   (w->depth == 0 && slept_before(w, p) != NULL)) {
		return false;
	} else {
		c->cause = TALE_CAUSE_NOT_OBSERVED;
		c->note =
		    "computed, and Go moves work between threads: no event "
		    "shows for which request";
	}
	claim_add(w->ex, c);
	return true;
}

/* True if a thread waits for something, not for a CPU. */
static bool
is_wait(enum thread_state state)
{
	return state == THREAD_SLEEP || state == THREAD_BLOCKED ||
	       state == THREAD_DISK;
}

void
cause_interval(const struct thread_walk *w, const struct thread_interval *p,
    int64_t from_ns, int64_t to_ns)
{
	struct claim c = *w->like;
	const char *either;

	c.tid = p->tid;
	c.cpu = p->state == THREAD_RUN ? -1 : p->cpu;
	c.rank = RANK_THREAD;
	c.begin_ns = from_ns;
	c.end_ns = to_ns;
	c.call = is_wait(p->state) ? p->call : 0;
	c.likely |= p->inferred;
	if (p->state != THREAD_RUN)
		c.note = NULL;
	if (p->doubt != NULL) {
		c.rank = RANK_CONTRADICTION;
		c.cause = TALE_CAUSE_NOT_OBSERVED;
		c.note = p->doubt;
		claim_add(w->ex, &c);
		return;
	}
	switch (p->state) {
	case THREAD_RUN:
		if (claim_moved(w, p, &c))
			return;
		either = either_of(w, p);
		if (either != NULL) {
			c.likely = true;
			c.note = either;
		}
		claim_add(w->ex, &c);
		c.cpu = p->cpu;
		cause_taken(w->ex, &c);
		c.cpu = -1;
		break;
	case THREAD_SLEEP:
	case THREAD_BLOCKED:
		claim_sleep(w, p, &c);
		break;
	case THREAD_DISK:
		c.cause = TALE_CAUSE_DISK;
		claim_add(w->ex, &c);
		break;
	case THREAD_READY:
	case THREAD_PREEMPTED:
	case THREAD_THROTTLED:
	case THREAD_STOPPED:
		claim_off_cpu(w, p, &c);
		break;
	}
	claim_faults(w->ex, &c, from_ns, to_ns);
}
