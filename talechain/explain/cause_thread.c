/* cause_thread.c: from what a thread did to why the request waited.
 *
 * A thread that ran was at work; one that was ready waited for a CPU.  One that
 * slept until a thread of its process woke it waited for that thread.  Where
 * the sleep shows that it was for a lock (story_waits.c), the thread that gave
 * the lock up had it from the one that had woken it, and so on. */

#include "talechain/explain/explainer.h"

#define SOFTIRQ_NET_RX 3
#define SOFTIRQ_TASKLET 6
#define SOFTIRQ_HRTIMER 8
#define NEAR_MAX 1000 /* events looked at around a sleep */
/* No CPU takes longer to leave idle; what has to wait longer may not run. */
#define IDLE_LONGEST_NS (10 * NS_PER_MS)
#define TURNS_MAX 200 /* holders of a lock, one after the other */
/* A holder that another woke after a longer sleep had waited for the lock. */
#define TURN_NS (100 * NS_PER_US)

/* How the last idle time of a CPU ended, before a thread ran there. */
static const struct talechain_event *
idle_before(const struct explainer *ex, int cpu, int64_t begin, int64_t end)
{
	const struct talechain_event *v, *found = NULL;
	size_t i, last = entry_from(ex, end + 1);

	for (i = entry_from(ex, begin); i < last; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->type == TALECHAIN_IDLE && (int)v->cpu == cpu)
			found = v;
	}
	return found;
}

/* Whether a sleep was for room in the socket, in the middle of the response:
 * the receiver's ACKs end it, as they come in or as TCP's own timers (pacing,
 * ACKs held back on this machine) let them.  A thread's own timers run in
 * interrupts. */
static bool
is_full_socket(const struct walk *w, const struct thread_interval *p)
{
	const struct story_attempt *a = &w->ex->chain.attempt[w->like->attempt];

	return a->begun != NEVER && p->begin_ns >= a->begun &&
	       p->tid == a->sender && p->woken_ns != NEVER &&
	       p->context == TALECHAIN_CONTEXT_SOFTIRQ &&
	       (p->vector == SOFTIRQ_NET_RX || p->vector == SOFTIRQ_TASKLET ||
		   p->vector == SOFTIRQ_HRTIMER);
}

/* Whether, at a moment, the last bytes for the client waited for it to read. */
static bool
is_client_full(const struct explainer *ex, int64_t ns)
{
	uint64_t ours = ex->t->cookie[TALE_SOCKET_CLIENT];
	size_t i = entry_from(ex, ns);
	size_t first = i > NEAR_MAX ? i - NEAR_MAX : 0;
	const struct talechain_event *v;

	for (; ours != 0 && i > first; i--) {
		v = &ex->t->entry[i - 1].slot.event;
		if (v->type == TALECHAIN_SOCK_SEND && v->arg[0] == ours)
			return tale_low(v->arg[2]) == TALECHAIN_HELD_WINDOW;
	}
	return false;
}

/* The last sleep of a holder, within a wait, that another thread ended. */
static const struct thread_interval *
turn_before(const struct explainer *ex, uint32_t holder,
    const struct thread_interval *wait, int64_t end)
{
	size_t count;
	const struct thread_interval *p = threads_of(ex, holder, &count);
	const struct thread_interval *found = NULL;

	for (; count > 0 && p->begin_ns < end; count--, p++)
		if (p->state == THREAD_SLEEP && thread_is_peer(ex, p) &&
		    p->other != wait->tid && p->woken_ns > wait->begin_ns &&
		    p->woken_ns < end && p->end_ns - p->begin_ns >= TURN_NS)
			found = p;
	return found;
}

/* Claim a wait for a lock, piece by piece of those that had it. */
static void
claim_turns(
    const struct walk *w, const struct thread_interval *p, struct claim c)
{
	const struct thread_interval *turn = NULL;
	int64_t begin_ns = c.begin_ns;

	for (int i = 0; i < TURNS_MAX && c.end_ns > begin_ns; i++) {
		turn = turn_before(w->ex, c.other, p, c.end_ns);
		if (turn == NULL || turn->woken_ns <= begin_ns)
			break;
		c.begin_ns = turn->woken_ns;
		path_add(w->ex, &c);
		c.end_ns = turn->woken_ns;
		c.other = turn->other;
	}
	c.begin_ns = begin_ns;
	path_add(w->ex, &c);
}

/* A thread waited for another, or for something that another had. */
static void
claim_peer(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	static const char *const locks[] = {
	    [WAIT_LOCK] = "a lock",
	    [WAIT_INTERPRETER] = "the interpreter lock",
	    [WAIT_MONITOR] = "a Java monitor",
	};

	c->cause = TALE_CAUSE_LOCK;
	c->other = p->other;
	c->note = locks[p->wait];
	if (thread_is_compiler(w->ex, p->other))
		c->cause = TALE_CAUSE_CLASS_LOADING;
	if (thread_is_vm(w->ex, p->other))
		c->cause = TALE_CAUSE_SAFEPOINT;
	c->likely |= (p->other == 0 && p->wait != WAIT_MONITOR) ||
		     c->cause == TALE_CAUSE_SAFEPOINT;
	if (p->wait != WAIT_OTHER && p->other != 0)
		claim_turns(w, p, *c);
	else
		path_add(w->ex, c);
}

/* Timers ended it, one after the other, as those of a program that sleeps do,
 * and those of a thread that waits for a Java monitor; or the end of a wait in
 * futex is in no event. */
static void
claim_either(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	c->cause = TALE_CAUSE_NOT_OBSERVED;
	c->note = p->woken_ns == NEVER
		      ? "slept in futex, and what for is in no event"
		      : "slept until timers woke it: its own, or those of a "
			"Java monitor that was then free";
	path_add(w->ex, c);
}

/* A sleep that no thread of the process ended. */
static void
claim_asleep(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	static const char *const contexts[] = {
	    NULL, NULL, "a timer or another interrupt"};

	c->cause = TALE_CAUSE_SLEEP;
	c->other = p->other;
	if (p->state == THREAD_BLOCKED) {
		c->cause = TALE_CAUSE_LOCK;
		c->other = 0;
	} else if (is_full_socket(w, p)) {
		c->cause = TALE_CAUSE_WINDOW;
		c->likely = true; /* what woke it is taken for an ACK */
		c->note = "the response";
		/* Tailor stops reading while its client does not read. */
		if (is_client_full(w->ex, p->end_ns)) {
			c->attempt = -1;
			c->tid = 0;
		}
	} else if (p->woken_ns != NEVER &&
		   p->context == TALECHAIN_CONTEXT_SOFTIRQ) {
		c->note = softirq_name(p->vector);
	} else if (p->woken_ns != NEVER && p->context < 3) {
		c->note = contexts[p->context];
	}
	if (c->cause == TALE_CAUSE_SLEEP)
		c->peer = wait_peer(w->ex, w->like->attempt, p);
	path_add(w->ex, c);
}

static void
claim_sleep(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	if (w->like->attempt < 0)
		return; /* Tailor sleeps when it has nothing to do */
	c->cpu = -1;
	if (w->like->cause == TALE_CAUSE_BACKEND_QUEUE) {
		/* Whatever it did, it did for the other request. */
		if (w->like->value != 0)
			path_add(w->ex, c);
		if (w->like->value != 0 || p->begin_ns <= w->from_ns)
			return; /* it was not woken for this one yet */
	}
	if (p->state == THREAD_SLEEP && p->wait == WAIT_EITHER)
		claim_either(w, p, c);
	else if (p->state == THREAD_SLEEP &&
		 (p->wait != WAIT_OTHER || thread_is_peer(w->ex, p)))
		claim_peer(w, p, c);
	else
		claim_asleep(w, p, c);
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
	c.call = 0;
	c.peer = NULL;
	c.note = NULL;
	if (__builtin_add_overflow(to, ex->longest_ns + 1, &end))
		end = INT64_MAX;
	last = entry_from(ex, end);
	for (i = entry_from(ex, from); i < last; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->tid != like->tid || (v->type != TALECHAIN_PAGEFAULT &&
					       v->type != TALECHAIN_SOFTIRQ))
			continue;
		end = moment_at(ex, ex->t->entry[i].at);
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
		c.cpu = -1;
		if (v->type == TALECHAIN_PAGEFAULT) {
			c.rank = RANK_FAULT;
			c.cause = TALE_CAUSE_PAGE_FAULT;
			c.value = 0;
		} else {
			c.rank = RANK_SOFTIRQ;
			c.cause = TALE_CAUSE_SOFTIRQ;
			c.value = v->arg[0];
			c.cpu = v->cpu <= INT16_MAX ? (int)v->cpu : -1;
		}
		path_add(ex, &c);
	}
}

/* A thread was runnable while its CPU idled.  The idle task takes no CPU from
 * another: something forbade the thread to run, which no event names. */
static void
claim_kept_off(struct claim *c)
{
	c->cause = TALE_CAUSE_NOT_OBSERVED;
	c->note = "was runnable and its CPU idle (a CPU quota does that)";
}

/* A thread was ready, and the CPU had another, or had to leave idle. */
static void
claim_ready(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	const struct talechain_event *idle;

	c->cause = TALE_CAUSE_RUNQ;
	c->other = p->other;
	if (p->other != p->last)
		c->note = "mostly ran";
	if (p->other != 0)
		return;
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

/* A thread could have run, and had no CPU. */
static void
claim_off_cpu(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	c->rank = RANK_CPU;
	switch ((int)p->state) {
	case THREAD_READY:
		claim_ready(w, p, c);
		break;
	case THREAD_PREEMPTED:
		c->cause = TALE_CAUSE_PREEMPTED;
		c->other = p->other;
		if (p->other == 0)
			claim_kept_off(c);
		break;
	case THREAD_THROTTLED:
		c->cause = TALE_CAUSE_QUOTA;
		break;
	case THREAD_STOPPED:
		c->cause = TALE_CAUSE_STOPPED;
		break;
	}
	/* Another process's compiler is a process like any other. */
	if (c->attempt >= 0 && thread_is_compiler(w->ex, c->other) &&
	    thread_attempt(w->ex, c->other) == c->attempt)
		c->cause = TALE_CAUSE_CLASS_LOADING;
	path_add(w->ex, c);
}

/* Whether a thread slept within the leg before an interval. */
static bool
slept_before(const struct walk *w, const struct thread_interval *p)
{
	size_t count;
	const struct thread_interval *k = threads_of(w->ex, p->tid, &count);

	for (; count > 0 && k < p; count--, k++)
		if (k->state == THREAD_SLEEP && k->end_ns > w->from_ns)
			return true;
	return false;
}

/* What a thread computes whose runtime moves work between threads.  It is the
 * request's where the thread read it, or was woken and then sent the response;
 * of others only that they computed is seen.  False: it is the request's. */
static bool
claim_moved(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
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
		   (w->depth == 0 && slept_before(w, p))) {
		return false;
	} else {
		c->cause = TALE_CAUSE_NOT_OBSERVED;
		c->note = "computed, and Go moves work between threads: for "
			  "which request is in no event";
	}
	path_add(w->ex, c);
	return true;
}

/* Whether a thread waits for something, not for a CPU. */
static bool
is_wait(enum thread_state state)
{
	return state == THREAD_SLEEP || state == THREAD_BLOCKED ||
	       state == THREAD_DISK;
}

void
cause_interval(const struct walk *w, const struct thread_interval *p,
    int64_t from_ns, int64_t to_ns)
{
	struct claim c = *w->like;

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
		path_add(w->ex, &c);
		return;
	}
	switch (p->state) {
	case THREAD_RUN:
		if (claim_moved(w, p, &c))
			return;
		path_add(w->ex, &c);
		c.cpu = p->cpu;
		cause_steal(w->ex, &c);
		c.cpu = -1;
		break;
	case THREAD_SLEEP:
	case THREAD_BLOCKED:
		claim_sleep(w, p, &c);
		break;
	case THREAD_DISK:
		c.cause = TALE_CAUSE_DISK;
		path_add(w->ex, &c);
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
