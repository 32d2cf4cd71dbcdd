/* threads.c: what the threads that took part did, from the scheduler's
 * events.
 *
 * SCHEDULE events cut a thread's time into intervals: it runs, leaves the CPU
 * for a reason, is woken, waits for a CPU, runs.  The time before its first
 * event follows from that event (a thread that is switched out was running);
 * after its last event its state does not change.  That holds for watched
 * threads alone: of the others only switches to and from watched ones are
 * recorded, so they have no intervals.  Nor has a thread while events may be
 * missing: what it was before then is not known after. */

#include "base/array.h"
#include "talechain/claims/explainer.h"

/* Most time between two stamps of one switch or wake-up. */
#define WAIT_EDGE_NS (50 * NS_PER_US)

/* The state of one thread while its events are read in order. */
struct track {
	uint32_t tid, pid;
	enum { TRACK_UNKNOWN, TRACK_ON, TRACK_OFF, TRACK_PAUSED } state;
	int64_t since;
	enum talechain_off off;
	uint32_t by;   /* the thread that preempted it */
	unsigned call; /* system call at the switch, plus 1; 0: unknown */
	int cpu;
	bool inferred; /* ON follows from its acts, not from a switch */
	bool acted;    /* an event shows that it ran */
	const struct tale_entry *wakeup; /* its last WAKEUP, or NULL */
};

/* True if an event shows that a process is watched.  A switch between two tasks
 * is recorded if either is watched, and the idle task never is. */
static bool
shows_watched(const struct tale_entry *e, uint32_t pid)
{
	const struct talechain_event *v = &e->slot.event;

	switch (v->type) {
	case TALECHAIN_WAKEUP:
		return v->arg[1] == pid;
	case TALECHAIN_SCHEDULE:
		return (v->pid == pid && tale_low(v->arg[0]) == 0) ||
		       (v->tid == 0 && tale_high(v->arg[0]) == pid);
	case TALECHAIN_SOCK_SEND:
	case TALECHAIN_SOCK_RECV:
	case TALECHAIN_PAGEFAULT:
	case TALECHAIN_RECLAIM:
	case TALECHAIN_SYSCALL:
		return v->pid == pid && e->slot.server >= 0;
	}
	return v->type >> 12 == 1 && v->pid == pid; /* Tailor's own */
}

static void
watched_find(struct explainer *ex)
{
	const struct tale *t = ex->t;
	const struct tale_thread *thread = t->thread;
	unsigned k;

	for (unsigned i = 0; i < t->threads; i++) {
		for (k = 0; k < i && (thread[k].pid != thread[i].pid ||
					 thread[k].attempt == TALE_PEER);
		     k++)
			;
		if (thread[i].attempt == TALE_PEER)
			continue;
		if (k < i) {
			ex->watched[i] = ex->watched[k];
			continue;
		}
		for (size_t n = 0; n < t->entries && !ex->watched[i]; n++)
			ex->watched[i] =
			    shows_watched(&t->entry[n], thread[i].pid);
	}
}

bool
thread_is_watched(const struct explainer *ex, uint32_t tid)
{
	const struct tale_thread *thread = tale_thread_find(ex->t, tid);

	return thread != NULL && ex->watched[thread - ex->t->thread];
}

bool
thread_moves_work(const struct explainer *ex, uint32_t tid)
{
	const struct tale_thread *thread = tale_thread_find(ex->t, tid);

	return thread != NULL && ex->process[thread - ex->t->thread].moves;
}

/* Note that a process's runtime moves work between its threads. */
static void
moves_note(struct explainer *ex, uint32_t pid)
{
	for (unsigned i = 0; i < ex->t->threads; i++)
		if (ex->t->thread[i].pid == pid)
			ex->process[i].moves = true;
}

static void
interval_add(struct explainer *ex, const struct thread_interval *like)
{
	if (like->begin_ns < like->end_ns)
		ARRAY_ADD(&ex->failed, ex->interval, ex->intervals, *like);
}

static enum thread_state
state_of(enum talechain_off off)
{
	switch (off) {
	case TALECHAIN_OFF_PREEMPTED:
		return THREAD_PREEMPTED;
	case TALECHAIN_OFF_BLOCKED:
		return THREAD_BLOCKED;
	case TALECHAIN_OFF_DISK:
		return THREAD_DISK;
	case TALECHAIN_OFF_STOPPED:
		return THREAD_STOPPED;
	case TALECHAIN_OFF_THROTTLED:
		return THREAD_THROTTLED;
	case TALECHAIN_OFF_SLEEPING:
	case TALECHAIN_OFF_DEAD:
		break;
	}
	return THREAD_SLEEP;
}

/* Set, in the interval before a switch, what made the thread runnable. */
static void
interval_waker(const struct explainer *ex, const struct track *k,
    const struct talechain_event *v, struct thread_interval *p)
{
	const struct talechain_event *w;

	p->other = tale_low(v->arg[1]);
	p->other_pid = tale_high(v->arg[1]);
	p->woken_ns = v->arg[2] != 0
			  ? moment_at(ex->t, (struct instant){v->arg[2]})
			  : NEVER;
	if (k->wakeup == NULL || moment_at(ex->t, k->wakeup->at) < k->since)
		return;
	w = &k->wakeup->slot.event;
	p->woken_ns = moment_at(ex->t, k->wakeup->at);
	p->context = tale_high(w->arg[2]);
	p->vector = tale_low(w->arg[2]);
	p->futex = w->arg[3];
	p->other = p->context == TALECHAIN_CONTEXT_TASK ? w->tid : 0;
	p->other_pid = p->context == TALECHAIN_CONTEXT_TASK ? w->pid : 0;
}

/* True if a tale has all of the kernel's events of its time.  If not, events
 * may contradict each other without being wrong. */
static bool
is_complete(const struct tale *t)
{
	return t->omitted == 0 && t->lost_channels == 0 && t->lost_stream == 0;
}

/* The interval of a thread from its last event until another moment. */
static struct thread_interval
track_interval(const struct track *k, int64_t end_ns)
{
	bool off = k->state == TRACK_OFF;

	return (struct thread_interval){
	    .tid = k->tid,
	    .state = off ? state_of(k->off) : THREAD_RUN,
	    .begin_ns = k->since,
	    .end_ns = end_ns,
	    .cpu = k->cpu,
	    .inferred = k->inferred,
	    .call = off ? k->call : 0,
	    .other = off && k->off == TALECHAIN_OFF_PREEMPTED ? k->by : 0,
	    .woken_ns = NEVER,
	};
}

/* The thread is on a CPU, and no event shows how it came there: it slept until
 * it was woken.  Returns that moment, after which its state is not known. */
static int64_t
track_was_away(struct explainer *ex, const struct track *k)
{
	static const struct talechain_event none = {0};
	struct thread_interval off = track_interval(k, NEVER);

	interval_waker(ex, k, &none, &off);
	off.end_ns = off.woken_ns;
	if (off.woken_ns == NEVER || off.state == THREAD_PREEMPTED ||
	    off.state == THREAD_THROTTLED)
		return k->since;
	interval_add(ex, &off);
	return off.woken_ns;
}

/* The thread leaves its CPU. */
static void
track_leaves(struct explainer *ex, struct track *k, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	struct thread_interval run = {
	    .tid = k->tid,
	    .state = THREAD_RUN,
	    .begin_ns = k->since,
	    .end_ns = moment_at(ex->t, e->at),
	    .cpu = event_cpu(v),
	    .woken_ns = NEVER,
	    .inferred = k->inferred,
	};

	/* Short absences may be left out of a tale. */
	if (k->state == TRACK_ON && k->cpu >= 0 && run.cpu >= 0 &&
	    k->cpu != run.cpu && ex->t->omitted == 0)
		run.doubt = "changed its CPU while it ran";
	if (k->state == TRACK_OFF) {
		run.begin_ns = track_was_away(ex, k);
		if (is_complete(ex->t))
			run.doubt = "left a CPU twice in a row";
	}
	if (k->state != TRACK_OFF || run.doubt != NULL)
		interval_add(ex, &run);
	k->wakeup = NULL;
	k->inferred = false;
	k->state = TRACK_OFF;
	k->since = run.end_ns;
	k->off = (enum talechain_off)(v->arg[3] >> TALECHAIN_OFF_SHIFT);
	k->call = (unsigned)tale_field(
	    v->arg[3], TALECHAIN_CALL_SHIFT, TALECHAIN_CALL_BITS);
	k->by = tale_low(v->arg[0]);
	k->cpu = run.cpu;
}

/* When a thread that gets a CPU began to wait for it, if it was woken after its
 * last wake-up in the tale, so that it ran in between; else NEVER. */
static int64_t
woken_again(const struct explainer *ex, const struct track *k,
    const struct talechain_event *v)
{
	return k->wakeup != NULL && k->wakeup->slot.event.ts < v->arg[2]
		   ? moment_at(ex->t, (struct instant){v->arg[2]})
		   : NEVER;
}

/* The thread gets a CPU: add what it did since it left the last one. */
static void
track_enters(struct explainer *ex, struct track *k, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	int64_t at = moment_at(ex->t, e->at);
	int64_t wait_ns =
	    (int64_t)tale_field(v->arg[3], 0, TALECHAIN_WAIT_BITS);
	struct thread_interval off = {
	    .tid = k->tid,
	    .state = state_of(k->off),
	    .begin_ns = k->since,
	    .end_ns = at - wait_ns,
	    .cpu = k->cpu,
	    .call = k->call,
	    .woken_ns = NEVER,
	};
	struct thread_interval ready = off;

	if (k->state != TRACK_ON && k->state != TRACK_PAUSED) {
		off.inferred = k->state == TRACK_UNKNOWN;
		if (off.inferred)
			off.state = THREAD_SLEEP;
		else if (wait_ns > at - k->since + WAIT_EDGE_NS)
			off.doubt = "waited longer than it was off its CPU";
		interval_waker(ex, k, v, &off);
		if (off.woken_ns != NEVER && off.woken_ns < off.end_ns)
			off.end_ns = off.woken_ns;
		if (off.end_ns < off.begin_ns)
			off.end_ns = off.begin_ns;
		ready.state = THREAD_READY;
		ready.doubt = off.doubt;
		ready.begin_ns = woken_again(ex, k, v);
		if (ready.begin_ns < off.end_ns)
			ready.begin_ns = off.end_ns;
		ready.end_ns = at;
		ready.cpu = event_cpu(v);
		ready.other = v->tid;
		ready.whole =
		    (v->arg[3] & TALECHAIN_WHOLE) != 0 && is_complete(ex->t);
		/* That CPU is not the one that it left. */
		off.whole = ready.whole && off.cpu == ready.cpu;
		if (off.state == THREAD_PREEMPTED ||
		    off.state == THREAD_THROTTLED) {
			/* Only a part was a wait for a CPU: events are
			 * missing. */
			if (wait_ns != 0 && off.doubt == NULL &&
			    wait_ns < at - k->since - WAIT_EDGE_NS)
				off.doubt = "waited for a CPU for only part of "
					    "that time";
			off.end_ns = at;
			off.other = k->by;
			interval_add(ex, &off);
		} else {
			interval_add(ex, &off);
			interval_add(ex, &ready);
		}
	}
	k->state = TRACK_ON;
	k->since = at;
	k->cpu = event_cpu(v);
	k->wakeup = NULL;
	k->inferred = false;
}

/* The thread was woken and acts: its return to a CPU was not recorded. */
static void
track_acts(struct explainer *ex, struct track *k, const struct tale_entry *e)
{
	track_was_away(ex, k);
	k->state = TRACK_ON;
	k->since = moment_at(ex->t, e->at);
	k->cpu = event_cpu(&e->slot.event);
	k->wakeup = NULL;
	k->inferred = true;
}

/* Add the rest of a thread's time, after its last event. */
static void
track_ends(struct explainer *ex, const struct track *k)
{
	struct thread_interval rest = track_interval(k, ex->switches_end_ns);

	/* The thread is watched: without any switch it kept its CPU. */
	if (k->state != TRACK_PAUSED && (k->state != TRACK_UNKNOWN || k->acted))
		interval_add(ex, &rest);
}

/* Switches are missing from begin_ns to end_ns.  What the thread did until then
 * is known.  If it leaves its CPU after that, it ran since end_ns. */
static void
track_pauses(
    struct explainer *ex, struct track *k, int64_t begin_ns, int64_t end_ns)
{
	struct thread_interval last = track_interval(k, begin_ns);

	last.inferred = false;
	if (k->state == TRACK_ON || k->state == TRACK_OFF)
		interval_add(ex, &last);
	k->state = TRACK_PAUSED;
	if (k->since < end_ns)
		k->since = end_ns;
	k->wakeup = NULL;
}

/* The thread that caused an event has acted. */
static void
track_acted(struct explainer *ex, struct track *k, const struct tale_entry *e)
{
	unsigned type = e->slot.event.type;

	k->acted |= type >= TALECHAIN_SOCK_SEND;
	if (k->state == TRACK_OFF && k->wakeup != NULL &&
	    k->off == TALECHAIN_OFF_SLEEPING &&
	    (type == TALECHAIN_SOCK_SEND || type == TALECHAIN_SOCK_RECV))
		track_acts(ex, k, e);
}

/* A set of threads, in order of tid, on the way through the tale. */
struct tracks {
	struct track all[TALE_THREADS];
	size_t count;
	size_t losses;	   /* of ex->loss, that have begun */
	int64_t paused_ns; /* switches may be missing until then */
};

static struct track *
track_of(struct tracks *s, uint64_t tid)
{
	size_t i = FIRST_WHERE(k, s->count, s->all[k].tid >= tid);

	return i < s->count && s->all[i].tid == tid ? &s->all[i] : NULL;
}

static void
tracks_pause(
    struct explainer *ex, struct tracks *s, int64_t begin_ns, int64_t end_ns)
{
	for (size_t i = 0; i < s->count; i++)
		track_pauses(ex, &s->all[i], begin_ns, end_ns);
	if (s->paused_ns < end_ns)
		s->paused_ns = end_ns;
}

/* Pause all threads for the losses that begin before a moment. */
static void
tracks_lose(struct explainer *ex, struct tracks *s, int64_t before_ns)
{
	const struct loss *p;

	while (s->losses < ex->losses &&
	       ex->loss[s->losses].begin_ns < before_ns) {
		p = &ex->loss[s->losses++];
		tracks_pause(ex, s, p->begin_ns, p->end_ns);
	}
}

/* Follow threads through the tale. */
static void
tracks_follow(struct explainer *ex, struct tracks *s)
{
	const struct tale *t = ex->t;
	const struct talechain_event *v;
	struct track *by, *to;
	int64_t at;

	for (const struct tale_entry *e = t->entry; e < t->entry + t->entries;
	     e++) {
		v = &e->slot.event;
		at = moment_at(t, e->at);
		tracks_lose(ex, s, at);
		if (e->doubtful)
			continue;
		by = track_of(s, v->tid);
		if (by != NULL)
			track_acted(ex, by, e);
		if (v->type == TALECHAIN_META_UNSAMPLED)
			tracks_pause(ex, s, at,
			    moment_at(t, (struct instant){v->arg[0]}));
		/* A part of the switches says nothing: a pause begins a little
		 * before the last ones that are written. */
		if (at < s->paused_ns)
			continue;
		to =
		    v->type == TALECHAIN_WAKEUP ? track_of(s, v->arg[0]) : NULL;
		if (to != NULL)
			to->wakeup = e;
		if (v->type != TALECHAIN_SCHEDULE)
			continue;
		to = track_of(s, tale_low(v->arg[0]));
		if (by != NULL)
			track_leaves(ex, by, e);
		if (to != NULL && to != by)
			track_enters(ex, to, e);
	}
	for (size_t i = 0; i < s->count; i++)
		track_ends(ex, &s->all[i]);
}

static int
track_compare(const void *va, const void *vb)
{
	const struct track *a = va, *b = vb;

	return COMPARE(a->tid, b->tid);
}

static void
intervals_find(struct explainer *ex)
{
	struct tracks s = {.paused_ns = NEVER};
	const struct tale_thread *thread = ex->t->thread;

	for (unsigned i = 0; i < ex->t->threads; i++)
		if (ex->watched[i])
			s.all[s.count++] = (struct track){.tid = thread[i].tid,
			    .pid = thread[i].pid,
			    .cpu = -1};
	if (s.count == 0)
		return;
	qsort(s.all, s.count, sizeof(s.all[0]), track_compare);
	tracks_follow(ex, &s);
}

/* Find the intervals of a thread of another process, in the time for which the
 * last of its PEER events says that the process was watched. */
static void
peer_intervals(struct explainer *ex, const struct tale_thread *thread)
{
	const struct tale *t = ex->t;
	size_t first = ex->intervals, kept = first;
	int64_t from_ns = NEVER, to_ns = NEVER;
	struct tracks s = {.paused_ns = NEVER,
	    .all = {{.tid = thread->tid, .pid = thread->pid, .cpu = -1}},
	    .count = 1};
	struct thread_interval *p;

	for (size_t i = 0; i < t->entries; i++) {
		const struct talechain_event *v = &t->entry[i].slot.event;

		if (v->type != TALECHAIN_PEER || v->tid != thread->tid ||
		    v->arg[3] == 0 || t->entry[i].doubtful)
			continue;
		from_ns = moment_at(t, (struct instant){v->arg[3]});
		to_ns = moment_at(t, t->entry[i].at);
	}
	if (to_ns == NEVER)
		return;
	tracks_follow(ex, &s);
	for (size_t i = first; i < ex->intervals; i++) {
		p = &ex->interval[i];
		if (p->begin_ns < from_ns) {
			p->begin_ns = from_ns;
			p->inferred = true;
		}
		if (p->end_ns > to_ns)
			p->end_ns = to_ns;
		if (p->begin_ns < p->end_ns)
			ex->interval[kept++] = *p;
	}
	ex->intervals = kept;
}

static int
interval_compare(const void *va, const void *vb)
{
	const struct thread_interval *a = va, *b = vb;

	int order =
	    COMPARE(a->tid, b->tid) ?: COMPARE(a->begin_ns, b->begin_ns);

	return order ?: COMPARE(a->end_ns, b->end_ns);
}

/* Set until when switches are known: a tale holds a limited number, and if some
 * were left out, nothing is known after the last one. */
static void
switches_end(struct explainer *ex)
{
	const struct tale *t = ex->t;
	size_t switches = 0, kernels = 0, last = 0;

	ex->switches_end_ns = ex->s->total_ns;
	for (size_t i = 0; i < t->entries; i++) {
		kernels += t->entry[i].slot.event.type >> 12 == 0;
		if (t->entry[i].slot.event.type != TALECHAIN_SCHEDULE)
			continue;
		switches++;
		last = i;
	}
	if (t->omitted > 0 && switches > 0 &&
	    (switches >= TALE_SWITCHES_MAX || kernels >= TALE_KERNELS_MAX ||
		t->entries >= TALE_EVENTS_MAX))
		ex->switches_end_ns =
		    moment_cut(ex->t, moment_at(ex->t, t->entry[last].at));
}

/* Note what thread_name(), claim_faults() and thread_moves_work() need. */
static void
events_note(struct explainer *ex)
{
	const struct tale *t = ex->t;
	const struct talechain_event *v;
	int64_t latency_ns;

	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		latency_ns = v->type >> 12 == 0 ? tale_event_latency_ns(v) : 0;
		if (latency_ns > ex->longest_ns)
			ex->longest_ns = latency_ns;
		if (v->type == TALECHAIN_SYMBOL && v->arg[0] == 0)
			moves_note(ex, v->pid);
		if (v->type != TALECHAIN_THREAD &&
		    v->type != TALECHAIN_JVM_THREAD)
			continue;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
		ARRAY_ADD(&ex->failed, ex->name, ex->names, &t->entry[i]);
	}
	names_sort(ex);
}

void
threads_find(struct explainer *ex)
{
	events_note(ex);
	if (!ex->chain.kernel)
		return;
	switches_end(ex);
	watched_find(ex);
	intervals_find(ex);
	for (unsigned i = 0; i < ex->t->threads; i++)
		if (ex->t->thread[i].attempt == TALE_PEER)
			peer_intervals(ex, &ex->t->thread[i]);
	if (ex->intervals == 0)
		return;
	qsort(ex->interval, ex->intervals, sizeof(*ex->interval),
	    interval_compare);
	waits_join(ex);
}

const struct thread_interval *
threads_next(const struct explainer *ex, uint32_t tid,
    const struct thread_interval *p, int64_t before_ns)
{
	const struct thread_interval *all = ex->interval;

	if (ex->intervals == 0)
		return NULL;
	if (p == NULL)
		p = all + FIRST_WHERE(i, ex->intervals, all[i].tid >= tid);
	else
		p++;
	return p < all + ex->intervals && p->tid == tid &&
		       p->begin_ns < before_ns
		   ? p
		   : NULL;
}

int64_t
interval_within_ns(
    const struct thread_interval *p, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = p->begin_ns > begin_ns ? p->begin_ns : begin_ns;
	int64_t to = p->end_ns < end_ns ? p->end_ns : end_ns;

	return to > from ? to - from : 0;
}
