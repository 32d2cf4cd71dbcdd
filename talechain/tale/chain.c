/* chain.c: where the request was at which moment.
 *
 * The moments come from four sources: the proxy's own record of the request,
 * the kernel's events of its flows, the client's stamps, the application's
 * events.  In a flow, time and sequence numbers separate the request from its
 * neighbours on the same connection: what Tailor read until it had the whole
 * request is the request, what it sent between then and the end is the
 * response, and TCP numbers every byte.  The same numbers name the bytes at
 * the other end of the flow, if that is on this machine.
 *
 * A moment that contradicts the ones before it is left out.  Why the request
 * spent its time there is not decided here. */
#include "talechain/tale/chain.h"

/* If Tailor's send of the response's end returns this long after the bytes
 * left, Tailor had lost its CPU meanwhile.  The client did not wait for
 * that. */
#define AWAY_NS NS_PER_MS
#define WRITTEN_LATE_NS NS_PER_MS

/* Events of a flow that carry bytes. */
#define FLOW(flow, kind, first, last, bytes)                       \
	{                                                          \
		.cookie = (flow), .type = (kind), .from = (first), \
		.to = (last), .carries = true, .range = (bytes)    \
	}

static void
range_add(struct byte_range *r, uint32_t begin, uint32_t bytes)
{
	if (!r->set)
		*r = (struct byte_range){true, begin, begin + bytes};
	if (sequence_before(begin, r->begin))
		r->begin = begin;
	if (sequence_before(r->end, begin + bytes))
		r->end = begin + bytes;
}

/* The last byte of a range. */
static struct byte_range
range_last(const struct byte_range *r)
{
	return (struct byte_range){r->set, r->end - 1, r->end};
}

/* The bytes of all events of a kind. */
static struct byte_range
query_range(const struct tale *t, const struct event_query *q)
{
	const struct tale_entry *e = NULL;
	struct byte_range r = {0};

	while ((e = query_next(t, q, e)) != NULL)
		range_add(&r, tale_high(e->slot.event.arg[1]),
		    event_bytes(&e->slot.event));
	return r;
}

/* The moment of an entry, NEVER if NULL; *tid, if given: its thread. */
static int64_t
moment(const struct tale *t, const struct tale_entry *e, uint32_t *tid)
{
	if (e == NULL)
		return NEVER;
	if (tid != NULL)
		*tid = e->slot.event.tid;
	return moment_at(t, e->at);
}

/* Find the moments of the flow between the client and Tailor, and of the
 * client's end if that is on this machine. */
static void
chain_client(struct tale_chain *c)
{
	const struct tale *t = c->tale;
	uint64_t ours = t->cookie[TALE_SOCKET_CLIENT];
	uint64_t theirs = t->cookie[TALE_SOCKET_CLIENT_PEER];
	struct event_query l =
	    FLOW(ours, TALECHAIN_SOCK_SEND, NEVER, c->first_byte, NULL);
	int64_t before = moment(t, query_last(t, &l), NULL);
	struct byte_range request, response, last;

	l = (struct event_query)FLOW(
	    ours, TALECHAIN_SOCK_RECV, before, c->received, NULL);
	request = query_range(t, &l);
	l = (struct event_query)FLOW(
	    ours, TALECHAIN_TCP_RECV, NEVER, c->received, &request);
	c->net_in = moment(t, query_next(t, &l, NULL), NULL);
	c->net_whole = moment(t, query_last(t, &l), NULL);
	l = (struct event_query)FLOW(
	    theirs, TALECHAIN_SOCK_SEND, NEVER, c->received, &request);
	c->client_gave = moment(t, query_next(t, &l, NULL), &c->client_tid);
	/* The first bytes came with the request before, and Tailor has read
	 * them. */
	if (c->net_in > c->first_byte && c->first_byte != NEVER)
		c->net_in = NEVER;

	l = (struct event_query)FLOW(
	    ours, TALECHAIN_SOCK_SEND, c->received, c->finished, NULL);
	response = query_range(t, &l);
	last = range_last(&response);
	l = (struct event_query)FLOW(
	    ours, TALECHAIN_TCP_XMIT, c->received, NEVER, &last);
	c->left = moment(t, query_next(t, &l, NULL), NULL);
	l = (struct event_query)FLOW(
	    theirs, TALECHAIN_TCP_RECV, c->received, NEVER, &last);
	c->client_net = moment(t, query_next(t, &l, NULL), NULL);
	l.type = TALECHAIN_SOCK_RECV;
	c->client_read = moment(t, query_next(t, &l, NULL), &c->client_tid);
	c->responded = response.set;
	l.range = &response;
	c->client_began = moment(t, query_next(t, &l, NULL), NULL);
}

/* Set when the request's first bytes were given to the kernel: the stamp of the
 * call, or of the bytes' segment, which is earlier.  Tailor's own stamp is
 * later than both, by any time if Tailor then loses its CPU. */
static void
chain_written(
    struct tale_chain *c, struct chain_attempt *a, struct event_query l)
{
	const struct tale_entry *e = query_next(c->tale, &l, NULL);
	struct byte_range request = query_range(c->tale, &l);

	if (e == NULL)
		return;
	a->send_seen = true;
	if (moment_at(c->tale, e->at) < a->written)
		a->written = moment_at(c->tale, e->at);
	l.type = TALECHAIN_TCP_XMIT;
	l.range = &request;
	e = query_next(c->tale, &l, NULL);
	if (e != NULL && moment_at(c->tale, e->at) < a->written)
		a->written = moment_at(c->tale, e->at);
}

/* When Tailor read the end of another request's response on a kept connection,
 * if this request waited then; else when it received this request. */
static int64_t
chain_before(struct tale_chain *c, const struct chain_attempt *a, uint64_t ours)
{
	struct event_query l =
	    FLOW(ours, TALECHAIN_SOCK_RECV, c->received, a->written, NULL);
	int64_t before = moment(c->tale, query_last(c->tale, &l), NULL);

	return before != NEVER ? before : c->received;
}

/* The first segment of a flow with FIN in [from, to], or NULL. */
static const struct tale_entry *
flow_fin(const struct tale *t, uint64_t cookie, enum talechain_type type,
    int64_t from, int64_t to)
{
	const struct event_query q = {
	    .cookie = cookie, .type = type, .from = from, .to = to};
	const struct tale_entry *e = NULL;

	while ((e = query_next(t, &q, e)) != NULL)
		if ((e->slot.event.arg[3] & FLAG_FIN) != 0)
			return e;
	return NULL;
}

/* Set when, and by which thread, the server closed a connection whose end is
 * the response's end. */
static void
chain_close(struct tale_chain *c, int i, const struct byte_range *response)
{
	struct chain_attempt *a = &c->attempt[i];
	uint64_t ours = c->tale->cookie[TALE_SOCKET_A + 2 * i];
	uint64_t theirs = c->tale->cookie[TALE_SOCKET_A_PEER + 2 * i];
	const struct byte_range last = range_last(response);
	const struct event_query l =
	    FLOW(ours, TALECHAIN_SOCK_RECV, a->written, a->complete, &last);
	const struct tale_thread *closer;
	const struct tale_entry *e;

	a->read = a->first_byte;
	if (!response->set)
		return; /* what Tailor read is in no event */
	a->read = moment(c->tale, query_last(c->tale, &l), NULL);
	if (a->back == NEVER)
		return;
	e = flow_fin(c->tale, ours, TALECHAIN_TCP_RECV, a->back, a->complete);
	a->fin = moment(c->tale, e, NULL);
	if (e == NULL || a->fin == a->back)
		return; /* not seen, or it came with the last byte */
	e = flow_fin(c->tale, theirs, TALECHAIN_TCP_XMIT, a->begun, a->fin);
	closer =
	    e != NULL ? tale_thread_find(c->tale, e->slot.event.tid) : NULL;
	if (closer == NULL || closer->attempt != i)
		return;
	a->closed = moment_at(c->tale, e->at);
	a->closer = closer->tid;
}

/* Find the moments of the flow between Tailor and the server of an attempt. */
static void
chain_server(struct tale_chain *c, int i)
{
	const struct tale *t = c->tale;
	struct chain_attempt *a = &c->attempt[i];
	uint64_t ours = t->cookie[TALE_SOCKET_A + 2 * i];
	uint64_t theirs = t->cookie[TALE_SOCKET_A_PEER + 2 * i];
	int64_t end = a->complete;
	int64_t before = chain_before(c, a, ours);
	struct event_query l = FLOW(ours, TALECHAIN_SOCK_SEND, before,
	    a->first_byte != NEVER ? a->first_byte : end, NULL);
	struct byte_range request = query_range(t, &l), response, last;

	chain_written(c, a, l);
	l = (struct event_query)FLOW(
	    theirs, TALECHAIN_TCP_RECV, NEVER, end, &request);
	a->net_in = moment(t, query_next(t, &l, NULL), NULL);
	l.type = TALECHAIN_SOCK_RECV;
	a->taken = moment(t, query_next(t, &l, NULL), &a->taker);

	l = (struct event_query)FLOW(
	    ours, TALECHAIN_SOCK_RECV, a->written, end, NULL);
	response = query_range(t, &l);
	last = range_last(&response);
	l = (struct event_query)FLOW(
	    ours, TALECHAIN_TCP_RECV, a->written, end, &last);
	a->back = moment(t, query_next(t, &l, NULL), NULL);
	l.cookie = theirs;
	l.type = TALECHAIN_SOCK_SEND;
	/* Tailor did not read the response: search by time, not by bytes. */
	if (!response.set && a->taken != NEVER) {
		l.from = a->taken;
		l.range = NULL;
	}
	/* The call may return only after Tailor has read the bytes. */
	if (response.set)
		l.to = NEVER;
	a->sent = moment(t, query_last(t, &l), &a->sender);
	l.type = TALECHAIN_TCP_XMIT;
	l.to = end;
	a->left = moment(t, query_next(t, &l, NULL), NULL);
	l.range = response.set ? &response : NULL;
	a->begun = moment(t, query_next(t, &l, NULL), NULL);
	a->by_close &= a->first_byte != NEVER && a->complete != NEVER;
	if (a->by_close)
		chain_close(c, i, &response);
}

/* Find the moments of the application's own events of the request. */
static void
chain_application(struct tale_chain *c, int i)
{
	const struct tale *t = c->tale;
	struct chain_attempt *a = &c->attempt[i];
	int64_t *const when[] = {
	    &a->app_receive, &a->app_start, &a->app_finish};
	const struct tale_entry *e;
	size_t k;

	for (size_t n = 0; n < t->entries; n++) {
		e = &t->entry[n];
		k = (size_t)e->slot.event.type - TALECHAIN_APP_RECEIVE;
		if (k >= 3 || e->doubtful ||
		    e->slot.server != t->request.attempt[i].server ||
		    *when[k] != NEVER)
			continue;
		*when[k] = moment_at(t, e->at);
		a->app_tid[k] = e->slot.event.tid;
	}
}

/* Find when Tailor began and ended the attempt. */
static void
chain_proxy(struct tale_chain *c, int i)
{
	struct chain_attempt *a = &c->attempt[i];
	const struct talechain_event *v;
	const struct tale_entry *e;

	for (size_t n = 0; n < c->tale->entries; n++) {
		e = &c->tale->entry[n];
		v = &e->slot.event;
		if (e->doubtful || v->arg[2] != (uint64_t)i ||
		    v->arg[0] != c->tale->request.id)
			continue;
		if (v->type == TALECHAIN_PROXY_ATTEMPT && a->chosen == NEVER)
			a->chosen = moment_at(c->tale, e->at);
		else if (v->type == TALECHAIN_PROXY_ATTEMPT &&
			 a->ended == NEVER)
			a->again = moment_at(c->tale, e->at);
		if (v->type == TALECHAIN_PROXY_ATTEMPT_END) {
			a->ended = moment_at(c->tale, e->at);
			a->by_close = v->arg[3] == TALECHAIN_OUTCOME_CLOSED ||
				      v->arg[3] == TALECHAIN_OUTCOME_FAILED;
		}
	}
}

/* Drop a moment that lies before *last; else the moment becomes *last. */
static void
follow(int64_t *at, int64_t *last)
{
	if (*at == NEVER)
		return;
	if (*last != NEVER && *at < *last)
		*at = NEVER;
	else
		*last = *at;
}

static void
attempt_order(struct chain_attempt *a)
{
	/* Without the kernel's stamp of the send, Tailor's is used: a little
	 * late. */
	int64_t kernel = a->written - (a->send_seen ? 0 : WRITTEN_LATE_NS);
	int64_t app = kernel;

	if (a->written == NEVER)
		return;
	/* Calls are stamped when they return: the bytes may be elsewhere by
	 * then, and Tailor's own stamp is later still. */
	if (moment_ordered(a->left, a->sent))
		a->sent = a->left;
	if (a->complete != NEVER && a->sent > a->complete)
		a->sent = NEVER;
	follow(&a->net_in, &kernel);
	follow(&a->taken, &kernel);
	follow(&a->sent, &kernel);
	follow(&a->left, &kernel);
	follow(&a->back, &kernel);
	follow(&a->app_receive, &app);
	follow(&a->app_start, &app);
	follow(&a->app_finish, &app);
	if (a->complete != NEVER && a->app_finish != NEVER &&
	    a->app_finish > a->complete + NS_PER_MS)
		a->app_finish = NEVER;
}

static void
attempt_find(struct tale_chain *c, int i)
{
	const struct tale_attempt *r = &c->tale->request.attempt[i];
	struct chain_attempt *a = &c->attempt[i];

	*a = (struct chain_attempt){
	    .made = r->server >= 0 && instant_is_set(r->written),
	    .chosen = NEVER,
	    .again = NEVER,
	    .written = moment_at(c->tale, r->written),
	    .net_in = NEVER,
	    .taken = NEVER,
	    .app_receive = NEVER,
	    .app_start = NEVER,
	    .app_finish = NEVER,
	    .begun = NEVER,
	    .sent = NEVER,
	    .left = NEVER,
	    .back = NEVER,
	    .read = NEVER,
	    .closed = NEVER,
	    .fin = NEVER,
	    .first_byte = moment_at(c->tale, r->first_byte),
	    .complete = moment_at(c->tale, r->complete),
	    .ended = NEVER,
	    .pid = r->server_pid,
	};
	chain_proxy(c, i);
	if (!a->made)
		return;
	chain_server(c, i);
	chain_application(c, i);
	attempt_order(a);
}

/* The attempt whose response was used, or is still awaited. */
static int
chain_winner(const struct tale_chain *c)
{
	const struct tale_attempt *r = c->tale->request.attempt;

	for (int i = 0; i < TALE_ATTEMPTS; i++)
		if (c->attempt[i].made && strcmp(r[i].outcome, "won") == 0)
			return i;
	for (int i = TALE_ATTEMPTS - 1; i >= 0; i--)
		if (c->attempt[i].made)
			return i;
	return -1;
}

void
tale_chain_find(struct tale_chain *c, const struct tale *t)
{
	const struct tale_request *r = &t->request;
	const struct tale_client *client = &t->client;

	*c = (struct tale_chain){
	    .tale = t,
	    .scheduled = NEVER,
	    .client_sent = NEVER,
	    .client_received = NEVER,
	    .accepted = moment_at(t, r->accepted),
	    .first_byte = moment_at(t, r->first_byte),
	    .received = moment_at(t, r->received),
	    .committed = moment_at(t, r->committed),
	    .finished = moment_at(t, r->finished),
	};
	if (client->same_host) {
		c->scheduled = moment_at(t, client->scheduled);
		c->client_sent = moment_at(t, client->sent);
		c->client_received = moment_at(t, client->received);
	}
	for (size_t i = 0; i < t->entries; i++) {
		const struct talechain_event *v = &t->entry[i].slot.event;

		c->kernel |= v->type == TALECHAIN_SCHEDULE;
		if (v->type == TALECHAIN_PROXY_RECEIVE && v->arg[0] == r->id)
			c->in_flight = (uint32_t)v->arg[1];
		if (v->type >> 12 == 1 && c->proxy_tid == 0)
			c->proxy_tid = v->tid;
	}
	chain_client(c);
	if (c->net_in == NEVER && instant_is_set(r->arrived)) {
		c->net_in = moment_at(t, r->arrived);
		/* A rounded account: it came no sooner than it was sent. */
		if (c->net_in < 0)
			c->net_in = 0;
	}
	for (size_t i = 0; i < TALE_ATTEMPTS; i++)
		attempt_find(c, (int)i);
	c->winner = chain_winner(c);
}

bool
tale_read(const struct tale *t)
{
	struct tale_chain c;

	if (t->cookie[TALE_SOCKET_CLIENT] == 0)
		return true;
	tale_chain_find(&c, t);
	if (!c.responded)
		return true;
	return t->cookie[TALE_SOCKET_CLIENT_PEER] != 0 ? c.client_read != NEVER
						       : c.left != NEVER;
}

/* True if a request may end when the last byte for its client leaves: only
 * Tailor's own work follows.  Not if the server's close ends the response, and
 * Tailor still waits for that close; nor if the observer was late, as then the
 * last byte seen need not be the last. */
static bool
ends_with_last_byte(const struct tale_chain *c)
{
	const struct chain_attempt *a;

	if (!tale_whole(c->tale))
		return false;
	if (c->winner < 0)
		return true;
	a = &c->attempt[c->winner];
	return !a->by_close || a->complete == NEVER || c->left >= a->complete;
}

void
tale_chain_bounds(struct tale *t)
{
	struct tale_chain c;
	struct instant left;

	if (t->cookie[TALE_SOCKET_CLIENT] == 0)
		return;
	tale_chain_find(&c, t);
	/* The client's reads, if seen, show best when it had all. */
	if (c.client_read != NEVER && !t->client.same_host &&
	    instant_is_set(t->request.acknowledged))
		t->end = t->request.finished;
	if (c.left != NEVER && instant_is_set(t->request.finished)) {
		left = instant_plus(t->t0, c.left);
		if (instant_before(t->end, left) ||
		    (!t->client.same_host && ends_with_last_byte(&c) &&
			!instant_is_set(t->request.acknowledged) &&
			instant_since(t->request.finished, left) > AWAY_NS))
			t->end = left;
	}
	/* The client read the response in pieces: the response lasts until the
	 * last piece is read. */
	if (c.client_read != NEVER &&
	    (c.client_began < c.client_read ||
		instant_is_set(t->request.acknowledged))) {
		left = instant_plus(t->t0, c.client_read);
		if (instant_before(t->end, left) && !t->client.same_host)
			t->end = left;
	}
	/* Events are more precise than the kernel's account. */
	if (c.net_in != NEVER &&
	    (c.net_in < 0 || t->t0.ns == t->request.arrived.ns))
		t->t0 = instant_plus(t->t0, c.net_in);
}
