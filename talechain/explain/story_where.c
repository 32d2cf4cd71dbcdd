/* story_where.c: where a thread waited, not only for what: the system call that
 * it left its CPU in, and the other end of the connection that it waited for.
 *
 * Bytes that come wake a thread in a softirq.  If its next call on a socket is
 * a receipt, these came from there: certainly if it slept in that very call.
 * If it slept in one that waits for many (epoll_wait), the sentence says no
 * more than the order of events.  In connect() it waits for the end that it
 * named. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/explain/explainer.h"

#define SOFTIRQ_NET_RX 3
#define NEAR_MAX 1000 /* events looked at around a sleep */
#define ALL 99	      /* percent: as good as all of it */

#ifndef SYS_epoll_wait /* some machines have the newer call alone */
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

/* Whether a call is on a connection to the server itself: its other end is
 * a client of the server. */
static bool
is_inbound(
    const struct explainer *ex, int attempt, const struct talechain_event *v)
{
	const struct tale *t = ex->t;
	uint64_t ours = t->cookie[TALE_SOCKET_A + 2 * attempt];
	const struct talechain_event *own;

	for (size_t i = 0; i < t->entries; i++) {
		own = &t->entry[i].slot.event;
		if ((own->type == TALECHAIN_SOCK_SEND ||
			own->type == TALECHAIN_SOCK_RECV) &&
		    own->arg[0] == ours)
			return v->arg[3] >> 48 ==
			       (own->arg[3] >> 32 & UINT16_MAX);
	}
	return true; /* not known */
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
		    v->arg[3] >> 56 == TALECHAIN_OFF_SLEEPING)
			return NULL;
	}
	return NULL;
}

/* Its last one before. */
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

/* An IPv6 address is in an event of its own. */
static const struct talechain_event *
address_of(const struct explainer *ex, const struct talechain_event *v)
{
	const struct talechain_event *a;

	for (size_t i = 0; tale_low(v->arg[3]) == 0 && i < ex->t->entries;
	     i++) {
		a = &ex->t->entry[i].slot.event;
		if (a->type == TALECHAIN_SOCK_PEER && a->arg[0] == v->arg[0])
			return a;
	}
	return v;
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

/* The request that Tailor began for what came over a connection of ours, the
 * last before a receipt there; 0: the other end is not Tailor's. */
static uint64_t
request_there(const struct explainer *ex, const struct talechain_event *v)
{
	uint32_t ports = tale_high(v->arg[3]);
	uint64_t cookie = 0, request = 0;
	const struct talechain_event *e;

	for (size_t i = 0; i < ex->t->entries && cookie == 0; i++) {
		e = &ex->t->entry[i].slot.event;
		if (e->type == TALECHAIN_SOCK_RECV &&
		    tale_high(e->arg[3]) == (ports << 16 | ports >> 16))
			cookie = e->arg[0];
	}
	for (size_t i = 0; i < ex->t->entries && cookie != 0; i++) {
		e = &ex->t->entry[i].slot.event;
		if (e->type == TALECHAIN_PROXY_RECEIVE && e->ts <= v->ts &&
		    e->arg[2] == cookie && e->arg[0] != ex->t->request.id)
			request = e->arg[0];
	}
	return request;
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
	g->peer_request = request_there(ex, c->peer);
}

/* Whether a piece was waited for where another was. */
static bool
is_same(
    const struct story_segment *a, const struct story_segment *b, bool of_peer)
{
	return of_peer ? strcmp(a->peer, b->peer) == 0 : a->call == b->call;
}

/* " (3.0 ms of it)" if a part only of a cause was waited for where a piece
 * was. */
static void
say_part(const struct explainer *ex, const struct story_segment *g,
    bool of_peer, const struct line *l)
{
	const struct story *s = ex->s;
	int64_t ns = 0;
	char ms[32];

	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i].cause == g->cause &&
		    is_same(&s->segment[i], g, of_peer))
			ns += s->segment[i].end_ns - s->segment[i].begin_ns;
	if (ns < s->cause_ns[g->cause] / 100 * ALL)
		line_add(l, " (%s of it)", text_ms(ms, ns));
}

/* The piece of a claim that one of them was copied from. */
static const struct story_segment *
piece_of(const struct explainer *ex, const struct claim *c)
{
	return &ex->s->segment[c - ex->segment_claim];
}

void
say_part_of_other(
    const struct explainer *ex, const struct claim *c, const struct line *l)
{
	const struct story *s = ex->s;
	const struct claim *k;
	int64_t ns = 0;
	char ms[32];

	for (size_t i = 0; i < s->segments; i++) {
		k = &ex->segment_claim[i];
		if (k->cause == c->cause && k->other == c->other)
			ns += s->segment[i].end_ns - s->segment[i].begin_ns;
	}
	if (ns < s->cause_ns[c->cause] / 100 * ALL)
		line_add(l, " (%s%s of it)", c->unseen ? "at the end of " : "",
		    text_ms(ms, ns));
}

void
say_call(
    const struct explainer *ex, const struct claim *c, const struct line *l)
{
	char name[TALECHAIN_CALL_SIZE];

	if (c->call == 0)
		return;
	line_add(l, " in %s", talechain_call_name(c->call - 1, name));
	say_part(ex, piece_of(ex, c), false, l);
}

/* Whether a system call returns as soon as it has received. */
static bool
is_receive(unsigned call)
{
	return call == SYS_read + 1 || call == SYS_readv + 1 ||
	       call == SYS_recvfrom + 1 || call == SYS_recvmsg + 1 ||
	       call == SYS_recvmmsg + 1;
}

bool
say_peer(
    const struct explainer *ex, const struct claim *c, const struct line *l)
{
	const struct story_segment *g = piece_of(ex, c);
	char name[NAME_SIZE], receiver[NAME_SIZE];

	if (g->peer[0] == '\0')
		return false;
	if (c->other != 0) {
		thread_name(ex, c->other, name, sizeof(name));
		if (c->peer->tid == c->other)
			line_add(l,
			    " until %s, which received from %s, woke it", name,
			    g->peer);
		else
			line_add(l,
			    " until %s woke it, once %s had received "
			    "from %s",
			    name,
			    thread_name(
				ex, c->peer->tid, receiver, sizeof(receiver)),
			    g->peer);
	} else if (c->call == SYS_connect + 1)
		line_add(l, " to %s", g->peer);
	else if (is_receive(c->call))
		line_add(l, " until bytes came from %s", g->peer);
	else
		line_add(
		    l, " until bytes came, and then received from %s", g->peer);
	say_part(ex, g, true, l);
	if (g->peer_request != 0)
		line_add(l, ": Tailor's request %016" PRIx64, g->peer_request);
	return true;
}
