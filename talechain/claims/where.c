/* where.c: where a thread waited: the system call in which it left its CPU, and
 * the other end of the connection that it waited for.
 *
 * Arriving bytes wake a thread in a softirq.  If the thread's next call on a
 * socket is a receipt, the bytes came from that connection: certainly if the
 * thread slept in this very call.  If it slept in a call that waits for many
 * connections (epoll_wait), the sentence only gives the order of events.  In
 * connect() a thread waits for the end that the call names. */
#include <arpa/inet.h>

#include "talechain/claims/explainer.h"

#define SOFTIRQ_NET_RX 3
#define NEAR_MAX 1000 /* events searched around a sleep */

#ifndef SYS_epoll_wait /* some machines have only the newer call */
#define SYS_epoll_wait SYS_epoll_pwait
#endif

bool
call_is_loop(unsigned call)
{
	return call == SYS_epoll_wait + 1 || call == SYS_epoll_pwait + 1 ||
	       call == SYS_epoll_pwait2 + 1 || call == SYS_io_uring_enter + 1;
}

static bool
is_call(const struct talechain_event *v)
{
	return v->type >= TALECHAIN_SOCK_SEND && v->type <= TALECHAIN_SOCK_PEER;
}

/* True if a call is on a connection to the server itself: its other end is
 * a client of the server. */
static bool
is_inbound(
    const struct explainer *ex, int attempt, const struct talechain_event *v)
{
	const struct event_query q = {
	    .cookie = ex->t->cookie[TALE_SOCKET_A + 2 * attempt],
	    .type = TALECHAIN_SOCK_SEND,
	    .also = TALECHAIN_SOCK_RECV,
	    .from = NEVER,
	    .to = NEVER};
	const struct tale_entry *own = query_next(ex->t, &q, NULL);

	return own == NULL || /* not known */
	       v->arg[3] >> 48 == (own->slot.event.arg[3] >> 32 & UINT16_MAX);
}

/* The thread's first call on a socket after a moment, before it sleeps. */
static const struct talechain_event *
call_after(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	size_t i = entry_from(ex->t, ns), end = i + NEAR_MAX;
	const struct talechain_event *v;

	for (; i < end && i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->tid != tid || ex->t->entry[i].doubtful)
			continue;
		if (is_call(v))
			return v;
		if (v->type == TALECHAIN_SCHEDULE &&
		    v->arg[3] >> TALECHAIN_OFF_SHIFT == TALECHAIN_OFF_SLEEPING)
			return NULL;
	}
	return NULL;
}

/* The thread's last call on a socket before a moment. */
static const struct talechain_event *
call_before(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	size_t i = entry_from(ex->t, ns), end = i > NEAR_MAX ? i - NEAR_MAX : 0;
	const struct talechain_event *v;

	for (; i > end; i--) {
		v = &ex->t->entry[i - 1].slot.event;
		if (v->tid == tid && is_call(v))
			return v;
	}
	return NULL;
}

const struct talechain_event *
wait_peer(
    const struct explainer *ex, int attempt, const struct thread_interval *p)
{
	const struct talechain_event *v;

	if (p->state != THREAD_SLEEP || p->woken_ns == NEVER ||
	    p->context != TALECHAIN_CONTEXT_SOFTIRQ ||
	    p->vector != SOFTIRQ_NET_RX)
		return NULL;
	if (p->call == SYS_connect + 1) {
		v = call_before(ex, p->tid, p->begin_ns);
		return v != NULL && v->type == TALECHAIN_SOCK_PEER ? v : NULL;
	}
	v = call_after(ex, p->tid, p->end_ns);
	if (v != NULL && v->type == TALECHAIN_SOCK_PEER) /* of the receipt */
		v = call_after(
		    ex, p->tid, moment_at(ex->t, (struct instant){v->ts}) + 1);
	return v != NULL && v->type == TALECHAIN_SOCK_RECV &&
		       !is_inbound(ex, attempt, v)
		   ? v
		   : NULL;
}

/* True if a PEER event has the first byte of a receipt. */
static bool
has_sent(const struct talechain_event *e, const struct talechain_event *v)
{
	uint32_t first = tale_high(v->arg[1]) - tale_high(e->arg[2]);

	return e->arg[0] == 0 &&
	       peer_ports(e) == ports_other_end(event_ports(v)) &&
	       first < tale_low(e->arg[2]);
}

const struct talechain_event *
wait_sender(const struct explainer *ex, const struct thread_interval *p,
    const struct talechain_event *received)
{
	const struct tale *t = ex->t;
	const struct talechain_event *e;

	if (received == NULL && (p->other == 0 || p->woken_ns == NEVER))
		return NULL;
	for (size_t i = entry_from(t, p->begin_ns); i < t->entries; i++) {
		e = &t->entry[i].slot.event;
		if (e->type != TALECHAIN_PEER || t->entry[i].doubtful)
			continue;
		if (received != NULL
			? has_sent(e, received)
			: e->tid == p->other && e->arg[0] == p->tid &&
			      moment_at(t, t->entry[i].at) == p->woken_ns)
			return e;
	}
	return NULL;
}

/* The event that has a call's remote address: SOCK_PEER for IPv6, else v. */
static const struct talechain_event *
address_of(const struct explainer *ex, const struct talechain_event *v)
{
	const struct event_query q = {.cookie = v->arg[0],
	    .type = TALECHAIN_SOCK_PEER,
	    .from = NEVER,
	    .to = NEVER};
	const struct tale_entry *a = query_next(ex->t, &q, NULL);

	return tale_low(v->arg[3]) == 0 && a != NULL ? &a->slot.event : v;
}

/* "10.0.0.5:5432"; "" if that is not known. */
static void
peer_write(const struct explainer *ex, const struct talechain_event *v,
    char out[STORY_PEER])
{
	const struct talechain_event *a = address_of(ex, v);
	uint32_t ipv4 = htonl(tale_low(a->arg[3]));
	unsigned port = a->arg[3] >> 32 & UINT16_MAX;
	char text[INET6_ADDRSTRLEN];

	out[0] = '\0';
	if (ipv4 != 0)
		snprintf(out, STORY_PEER, "%s:%u",
		    inet_ntop(AF_INET, &ipv4, text, sizeof(text)), port);
	else if (a->type == TALECHAIN_SOCK_PEER)
		snprintf(out, STORY_PEER, "[%s]:%u",
		    inet_ntop(AF_INET6, &a->arg[1], text, sizeof(text)), port);
}

void
claim_where(
    const struct explainer *ex, const struct claim *c, struct story_segment *g)
{
	g->call = c->call;
	if (c->call != 0)
		g->stack = stack_after(ex, c->tid, g->end_ns);
	if (c->peer == NULL)
		return;
	peer_write(ex, c->peer, g->peer);
	/* The request that Tailor began for what the server sent there. */
	g->peer_request = request_at(
	    ex, c->peer, TALECHAIN_SOCK_RECV, TALECHAIN_PROXY_RECEIVE, 2);
}
