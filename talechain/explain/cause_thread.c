/*
 * cause_thread.c: from what a thread did to why the request waited.
 *
 * The walk goes backwards from the moment the request left its last thread.
 * A thread that ran is at work; one that was ready waited for a CPU.  One that
 * slept until a thread of its own process woke it waited either for the
 * other's part of the same request (the work was handed over, and the walk
 * goes on with that thread) or for a lock that the other held.  Handed over
 * means that the sleeper had woken the other before it slept, or had not yet
 * begun.  This is the critical path of task graphs; we differ in that the path
 * leaves a thread only if it can come back.
 */
#include <string.h>

#include "talechain/explain/explainer.h"

#define SOFTIRQ_NET_RX 3
#define SOFTIRQ_TASKLET 6
#define SOFTIRQ_HRTIMER 8
#define NEAR_MAX 1000 /* events looked at around a sleep */
/* No CPU takes longer to leave idle; what has to wait longer may not run. */
#define IDLE_LONGEST_NS (10 * NS_PER_MS)
#define STEPS_MAX 20000	  /* intervals a walk goes through */
#define CHECKS_MAX 100000 /* and reads to judge wake-ups, in all */

struct walk {
	struct explainer *ex;
	const struct claim *like;
	int64_t from;
	uint32_t visited[TALE_THREADS]; /* threads the path has been in */
	unsigned visits;
	int checks;
};

/* The last interval of a thread that begins before a moment, or NULL. */
static const struct thread_interval *
interval_before(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	size_t count, low = 0, high;
	const struct thread_interval *p = threads_of(ex, tid, &count);

	for (high = count; low < high;) {
		size_t middle = (low + high) / 2;

		if (p[middle].begin_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &p[low - 1] : NULL;
}

/*
 * Whether a sleeper had handed its work to the thread that woke it: that
 * thread was asleep, and woken by the sleeper, when the sleep began.  Its own
 * sleep since then was part of the work.
 */
static bool
handed_over(struct walk *w, const struct thread_interval *sleep)
{
	const struct thread_interval *p;
	int64_t at = sleep->woken_ns;

	while (at > w->from && w->checks++ < CHECKS_MAX) {
		p = interval_before(w->ex, sleep->other, at);
		if (p == NULL)
			return false;
		if (p->state == THREAD_SLEEP && p->other == sleep->tid)
			return true;
		if (p->state == THREAD_SLEEP && p->begin_ns < sleep->begin_ns &&
		    tale_thread_find(w->ex->t, p->other) == NULL)
			return false; /* it did other work */
		at = p->begin_ns;
	}
	return false;
}

/* HotSpot's compilers, by the names it gives them. */
static bool
is_compiler(const struct explainer *ex, uint32_t tid)
{
	char name[40];

	if (tid == 0)
		return false;
	thread_name(ex, tid, name, sizeof(name));
	return strncmp(name, "C1 Compiler", 11) == 0 ||
	       strncmp(name, "C2 Compiler", 11) == 0;
}

/* Whether the path goes on with the thread that woke a sleeper. */
static bool
goes_on_with_waker(struct walk *w, const struct thread_interval *p)
{
	const struct tale_thread *self = tale_thread_find(w->ex->t, p->tid);
	const struct tale_thread *waker = tale_thread_find(w->ex->t, p->other);
	unsigned i;

	if (p->state != THREAD_SLEEP || p->woken_ns == NEVER || self == NULL ||
	    waker == NULL || waker->tid == self->tid ||
	    waker->pid != self->pid || p->woken_ns <= w->from ||
	    is_compiler(w->ex, waker->tid))
		return false;
	for (i = 0; i < w->visits; i++)
		if (w->visited[i] == waker->tid)
			return true;
	return p->begin_ns <= w->from || handed_over(w, p);
}

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

/*
 * Whether a sleep was for room in the socket, in the middle of the response:
 * the receiver's ACKs end it, as they come in or as TCP's own timers (pacing,
 * ACKs held back on this machine) let them.  A thread's own timers run in
 * interrupts.
 */
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

static void
claim_asleep(
    const struct walk *w, const struct thread_interval *p, struct claim *c)
{
	static const char *const contexts[] = {
	    NULL, NULL, "a timer or another interrupt"};
	const struct tale_thread *self = tale_thread_find(w->ex->t, p->tid);

	c->cause = TALE_CAUSE_SLEEP;
	c->other = p->other;
	if (p->state == THREAD_BLOCKED) {
		c->cause = TALE_CAUSE_LOCK;
		c->other = 0;
	} else if (is_full_socket(w, p)) {
		c->cause = TALE_CAUSE_WINDOW;
		c->note = "the response";
		/* Tailor stops reading while its client does not read. */
		if (is_client_full(w->ex, p->end_ns)) {
			c->attempt = -1;
			c->tid = 0;
		}
	} else if (self != NULL && p->other != 0 && p->other_pid == self->pid) {
		c->cause = TALE_CAUSE_LOCK;
	} else if (p->woken_ns != NEVER &&
		   p->context == TALECHAIN_CONTEXT_SOFTIRQ) {
		c->note = softirq_name(p->vector);
	} else if (p->woken_ns != NEVER && p->context < 3) {
		c->note = contexts[p->context];
	}
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

/*
 * A thread was runnable while its CPU idled.  The idle task takes no CPU from
 * another: something forbade the thread to run, which no event names.
 */
static void
claim_kept_off(struct claim *c)
{
	c->cause = TALE_CAUSE_NOT_OBSERVED;
	c->note = "was runnable and its CPU idle (a CPU quota does that)";
}

/* The claim of one interval, from begin to end of it or of the walk. */
static void
claim_interval(
    const struct walk *w, const struct thread_interval *p, int64_t end)
{
	const struct talechain_event *idle;
	struct claim c = *w->like;

	c.tid = p->tid;
	c.cpu = p->cpu;
	c.rank = RANK_THREAD;
	c.begin_ns = p->begin_ns > w->from ? p->begin_ns : w->from;
	c.end_ns = end;
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
		c.cpu = -1;
		path_add(w->ex, &c);
		c.cpu = p->cpu;
		cause_steal(w->ex, &c);
		c.cpu = -1;
		claim_faults(w->ex, &c, c.begin_ns, c.end_ns);
		return;
	case THREAD_READY:
		c.rank = RANK_CPU;
		c.cause = TALE_CAUSE_RUNQ;
		c.other = p->other;
		if (p->other != 0)
			break;
		if (p->end_ns - p->begin_ns > IDLE_LONGEST_NS) {
			claim_kept_off(&c);
			break;
		}
		c.cause = TALE_CAUSE_IDLE_WAKEUP;
		idle = idle_before(
		    w->ex, p->cpu, p->begin_ns - NS_PER_MS, p->end_ns);
		if (idle != NULL) {
			c.value = idle->arg[0];
			c.note = "idle";
		}
		break;
	case THREAD_PREEMPTED:
		c.rank = RANK_CPU;
		c.cause = TALE_CAUSE_PREEMPTED;
		c.other = p->other;
		if (p->other == 0)
			claim_kept_off(&c);
		break;
	case THREAD_THROTTLED:
		c.rank = RANK_CPU;
		c.cause = TALE_CAUSE_QUOTA;
		break;
	case THREAD_STOPPED:
		c.rank = RANK_CPU;
		c.cause = TALE_CAUSE_STOPPED;
		break;
	case THREAD_DISK:
		c.cause = TALE_CAUSE_DISK;
		break;
	case THREAD_SLEEP:
	case THREAD_BLOCKED:
		if (w->like->attempt < 0)
			return; /* Tailor sleeps when it has nothing to do */
		if (w->like->cause == TALE_CAUSE_BACKEND_QUEUE &&
		    p->begin_ns <= w->from)
			return; /* it was not woken for the request yet */
		c.cpu = -1;
		claim_asleep(w, p, &c);
		break;
	}
	/* For Tailor's own threads a compiler is just another process. */
	if (c.attempt >= 0 && is_compiler(w->ex, c.other))
		c.cause = TALE_CAUSE_CLASS_LOADING;
	path_add(w->ex, &c);
	claim_faults(w->ex, &c, c.begin_ns, c.end_ns);
}

void
threads_walk(struct explainer *ex, const struct claim *like, int64_t from_ns,
    int64_t to_ns)
{
	struct walk w = {.ex = ex, .like = like, .from = from_ns};
	const struct thread_interval *p;
	uint32_t tid = like->tid;
	int64_t at = to_ns;
	int steps;

	for (steps = 0; at > from_ns && steps < STEPS_MAX; steps++) {
		p = interval_before(ex, tid, at);
		if (p == NULL)
			break;
		if (p->end_ns < at)
			at = p->end_ns;
		if (at <= from_ns)
			break;
		if (p->state == THREAD_SLEEP && goes_on_with_waker(&w, p) &&
		    p->woken_ns <= at) {
			if (w.visits < TALE_THREADS)
				w.visited[w.visits++] = tid;
			at = p->woken_ns;
			tid = p->other;
			continue;
		}
		claim_interval(&w, p, at);
		at = p->begin_ns;
	}
}
