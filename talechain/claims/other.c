/* other.c: the other request that a server's thread had.
 *
 * A thread had another request if it received on another connection of its
 * server before it took this request, and had not responded there when this
 * request came.  If Tailor is at the other end of that connection, Tailor's
 * last attempt on it names the other request.  If another thread responded
 * there, the request had been handed over.  A thread that serves all
 * connections may receive more requests after this one.
 *
 * Where one thread receives all requests and queues them in the program, no
 * event shows when a busy worker thread takes this request out.  The worker's
 * response to the other request does: until then the worker did not have this
 * request. */
#include <inttypes.h>

#include "base/text.h"
#include "talechain/claims/explainer.h"

#define RECEIPTS_MAX 200 /* of other requests that are checked */
/* A thread that computes for longer than this is not idle. */
#define IDLE_RAN_NS (300 * NS_PER_US)

/* The last call of a kind, before an entry, on another of the server's
 * connections, or NULL. */
static const struct talechain_event *
call_before(const struct explainer *ex, int attempt, uint32_t tid,
    enum talechain_type type, size_t before)
{
	const struct tale *t = ex->t;
	const struct talechain_event *v;

	for (size_t i = before; i > 0; i--) {
		v = &t->entry[i - 1].slot.event;
		if (v->type == (uint16_t)type && v->tid == tid &&
		    !t->entry[i - 1].doubtful &&
		    v->arg[0] != t->cookie[TALE_SOCKET_A_PEER + 2 * attempt] &&
		    v->arg[0] != t->cookie[TALE_SOCKET_A + 2 * attempt])
			return v;
	}
	return NULL;
}

/* The request that Tailor forwarded on the connection of a receipt, or 0. */
static uint64_t
request_of(const struct explainer *ex, const struct talechain_event *got)
{
	return request_at(
	    ex, got, TALECHAIN_SOCK_SEND, TALECHAIN_PROXY_ATTEMPT, 3);
}

/* True if another thread than the one that received a request responded to it:
 * that one had handed it over, and was not busy with it. */
static bool
was_handed_over(const struct explainer *ex, const struct talechain_event *got)
{
	const struct event_query sent = {.cookie = got->arg[0],
	    .type = TALECHAIN_SOCK_SEND,
	    .from = moment_at(ex->t, (struct instant){got->ts}),
	    .to = NEVER};
	const struct tale_entry *e = query_next(ex->t, &sent, NULL);

	return e != NULL && e->slot.event.tid != got->tid;
}

uint64_t
other_request(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t came_ns)
{
	size_t taken = entry_from(ex->t, ex->chain.attempt[attempt].taken);
	const struct talechain_event *got =
	    call_before(ex, attempt, tid, TALECHAIN_SOCK_RECV, taken);
	const struct talechain_event *gave = call_before(
	    ex, attempt, tid, TALECHAIN_SOCK_SEND, entry_from(ex->t, came_ns));

	if (got == NULL ||
	    (gave != NULL && gave->arg[0] == got->arg[0] &&
		gave->ts > got->ts) ||
	    was_handed_over(ex, got))
		return 0;
	return request_of(ex, got);
}

/* The server's port, 0 if that is not known. */
static uint16_t
port_of(const struct explainer *ex, int attempt)
{
	const struct event_query q = {
	    .cookie = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * attempt],
	    .type = TALECHAIN_SOCK_RECV,
	    .from = NEVER,
	    .to = NEVER};
	const struct tale_entry *e = query_next(ex->t, &q, NULL);

	return e != NULL ? (uint16_t)(e->slot.event.arg[3] >> 48) : 0;
}

bool
other_is_with(const struct explainer *ex, int attempt, uint32_t tid, int64_t ns)
{
	uint64_t own = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * attempt];
	uint16_t port = port_of(ex, attempt);
	size_t before = entry_from(ex->t, ns);
	const struct talechain_event *v;
	struct event_query sent = {
	    .type = TALECHAIN_SOCK_SEND, .tid = tid, .to = ns - 1};
	unsigned receipts = 0;

	for (size_t i = before; i > 0 && receipts < RECEIPTS_MAX; i--) {
		v = &ex->t->entry[i - 1].slot.event;
		if (v->type != TALECHAIN_SOCK_RECV || v->tid != tid ||
		    v->arg[0] == own || v->arg[3] >> 48 != port ||
		    ex->t->entry[i - 1].doubtful)
			continue;
		receipts++;
		sent.cookie = v->arg[0];
		sent.from = moment_at(ex->t, ex->t->entry[i - 1].at);
		if (query_next(ex->t, &sent, NULL) == NULL)
			return true;
	}
	return false;
}

bool
other_is_served(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t ns)
{
	uint64_t own = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * attempt];
	uint16_t port = port_of(ex, attempt);
	struct event_query q = {.cookie = COOKIE_ANY,
	    .type = TALECHAIN_SOCK_RECV,
	    .tid = tid,
	    .from = NEVER,
	    .to = ns - 1};
	const struct tale_entry *e = query_last(ex->t, &q);

	if (e == NULL || e->slot.event.arg[0] == own ||
	    e->slot.event.arg[3] >> 48 != port)
		return false;
	q.cookie = e->slot.event.arg[0];
	q.type = TALECHAIN_SOCK_SEND;
	q.from = moment_at(ex->t, e->at);
	q.to = ex->chain.attempt[attempt].taken;
	e = query_next(ex->t, &q, NULL);
	return e != NULL && moment_at(ex->t, e->at) > ns;
}

/* When a thread's work on what it received ends: at its next call, or sleep. */
static int64_t
worked_until(const struct explainer *ex, uint32_t tid, size_t got)
{
	const struct talechain_event *v;

	for (size_t i = got + 1; i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->tid != tid || ex->t->entry[i].doubtful)
			continue;
		if (v->type == TALECHAIN_SOCK_RECV ||
		    v->type == TALECHAIN_SOCK_SEND ||
		    (v->type == TALECHAIN_SCHEDULE &&
			v->arg[3] >> TALECHAIN_OFF_SHIFT ==
			    TALECHAIN_OFF_SLEEPING))
			return moment_at(ex->t, ex->t->entry[i].at);
	}
	return ex->leg_end_ns;
}

/* True if an event is a receipt on another connection. */
static bool
is_receipt(const struct explainer *ex, int attempt, uint32_t tid,
    const struct tale_entry *e)
{
	uint64_t own = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * attempt];

	return e->slot.event.type == TALECHAIN_SOCK_RECV && !e->doubtful &&
	       e->slot.event.tid == tid && own != 0 &&
	       e->slot.event.arg[0] != own;
}

/* Claim what a thread computed within a piece of time. */
static void
claim_computed(struct explainer *ex, const struct claim *like)
{
	const struct thread_interval *p = NULL;
	struct claim c;

	while ((p = threads_next(ex, like->tid, p, like->end_ns)) != NULL) {
		c = *like;
		if (p->state == THREAD_RUN &&
		    claim_cut(&c, p->begin_ns, p->end_ns))
			claim_add(ex, &c);
	}
}

/* When a thread began to work on what it sends: at its previous call or at the
 * end of its last sleep, whichever is later.  NEVER: that call received this
 * request. */
static int64_t
worked_since(
    const struct explainer *ex, int attempt, uint32_t tid, size_t sends)
{
	uint64_t own = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * attempt];
	int64_t at = moment_at(ex->t, ex->t->entry[sends].at), since = NEVER;
	size_t first = entry_from(ex->t, ex->leg_begin_ns);
	const struct thread_interval *p = NULL;
	const struct talechain_event *v;

	while ((p = threads_next(ex, tid, p, at)) != NULL)
		if (p->state == THREAD_SLEEP && p->end_ns > ex->leg_begin_ns)
			since = p->end_ns;
	for (size_t i = sends; i > first; i--) {
		v = &ex->t->entry[i - 1].slot.event;
		at = moment_at(ex->t, ex->t->entry[i - 1].at);
		if (at < since)
			return since;
		if (v->tid != tid || (v->type != TALECHAIN_SOCK_RECV &&
					 v->type != TALECHAIN_SOCK_SEND))
			continue;
		return v->type == TALECHAIN_SOCK_RECV && v->arg[0] == own
			   ? NEVER
			   : at;
	}
	return since;
}

/* Set in a claim the time in which its thread worked on what entry i received
 * or sent on another connection.  False: the entry is no such call. */
static bool
worked_at(const struct explainer *ex, struct claim *c, size_t i)
{
	const struct tale_entry *e = &ex->t->entry[i];
	uint64_t own = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * c->attempt];

	if (is_receipt(ex, c->attempt, c->tid, e)) {
		c->begin_ns = moment_at(ex->t, e->at);
		c->end_ns = worked_until(ex, c->tid, i);
	} else if (e->slot.event.type == TALECHAIN_SOCK_SEND && !e->doubtful &&
		   e->slot.event.tid == c->tid && own != 0 &&
		   e->slot.event.arg[0] != own) {
		c->begin_ns = worked_since(ex, c->attempt, c->tid, i);
		c->end_ns = moment_at(ex->t, e->at);
	} else {
		return false;
	}
	c->value = request_of(ex, &e->slot.event);
	return true;
}

void
cause_other(struct explainer *ex, int attempt, uint32_t tid)
{
	size_t i = entry_from(ex->t, ex->leg_begin_ns);
	size_t last = entry_from(ex->t, ex->leg_end_ns);
	unsigned calls = 0;
	struct claim c = {
	    .cause = TALE_CAUSE_BACKEND_QUEUE,
	    .rank = RANK_OTHER,
	    .likely = true, /* the thread may do other things, too */
	    .attempt = attempt,
	    .tid = tid,
	    .cpu = -1,
	};

	if (thread_is(ex, tid, ROLE_IO_URING))
		return;
	for (; i < last && calls < RECEIPTS_MAX; i++) {
		if (!worked_at(ex, &c, i))
			continue;
		calls++;
		if (c.value != 0 && c.begin_ns != NEVER)
			claim_computed(ex, &c);
	}
}

/* True if a thread, right after a moment, was idle until another thread of its
 * process woke it. */
static bool
is_idle_after(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	const struct thread_interval *p = NULL;
	int64_t ran_ns = 0;

	while (ran_ns <= IDLE_RAN_NS &&
	       (p = threads_next(ex, tid, p, INT64_MAX)) != NULL) {
		if (p->end_ns <= ns || p->state == THREAD_READY ||
		    p->state == THREAD_PREEMPTED)
			continue;
		if (p->state != THREAD_RUN)
			return p->wait == WAIT_OTHER && thread_is_peer(ex, p) &&
			       p->state == THREAD_SLEEP;
		ran_ns += p->end_ns - (p->begin_ns > ns ? p->begin_ns : ns);
	}
	return false;
}

/* The last send of the first response to another client after the leg, or NULL.
 *   last  receives the last send of all such responses */
static const struct tale_entry *
response_next(const struct explainer *ex, int attempt, uint32_t tid,
    const struct tale_entry **last)
{
	const struct chain_attempt *a = &ex->chain.attempt[attempt];
	uint64_t own = ex->t->cookie[TALE_SOCKET_A_PEER + 2 * attempt];
	uint16_t port = port_of(ex, attempt);
	size_t i = entry_from(ex->t, ex->leg_end_ns + 1);
	const struct tale_entry *e, *next = NULL;

	for (*last = NULL; i < entry_from(ex->t, a->sent) && port != 0; i++) {
		e = &ex->t->entry[i];
		if (e->slot.event.type != TALECHAIN_SOCK_SEND ||
		    e->slot.event.tid != tid || e->slot.event.arg[0] == own ||
		    e->slot.event.arg[3] >> 48 != port)
			continue;
		if (next == NULL || (next == *last && next->slot.event.arg[0] ==
							  e->slot.event.arg[0]))
			next = e;
		*last = e;
	}
	return next;
}

int64_t
other_responded(const struct explainer *ex, struct claim *c)
{
	const struct chain_attempt *a = &ex->chain.attempt[c->attempt];
	const struct tale_entry *e, *last;

	if (!ex->chain.kernel || a->sender == 0 || a->sender == a->taker ||
	    !thread_is_watched(ex, a->sender) ||
	    thread_is(ex, a->sender, ROLE_IO_URING) ||
	    thread_is(ex, a->taker, ROLE_IO_URING) ||
	    thread_moves_work(ex, a->sender) ||
	    (a->app_tid[1] != 0 && a->app_tid[1] != a->sender))
		return NEVER;
	e = response_next(ex, c->attempt, a->sender, &last);
	if (e == NULL)
		return NEVER;
	c->tid = a->sender;
	c->rank = RANK_OTHER;
	c->value = request_of(ex, &e->slot.event);
	if (is_idle_after(ex, a->sender, moment_at(ex->t, last->at))) {
		c->cause = TALE_CAUSE_NOT_OBSERVED;
		c->note = "was busy with another request; no event shows which "
			  "thread had this one";
	}
	return moment_at(ex->t, e->at);
}

static void
request_count(struct story *s, uint64_t id, int64_t ns)
{
	struct story_request *r = s->request, swap;
	unsigned i;

	for (i = 0; i < s->requests && r[i].id != id; i++)
		continue;
	if (i == STORY_REQUESTS)
		return;
	if (i == s->requests)
		r[s->requests++] = (struct story_request){.id = id};
	r[i].waited_ns += ns;
	for (; i > 0 && r[i].waited_ns > r[i - 1].waited_ns; i--) {
		swap = r[i];
		r[i] = r[i - 1];
		r[i - 1] = swap;
	}
}

void
requests_list(struct explainer *ex)
{
	struct story *s = ex->s;
	uint64_t id;

	for (size_t i = 0; i < s->segments; i++) {
		id = claim_request(&ex->segment_claim[i]);
		if (id != 0)
			request_count(s, id, segment_ns(&s->segment[i]));
	}
}
