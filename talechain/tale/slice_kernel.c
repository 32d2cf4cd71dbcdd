/* slice_kernel.c: which of the kernel's events belong to a request.
 *
 * The request's sockets are known by their cookies.  The other end of a socket,
 * if it is on this machine, has the same two ports swapped, and the same
 * sequence numbers (ports alone are not enough: another address may use them).
 * Threads that take part are Tailor's own, users of the servers' sockets, and
 * reporters of the request; also threads of a server that exchanged wake-ups
 * with one of these while the server had the request.  A thread of another
 * process that ended a wait of such a thread (PEER) is followed, too: it woke
 * the thread, or sent what the thread received. */

#include "talechain/events/events.h"
#include "talechain/tale/chain.h"
#include "talechain/tale/slice.h"

/* How long before the window a request may have lain in a socket. */
#define FLOW_PAST_NS NS_PER_S
#define TAILOR (-1)
#define WAKERS_DEEP 8 /* threads, each of which woke the next */
#define PASSED_LEAST_NS (200 * NS_PER_US) /* shorter waits take no switches */

static bool
is_flow(unsigned type)
{
	return type >= TALECHAIN_TCP_RECV && type <= TALECHAIN_SOCK_RECV;
}

/* Which of the request's sockets an event is about, or -1. */
static int
socket_of(const struct tale *t, uint64_t cookie)
{
	for (int i = 0; cookie != 0 && i < TALE_SOCKETS; i++)
		if (t->cookie[i] == cookie)
			return i;
	return -1;
}

/* The attempt a socket belongs to, or TAILOR. */
static int
attempt_of_socket(enum tale_socket i)
{
	return i < TALE_SOCKET_A ? TAILOR : (int)(i - TALE_SOCKET_A) / 2;
}

static void
thread_add(struct tale *t, uint32_t tid, uint32_t pid, int attempt)
{
	if (tid == 0 || slice_is_thread(t, tid) || t->threads == TALE_THREADS)
		return;
	t->thread[t->threads++] = (struct tale_thread){tid, pid, attempt};
}

/* Learn threads and sockets from the events of Tailor and the applications. */
static void
learn_thread(struct tale *t, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	int attempt;

	if (e->type >> 12 == 1) {
		thread_add(t, e->tid, e->pid, TAILOR);
		if (e->type == TALECHAIN_PROXY_RECEIVE &&
		    t->cookie[TALE_SOCKET_CLIENT] == 0)
			t->cookie[TALE_SOCKET_CLIENT] = e->arg[2];
		if (e->type == TALECHAIN_PROXY_ATTEMPT &&
		    e->arg[2] < TALE_ATTEMPTS &&
		    t->cookie[TALE_SOCKET_A + 2 * e->arg[2]] == 0)
			t->cookie[TALE_SOCKET_A + 2 * e->arg[2]] = e->arg[3];
		return;
	}
	attempt = tale_attempt_of(t, slot->server);
	if (attempt >= 0)
		thread_add(t, e->tid, e->pid, attempt);
}

/* Remember that a thread of another process ended a wait. */
static void
learn_end(struct slicer *s, const struct slice_wake *w)
{
	for (unsigned i = 0; i < s->ends; i++)
		if (s->ended[i].from == w->from && s->ended[i].to == w->to)
			return;
	if (s->ends < SLICE_ENDED)
		s->ended[s->ends++] = *w;
}

/* Learn from a PEER event: which thread was woken, or on which connection bytes
 * were sent. */
static void
learn_peer_event(struct slicer *s, const struct talechain_event *e)
{
	const struct slice_wake w = {e->tid, (uint32_t)e->arg[0], e->pid};
	const struct slice_sender sender = {peer_ports(e), e->tid, e->pid};

	if (e->arg[0] != 0) {
		learn_end(s, &w);
		return;
	}
	for (unsigned i = 0; i < s->senders; i++)
		if (s->sender[i].ports == sender.ports &&
		    s->sender[i].tid == sender.tid)
			return;
	if (s->senders < SLICE_SENDERS)
		s->sender[s->senders++] = sender;
}

/* Learn from a receipt which threads of other processes sent there. */
static void
learn_receipt(struct slicer *s, const struct talechain_event *e)
{
	uint32_t ports = ports_other_end(event_ports(e));
	struct slice_wake w = {.to = e->tid};

	for (unsigned i = 0; i < s->senders; i++) {
		if (s->sender[i].ports != ports)
			continue;
		w.from = s->sender[i].tid;
		w.pid = s->sender[i].pid;
		learn_end(s, &w);
	}
}

int
slice_learn_first(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	struct tale *t = s->tale;
	struct slice_socket *k;
	uint64_t request;
	int i;

	s->kernel |= e->type >> 12 == 0;
	if (talechain_event_request(e, &request)) {
		if (request == t->request.id)
			learn_thread(t, slot);
		return 0;
	}
	if (e->type == TALECHAIN_PEER && slice_touches(s, slot))
		learn_peer_event(s, e);
	i = is_flow(e->type) ? socket_of(t, e->arg[0]) : -1;
	if (i < 0)
		return 0;
	k = &s->socket[i];
	k->seen = true;
	k->local = event_local(e);
	k->remote = event_remote(e);
	if (i == TALE_SOCKET_CLIENT && e->type == TALECHAIN_SOCK_SEND &&
	    e->ts < t->request.first_byte.ns && e->ts > s->flow_from.ns)
		s->flow_from.ns = e->ts;
	if (!slice_touches(s, slot))
		return 0;
	if (e->type == TALECHAIN_TCP_RECV)
		k->received[k->receives++ % SLICE_SEQUENCES] =
		    tale_high(e->arg[1]);
	else if (e->type == TALECHAIN_TCP_XMIT ||
		 e->type == TALECHAIN_SOCK_SEND)
		k->sent[k->sents++ % SLICE_SEQUENCES] = tale_high(e->arg[1]);
	return 0;
}

static bool
sequence_known(const uint32_t *list, unsigned count, uint32_t sequence)
{
	for (unsigned i = 0; i < count && i < SLICE_SEQUENCES; i++)
		if (list[i] == sequence)
			return true;
	return false;
}

/* True if the event's thread uses the server's end of a socket: by a call, or
 * by closing it. */
static bool
is_use(const struct tale *t, int i, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;

	return e->type >= TALECHAIN_SOCK_SEND ||
	       (e->type == TALECHAIN_TCP_XMIT && (e->arg[3] & FLAG_FIN) != 0 &&
		   slot->server >= 0 &&
		   tale_attempt_of(t, slot->server) ==
		       attempt_of_socket((enum tale_socket)i));
}

/* Learn from an event of the other end of one of our sockets: that end's
 * cookie, and the threads that use it. */
static void
learn_peer(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const struct slice_socket *k;
	struct tale *t = s->tale;
	uint16_t local = event_local(e);
	uint16_t remote = event_remote(e);
	uint32_t sequence = tale_high(e->arg[1]);
	bool came;

	for (int i = 0; i < TALE_SOCKETS; i += 2) {
		k = &s->socket[i];
		if (!k->seen || local != k->remote || remote != k->local ||
		    e->arg[0] == t->cookie[i])
			continue;
		came = e->type == TALECHAIN_TCP_RECV &&
		       sequence_known(k->sent, k->sents, sequence);
		if (came ||
		    (e->type == TALECHAIN_TCP_XMIT &&
			sequence_known(k->received, k->receives, sequence)))
			t->cookie[i + 1] = e->arg[0];
		if (is_use(t, i, slot) && s->callers < SLICE_CALLERS)
			s->caller[s->callers++] =
			    (struct slice_caller){e->arg[0], e->tid, e->pid,
				(enum tale_socket)(i + 1)};
		return;
	}
}

/* Remember wake-ups within one process while the request lived.  The event of a
 * new thread's first run names the thread that made it. */
static void
learn_wake(struct slicer *s, const struct talechain_event *e)
{
	struct slice_wake w = {
	    e->tid, (uint32_t)e->arg[0], (uint32_t)e->arg[1]};
	uint32_t pid = e->pid;

	if (e->type == TALECHAIN_SCHEDULE) {
		pid = tale_high(e->arg[1]);
		w = (struct slice_wake){tale_low(e->arg[1]),
		    tale_low(e->arg[0]), tale_high(e->arg[0])};
	} else if (tale_high(e->arg[2]) != TALECHAIN_CONTEXT_TASK) {
		return;
	}
	if (pid != w.pid || pid == 0 || e->ts < s->tale->t0.ns ||
	    e->ts > s->tale->end.ns)
		return;
	for (unsigned i = 0; i < s->wakes; i++)
		if (s->wake[i].from == w.from && s->wake[i].to == w.to)
			return;
	if (s->wakes < SLICE_WAKES)
		s->wake[s->wakes++] = w;
}

int
slice_learn_second(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;

	slice_other_learn(s, slot);
	if (!slice_touches(s, slot))
		return 0;
	if (e->type == TALECHAIN_SOCK_RECV)
		learn_receipt(s, e);
	if (is_flow(e->type) && e->arg[0] != 0)
		learn_peer(s, slot);
	else if (e->type == TALECHAIN_WAKEUP || e->type == TALECHAIN_SCHEDULE)
		learn_wake(s, e);
	return 0;
}

/* Add a thread that woke, or was woken by, a server's thread that takes
 * part. */
static void
learn_woken(
    struct tale *t, const struct tale_thread *other, uint32_t tid, uint32_t pid)
{
	if (other != NULL && other->attempt >= 0)
		thread_add(t, tid, pid, other->attempt);
}

void
slice_learned(struct slicer *s)
{
	struct tale *t = s->tale;
	const struct tale_thread *thread;
	unsigned known = 0, before, i;
	int attempt;

	for (i = 0; i < s->callers; i++) {
		attempt = attempt_of_socket(s->caller[i].peer);
		if (attempt >= 0 &&
		    t->cookie[s->caller[i].peer] == s->caller[i].cookie)
			thread_add(
			    t, s->caller[i].tid, s->caller[i].pid, attempt);
	}
	/* Threads that woke a thread that reads requests took part, as one that
	 * accepts connections does; so did threads that woke these. */
	for (unsigned depth = 0; depth < WAKERS_DEEP && t->threads > known;
	     depth++)
		for (known = t->threads, i = 0; i < s->wakes; i++) {
			thread = tale_thread_find(t, s->wake[i].to);
			if (thread != NULL && thread < &t->thread[known])
				learn_woken(
				    t, thread, s->wake[i].from, s->wake[i].pid);
		}
	/* Threads that any of these woke took part; so did threads that they
	 * woke, and so on. */
	do {
		before = t->threads;
		for (i = 0; i < s->wakes; i++)
			learn_woken(t, tale_thread_find(t, s->wake[i].from),
			    s->wake[i].to, s->wake[i].pid);
	} while (t->threads > before);
	for (i = 0; i < s->ends; i++) {
		thread = tale_thread_find(t, s->ended[i].to);
		if (thread != NULL && thread->attempt >= 0)
			thread_add(
			    t, s->ended[i].from, s->ended[i].pid, TALE_PEER);
	}
}

uint64_t
slice_flow_begin(const struct slicer *s)
{
	const struct slice_socket *k = &s->socket[TALE_SOCKET_CLIENT];
	uint64_t begin = s->begin;

	if (k->seen)
		begin = stream_state_flow(&s->state, k->local, k->remote);
	if (begin < s->begin && s->begin - begin > TALE_LOOKBACK_SLOTS)
		begin = s->begin - TALE_LOOKBACK_SLOTS;
	return begin < s->begin ? begin : s->begin;
}

/* True if an event has bytes of the next request on the same connection. */
static bool
is_next_request(const struct tale *t, int i, const struct talechain_event *e)
{
	if (i > TALE_SOCKET_CLIENT_PEER ||
	    !instant_is_set(t->request.finished) ||
	    e->ts <= t->request.finished.ns)
		return false;
	switch (e->type) {
	case TALECHAIN_SOCK_SEND:
	case TALECHAIN_TCP_XMIT:
		return i == TALE_SOCKET_CLIENT_PEER && tale_high(e->arg[2]) > 0;
	case TALECHAIN_SOCK_RECV:
	case TALECHAIN_TCP_RECV:
		return i == TALE_SOCKET_CLIENT;
	}
	return false;
}

static int
take_flow(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	struct tale *t = s->tale;
	int i = socket_of(t, e->arg[0]);
	uint64_t from = s->from.ns;

	if (i < 0)
		return slice_other_take(s, slot);
	if (is_next_request(t, i, e))
		return 0;
	if (i <= TALE_SOCKET_CLIENT_PEER) {
		from = tale_earlier(t->t0, FLOW_PAST_NS).ns;
		if (s->flow_from.ns >= from)
			from = s->flow_from.ns + 1;
	}
	if (e->ts < from || e->ts > s->to.ns)
		return 0;
	if (e->type == TALECHAIN_TCP_RECV || e->type == TALECHAIN_TCP_ACK)
		s->segment_ns[e->cpu % SLICE_CPUS] = e->ts;
	return slice_add(s, slot);
}

int
slice_rest(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	int i = is_flow(e->type) ? socket_of(s->tale, e->arg[0]) : -1;

	if (i < 0 || i > TALE_SOCKET_CLIENT_PEER || e->ts <= s->rest_from.ns)
		return 0;
	s->rest_over |= is_next_request(s->tale, i, e);
	return s->rest_over ? 0 : slice_add(s, slot);
}

/* Take a softirq that brought a segment of ours, or held up one of our
 * threads. */
static int
take_softirq(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	uint64_t segment_ns = s->segment_ns[e->cpu % SLICE_CPUS];

	if (slice_is_thread(s->tale, e->tid) ||
	    (segment_ns != 0 && segment_ns <= e->ts &&
		e->ts - segment_ns <= e->arg[1]))
		return slice_add(s, slot);
	return 0;
}

/* Take the last switches of a CPU during the wait of the thread that gets it
 * now, if that wait was long.  *all: none of them is missing. */
static int
take_passed(struct slicer *s, const struct talechain_event *e, bool *all)
{
	uint64_t wait_ns = tale_field(e->arg[3], 0, TALECHAIN_WAIT_BITS);
	unsigned cpu = e->cpu % SLICE_CPUS, passes = s->passes[cpu];
	unsigned n = passes < SLICE_PASSED ? passes : SLICE_PASSED;
	struct timeline_slot *passed;
	int err = 0;

	*all = passes <= SLICE_PASSED;
	for (unsigned i = passes - n; i < passes && err == 0; i++) {
		passed = &s->passed[cpu][i % SLICE_PASSED];
		if (passed->event.cpu != e->cpu || passed->event.ts > e->ts)
			continue;
		if (e->ts - passed->event.ts >= wait_ns)
			*all = true;
		else if (wait_ns < PASSED_LEAST_NS)
			*all = false;
		else
			err = slice_add_once(s, passed);
	}
	return err;
}

static int
take_schedule(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	unsigned cpu = e->cpu % SLICE_CPUS;
	struct timeline_slot *idle = &s->idle[cpu], entered = *slot;
	bool all = true;
	int err = 0;

	if (slice_is_thread(s->tale, tale_low(e->arg[0]))) {
		if (e->tid == 0 && idle->seq != 0 &&
		    idle->event.cpu == e->cpu && idle->event.ts <= e->ts)
			err = slice_add(s, idle);
		if (err == 0 && e->tid != 0)
			err = take_passed(s, e, &all);
		if (!all)
			entered.event.arg[3] &= ~TALECHAIN_WHOLE;
		idle->seq = 0;
		s->waited[cpu] = false;
	} else if (slice_is_thread(s->tale, e->tid)) {
		/* The preempted thread waits for the threads that run on its
		 * CPU. */
		s->waited[cpu] =
		    e->arg[3] >> TALECHAIN_OFF_SHIFT == TALECHAIN_OFF_PREEMPTED;
	} else if (!s->waited[cpu]) {
		s->passed[cpu][s->passes[cpu]++ % SLICE_PASSED] = *slot;
		return 0;
	}
	return err < 0 ? err : slice_add(s, &entered);
}

/* True if a small fault follows at once another of its size, or several. */
static bool
fault_follows(const struct tale_entry *last, const struct talechain_event *e)
{
	const struct talechain_event *v = &last->slot.event;
	int64_t took_ns = tale_event_latency_ns(e);
	int64_t since_ns = (int64_t)(e->ts - v->ts);
	uint64_t more = tale_high(v->arg[3]);

	return v->tid == e->tid && !last->doubtful && e->arg[3] == 0 &&
	       tale_low(v->arg[3]) == 0 && more < UINT32_MAX &&
	       v->arg[2] == (more + 1) * e->arg[2] &&
	       took_ns < TALE_FAULT_SMALL_NS &&
	       (more > 0 || tale_event_latency_ns(v) < TALE_FAULT_SMALL_NS) &&
	       since_ns >= took_ns && since_ns < took_ns + TALE_FAULT_EDGE_NS;
}

/* Take a page fault of one of our threads.  Memory that is touched for the
 * first time gives thousands of faults in a row, with hardly anything between
 * them; they become one event. */
static int
take_fault(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	size_t *place = &s->fault[e->tid % SLICE_CPUS];
	size_t entries = s->tale->entries;
	struct tale_entry *last;
	int err;

	if (!slice_is_thread(s->tale, e->tid))
		return 0;
	last = *place > 0 ? &s->tale->entry[*place - 1] : NULL;
	if (last != NULL && fault_follows(last, e)) {
		last->slot.event.arg[1] += e->ts - last->slot.event.ts;
		last->slot.event.arg[2] += e->arg[2];
		last->slot.event.arg[3] += UINT64_C(1) << 32;
		last->slot.event.ts = e->ts;
		last->at = (struct instant){e->ts};
		return 0;
	}
	err = slice_add(s, slot);
	*place = s->tale->entries > entries ? s->tale->entries : 0;
	return err;
}

/* True for the process of a server that has the request. */
static bool
is_server(const struct tale *t, uint32_t pid)
{
	for (int i = 0; pid != 0 && i < TALE_ATTEMPTS; i++)
		if (t->request.attempt[i].server >= 0 &&
		    tale_attempt_pid(t, i) == pid)
			return true;
	return false;
}

/* Take the sums of a server's thread for our request: the first half.  Not if
 * the thread is another server's: the cookie may be wrong (sums.bpf.c). */
static int
take_sum(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const struct tale *t = s->tale;
	int i = socket_of(t, e->arg[0]);

	if (i != TALE_SOCKET_A && i != TALE_SOCKET_B)
		return 0;
	if (t->request.attempt[attempt_of_socket((enum tale_socket)i)].server !=
	    slot->server)
		return 0;
	s->sum_tid = e->tid;
	s->sum_ns = e->ts;
	return slice_add(s, slot);
}

/* True if a thread lost its CPU to another, which the event then names. */
static bool
preempted(const struct talechain_event *e)
{
	return e->arg[3] >> TALECHAIN_OFF_SHIFT == TALECHAIN_OFF_PREEMPTED ||
	       e->arg[3] >> TALECHAIN_OFF_SHIFT == TALECHAIN_OFF_THROTTLED;
}

int
slice_left(struct slicer *s)
{
	const struct tale_thread *thread = s->tale->thread;
	struct timeline_slot slot;
	int err = 0;

	for (unsigned i = 0; i < s->tale->threads && err == 0; i++) {
		if (!stream_state_fetch(s->reader, &s->state,
			&s->state.left[thread[i].tid % STATE_PLACES],
			thread[i].tid, &slot) ||
		    preempted(&slot.event))
			continue;
		/* Remove the next thread from the event: nothing shows how long
		 * it ran. */
		slot.event.arg[0] =
		    (uint64_t)slot.event.pid << 32 | slot.event.tid;
		slot.event.arg[1] = slot.event.arg[2] = 0;
		err = slice_add(s, &slot);
	}
	return err;
}

int
slice_kernel(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	struct tale *t = s->tale;

	if (e->type == TALECHAIN_THREAD) {
		stream_state_name(&s->state, s->position, slot);
		return 0;
	}
	if (is_flow(e->type))
		return take_flow(s, slot);
	if (!slice_touches(s, slot)) {
		if (e->type == TALECHAIN_SCHEDULE && e->ts < s->from.ns)
			stream_state_switch(&s->state, s->position, slot);
		return 0;
	}
	switch (e->type) {
	case TALECHAIN_IDLE:
		s->idle[e->cpu % SLICE_CPUS] = *slot;
		return 0;
	case TALECHAIN_SCHEDULE:
		return take_schedule(s, slot);
	case TALECHAIN_SOFTIRQ:
		return take_softirq(s, slot);
	case TALECHAIN_WAKEUP:
		return slice_is_thread(t, e->arg[0]) ? slice_add(s, slot) : 0;
	case TALECHAIN_STACK:
		return slice_is_thread(t, tale_low(e->arg[0]))
			   ? slice_add(s, slot)
			   : 0;
	case TALECHAIN_SOCK_PEER:
		return slice_other_take(s, slot);
	case TALECHAIN_PAGEFAULT:
		return take_fault(s, slot);
	case TALECHAIN_EPOCH_SUM:
		return take_sum(s, slot);
	case TALECHAIN_EPOCH_REST:
		return e->tid == s->sum_tid && e->ts == s->sum_ns
			   ? slice_add(s, slot)
			   : 0;
	case TALECHAIN_SYSCALL:
	case TALECHAIN_RECLAIM:
	case TALECHAIN_EXEC:
	case TALECHAIN_STEAL:
	case TALECHAIN_INTERRUPT:
	case TALECHAIN_QUOTA:
	case TALECHAIN_PEER:
		return slice_is_thread(t, e->tid) ? slice_add(s, slot) : 0;
	case TALECHAIN_EXIT:
		return slice_is_thread(t, e->tid) || is_server(t, e->pid)
			   ? slice_add(s, slot)
			   : 0;
	}
	return 0;
}

/* Take the slot that a place of the state holds for a key, and empty the
 * place. */
static int
place_take(struct slicer *s, struct state_thread *place, uint32_t key)
{
	struct timeline_slot slot;

	if (!stream_state_fetch(s->reader, &s->state, place, key, &slot))
		return 0;
	place->tid = 0;
	return slice_add(s, &slot);
}

static int
name_take(struct slicer *s, uint64_t tid)
{
	int err = place_take(
	    s, stream_state_named(&s->state, (uint32_t)tid), (uint32_t)tid);

	for (unsigned part = 0; part < STATE_PARTS && err == 0; part++) {
		uint32_t key = state_java_key(tid, part);

		err = place_take(s, &s->state.java[key % STATE_PLACES], key);
	}
	return err;
}

int
slice_names(struct slicer *s)
{
	struct tale *t = s->tale;
	size_t entries = t->entries;
	const struct talechain_event *e;
	int err = 0;

	for (size_t i = 0; i < entries && err == 0; i++) {
		e = &t->entry[i].slot.event;
		if (e->type >> 12 != 0)
			continue;
		err = name_take(s, e->tid);
		e = &t->entry[i].slot.event;
		if (err == 0 && e->type == TALECHAIN_SCHEDULE) {
			err = name_take(s, tale_low(e->arg[0]));
			e = &t->entry[i].slot.event;
			if (err == 0)
				err = name_take(s, tale_low(e->arg[1]));
		}
	}
	return err;
}

int
tale_relearn(struct tale *t)
{
	struct slicer *s = slicer_new();

	if (s == NULL)
		return -ENOMEM;
	s->tale = t;
	s->to = (struct instant){UINT64_MAX};
	t->cookie[TALE_SOCKET_CLIENT] = t->request.cookie;
	t->cookie[TALE_SOCKET_A] = t->request.attempt[0].cookie;
	t->cookie[TALE_SOCKET_B] = t->request.attempt[1].cookie;
	for (size_t i = 0; i < t->entries; i++)
		slice_learn_first(s, &t->entry[i].slot);
	for (size_t i = 0; i < t->entries && s->kernel; i++)
		slice_learn_second(s, &t->entry[i].slot);
	slice_learned(s);
	free(s);
	tale_chain_bounds(t);
	return 0;
}
