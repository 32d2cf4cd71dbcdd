/* waits.c: waits that go on at once after a timeout become one.
 *
 * Some locks are waited for with timeouts: the thread wakes, sees that the lock
 * is still taken, and sleeps again.  A Java monitor does so after 1, 8, 64, ...
 * ms, CPython's interpreter lock after each 5 ms.  To the scheduler these are
 * sleeps that timers end, and only the last one is ended by a thread.  Here
 * they become one wait, for the lock.
 *
 * Sleeps in other calls than futex are not for a lock.  Sleeps on two words are
 * not one wait: in HotSpot each thread has one word for Thread.sleep, another
 * for monitors, and two more for LockSupport.
 *
 * A single timeout of 5 ms before a wait may be a sleep of its own, unless both
 * are known to be on one word, or threads of the process end such waits for
 * each other more than once.
 *
 * If a timer ended the last wait, too, no other thread shows that there was a
 * lock.  Several timeouts of 5 ms may then be an interpreter's, or a program
 * that polls: their reason is not observed.  In a JVM growing timeouts may be a
 * monitor's, or Thread.sleep twice: the stack decides, and without one the
 * reason is not known.  The same holds for a single wait in futex if no event
 * shows what ended it. */

#include "talechain/claims/explainer.h"

/* A thread that checks whether a lock is free, and waits on, runs for less. */
#define RETAKEN_NS (300 * NS_PER_US)
#define MONITOR_FIRST_NS NS_PER_MS /* a Java monitor's first timeout */
#define MONITOR_GROWS 8		   /* each is 8 times the one before */
#define MONITOR_MOST_NS NS_PER_S
#define SWITCH_NS (5 * NS_PER_MS) /* CPython's sys.getswitchinterval() */
#define SWITCHES_MIN 2		  /* timeouts that show such a lock */
#define STACK_NS NS_PER_MS	  /* a shorter wait has no stack */
/* Timers are late, never early; more so on a busy machine. */
#define LATE_NS (400 * NS_PER_US)
#define SOFTIRQ_TIMER 1
#define SOFTIRQ_HRTIMER 8

/* True if a sleep may be for a lock, by its system call, if that is known. */
static bool
may_be_lock(const struct thread_interval *p)
{
	return p->state == THREAD_SLEEP &&
	       (p->call == 0 || p->call == SYS_futex + 1);
}

bool
thread_timer_ended(const struct thread_interval *p)
{
	return p->woken_ns != NEVER && p->other == 0 && p->doubt == NULL &&
	       (p->context == TALECHAIN_CONTEXT_IRQ ||
		   (p->context == TALECHAIN_CONTEXT_SOFTIRQ &&
		       (p->vector == SOFTIRQ_TIMER ||
			   p->vector == SOFTIRQ_HRTIMER)));
}

/* True if a timer ended a sleep that may be for a lock. */
static bool
is_timed_out(const struct thread_interval *p)
{
	return may_be_lock(p) && thread_timer_ended(p);
}

/* True if a sleep may be a wait with a certain timeout. */
static bool
is_timeout_of(const struct thread_interval *p, int64_t timeout_ns)
{
	int64_t ns = p->end_ns - p->begin_ns;

	return ns >= timeout_ns - timeout_ns / 20 &&
	       ns <= timeout_ns + timeout_ns / 5 + LATE_NS;
}

bool
thread_is_peer(const struct explainer *ex, const struct thread_interval *p)
{
	const struct tale_thread *self = tale_thread_find(ex->t, p->tid);

	return p->other != 0 && p->other != p->tid && self != NULL &&
	       p->other_pid == self->pid;
}

enum tale_cause
interval_cause(const struct explainer *ex, const struct thread_interval *p)
{
	switch (p->state) {
	case THREAD_RUN:
		return TALE_CAUSE_WORK;
	case THREAD_SLEEP:
		return thread_is_peer(ex, p) ? TALE_CAUSE_LOCK
					     : TALE_CAUSE_SLEEP;
	case THREAD_BLOCKED:
		return TALE_CAUSE_LOCK;
	case THREAD_DISK:
		return TALE_CAUSE_DISK;
	case THREAD_STOPPED:
		return TALE_CAUSE_STOPPED;
	case THREAD_READY:
		return TALE_CAUSE_RUNQ;
	case THREAD_PREEMPTED:
		return TALE_CAUSE_PREEMPTED;
	case THREAD_THROTTLED:
		return TALE_CAUSE_QUOTA;
	}
	return TALE_CAUSE_NOT_OBSERVED;
}

/* True if a sleep was ended by another thread of its process. */
static bool
is_woken_by_peer(const struct explainer *ex, const struct thread_interval *p)
{
	return p->state == THREAD_SLEEP && thread_is_peer(ex, p);
}

/* True if two sleeps may be on one lock.  A condition of pthread has two words,
 * side by side. */
static bool
is_same_lock(const struct thread_interval *a, const struct thread_interval *b)
{
	return a->futex == 0 || b->futex == 0 || a->futex / 8 == b->futex / 8;
}

/* The index of the sleep with which a thread went on waiting at once after
 * interval i, or 0. */
static size_t
taken_up_again(const struct explainer *ex, size_t i)
{
	const struct thread_interval *p = ex->interval;
	int64_t ran_ns = 0;

	for (size_t k = i + 1; k < ex->intervals && p[k].tid == p[i].tid; k++) {
		if (p[k].begin_ns != p[k - 1].end_ns || p[k].doubt != NULL)
			return 0;
		if (p[k].state == THREAD_SLEEP)
			return may_be_lock(&p[k]) && is_same_lock(&p[i], &p[k])
				   ? k
				   : 0;
		if (p[k].state == THREAD_RUN)
			ran_ns += p[k].end_ns - p[k].begin_ns;
		else if (p[k].state != THREAD_READY &&
			 p[k].state != THREAD_PREEMPTED)
			return 0;
		if (ran_ns > RETAKEN_NS)
			return 0;
	}
	return 0;
}

/* A chain of timeouts, from a first sleep to the one that ends the wait. */
struct wait_chain {
	size_t first, last;
	unsigned timeouts; /* sleeps before the last */
	bool monitor, equal;
	/* The last sleep is a monitor's timeout, too: the lock was free
	 * then. */
	bool free;
};

/* Follow the timeouts from interval i as long as they are of one kind. */
static struct wait_chain
chain_from(const struct explainer *ex, size_t i)
{
	const struct thread_interval *p = ex->interval;
	int64_t first_ns = p[i].end_ns - p[i].begin_ns;
	int64_t monitor_ns = MONITOR_FIRST_NS;
	struct wait_chain c = {.first = i, .monitor = true, .equal = true};
	bool monitor, equal;
	size_t next;

	for (c.last = i; is_timed_out(&p[c.last]); c.last = next) {
		next = taken_up_again(ex, c.last);
		monitor = c.monitor && is_timeout_of(&p[c.last], monitor_ns);
		equal = c.equal && is_timeout_of(&p[c.last], first_ns);
		c.free = next == 0 && monitor && c.timeouts > 0;
		if (next == 0 || (!monitor && !equal))
			break;
		c.monitor = monitor;
		c.equal = equal;
		c.timeouts++;
		monitor_ns *= MONITOR_GROWS;
		if (monitor_ns > MONITOR_MOST_NS)
			monitor_ns = MONITOR_MOST_NS;
	}
	return c;
}

/* True if a sleep is one timeout of an interpreter lock. */
static bool
is_switch(const struct thread_interval *p)
{
	return is_timed_out(p) && is_timeout_of(p, SWITCH_NS);
}

/* True if a chain's timeouts are those of an interpreter lock. */
static bool
is_of_switches(const struct explainer *ex, const struct wait_chain *c)
{
	return c->timeouts > 0 && c->equal &&
	       is_timeout_of(&ex->interval[c->first], SWITCH_NS);
}

/* How the threads of a thread's process wait; all false if not known. */
static const struct thread_process *
process_of(const struct explainer *ex, uint32_t tid)
{
	static const struct thread_process none = {.lock = false};
	const struct tale_thread *thread = tale_thread_find(ex->t, tid);

	return thread != NULL ? &ex->process[thread - ex->t->thread] : &none;
}

/* Find the processes whose threads wait for each other in turns of 5 ms. */
static void
switches_find(struct explainer *ex)
{
	const struct tale_thread *thread = ex->t->thread, *self;
	struct wait_chain c;

	for (size_t i = 0; i < ex->intervals; i = c.last + 1) {
		c = chain_from(ex, i);
		self = tale_thread_find(ex->t, ex->interval[i].tid);
		if (self == NULL || !is_of_switches(ex, &c) ||
		    !is_woken_by_peer(ex, &ex->interval[c.last]))
			continue;
		ex->process[self - thread].switches += c.timeouts;
		ex->process[self - thread].switched = true;
	}
	for (unsigned i = 0; i < ex->t->threads; i++) {
		unsigned switches = 0, threads = 0;

		for (unsigned k = 0; k < ex->t->threads; k++) {
			if (thread[k].pid != thread[i].pid)
				continue;
			switches += ex->process[k].switches;
			threads += ex->process[k].switched;
		}
		ex->process[i].lock = switches >= SWITCHES_MIN;
		ex->process[i].interpreter = ex->process[i].lock && threads > 1;
	}
}

/* True if the tale has something of a server that only a JVM reports. */
static bool
is_jvm(const struct explainer *ex, int server)
{
	const struct talechain_event *v;

	for (size_t i = 0; i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		if (ex->t->entry[i].slot.server == server &&
		    (v->type >> 12 == TALECHAIN_JVM_START >> 12 ||
			(v->type == TALECHAIN_RATE &&
			    (v->arg[0] == TALECHAIN_RATE_HEAP ||
				v->arg[0] == TALECHAIN_RATE_CLASSES ||
				v->arg[0] == TALECHAIN_RATE_COMPILED))))
			return true;
	}
	return false;
}

static bool
is_of_jvm(const struct explainer *ex, uint32_t tid)
{
	int attempt = thread_attempt(ex, tid);

	return attempt >= 0 &&
	       is_jvm(ex, ex->t->request.attempt[attempt].server);
}

/* HotSpot's functions that wait in futex.  The last two may also wait for
 * another thread. */
enum waiting {
	WAITING_ENTER,
	WAITING_ENTER_SLOWLY,
	WAITING_SLEEP,
	WAITING_NOTIFY,
	WAITING_PARK,
	WAITINGS
};
static const char *const waitings[WAITINGS] = {
    [WAITING_ENTER] = "ObjectMonitor::enter",
    [WAITING_ENTER_SLOWLY] = "ObjectMonitor::EnterI",
    [WAITING_SLEEP] = "JVM_Sleep",
    [WAITING_NOTIFY] = "ObjectMonitor::wait",
    [WAITING_PARK] = "Parker::park",
};

enum thread_wait
waits_by_stack(const struct explainer *ex, const struct thread_interval *p)
{
	bool known;

	switch (stack_find(
	    ex, p->tid, p->end_ns, false, waitings, WAITINGS, &known)) {
	case WAITING_ENTER:
	case WAITING_ENTER_SLOWLY:
		return WAIT_MONITOR;
	case WAITING_SLEEP:
		return WAIT_OTHER;
	case WAITING_NOTIFY:
	case WAITING_PARK:
		return p->woken_ns == NEVER ? WAIT_EITHER : WAIT_OTHER;
	}
	return WAIT_EITHER;
}

/* Kind of wait of a chain of timeouts in a JVM, by the stack of one of them. */
static enum thread_wait
wait_in_jvm(const struct explainer *ex, const struct wait_chain *c)
{
	const struct thread_interval *p = ex->interval;
	enum thread_wait wait = WAIT_EITHER;

	for (size_t i = c->first; i <= c->last && wait == WAIT_EITHER; i++)
		if (p[i].state == THREAD_SLEEP)
			wait = waits_by_stack(ex, &p[i]);
	return wait;
}

/* True if a chain of an interpreter lock's timeouts is known to be on one
 * word. */
static bool
is_one_turn(const struct explainer *ex, const struct wait_chain *c)
{
	const struct thread_interval *p = ex->interval;

	return is_of_switches(ex, c) && p[c->first].futex != 0 &&
	       p[c->last].futex != 0;
}

/* Kind of wait of a chain of waits, if the chain is one wait. */
static enum thread_wait
wait_of(const struct explainer *ex, const struct wait_chain *c)
{
	const struct thread_interval *p = ex->interval;
	const struct thread_process *of = process_of(ex, p[c->first].tid);
	bool ended = is_woken_by_peer(ex, &p[c->last]);
	bool turns = of->lock && is_of_switches(ex, c);

	if (turns && (ended || is_switch(&p[c->last])))
		return of->interpreter ? WAIT_INTERPRETER : WAIT_LOCK;
	if (!ended && c->timeouts >= SWITCHES_MIN && is_of_switches(ex, c) &&
	    !is_of_jvm(ex, p[c->first].tid))
		return WAIT_TURNS;
	if (!ended && c->free && is_of_jvm(ex, p[c->first].tid))
		return wait_in_jvm(ex, c);
	if (!ended || c->timeouts == 0)
		return WAIT_OTHER;
	if (c->timeouts == 1 && !c->monitor && !is_one_turn(ex, c))
		return WAIT_OTHER;
	return WAIT_LOCK;
}

/* Kind of a single wait.  INTERPRETER: the process has an interpreter lock, and
 * the sleep was a timeout of such a lock, or a peer ended the sleep sooner. */
static enum thread_wait
wait_between(const struct explainer *ex, const struct thread_interval *p)
{
	if (!process_of(ex, p->tid)->interpreter)
		return WAIT_OTHER;
	if (is_switch(p) || (is_woken_by_peer(ex, p) &&
				p->end_ns - p->begin_ns < SWITCH_NS + LATE_NS))
		return WAIT_INTERPRETER;
	return WAIT_OTHER;
}

/* Kind of a sleep that is no part of a chain. */
static enum thread_wait
wait_alone(const struct explainer *ex, const struct thread_interval *p)
{
	enum thread_wait wait = wait_between(ex, p);

	if (wait != WAIT_OTHER || p->call != SYS_futex + 1 || p->other != 0 ||
	    p->state != THREAD_SLEEP || p->doubt != NULL ||
	    p->end_ns - p->begin_ns < STACK_NS)
		return wait;
	wait = waits_by_stack(ex, p);
	return wait == WAIT_EITHER && p->woken_ns != NEVER ? WAIT_OTHER : wait;
}

/* Keep the intervals of a chain unjoined: what its sleeps were for is not
 * known.  Returns the new number of intervals kept. */
static size_t
keep_either(struct thread_interval *p, const struct wait_chain *c,
    enum thread_wait wait, size_t kept)
{
	for (size_t i = c->first; i <= c->last; i++) {
		if (p[i].state == THREAD_SLEEP)
			p[i].wait = wait;
		p[kept++] = p[i];
	}
	return kept;
}

void
waits_join(struct explainer *ex)
{
	struct thread_interval *p = ex->interval;
	enum thread_wait wait;
	struct wait_chain c;
	size_t kept = 0;

	switches_find(ex);
	for (size_t i = 0; i < ex->intervals; i++) {
		c = chain_from(ex, i);
		wait = wait_of(ex, &c);
		if (wait == WAIT_OTHER) {
			p[i].wait = wait_alone(ex, &p[i]);
			p[kept++] = p[i];
			continue;
		}
		if (wait == WAIT_EITHER || wait == WAIT_TURNS) {
			kept = keep_either(p, &c, wait, kept);
			i = c.last;
			continue;
		}
		p[c.last].begin_ns = p[i].begin_ns;
		p[c.last].wait = wait;
		p[kept++] = p[c.last];
		i = c.last;
	}
	ex->intervals = kept;
}
