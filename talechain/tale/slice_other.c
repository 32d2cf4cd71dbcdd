/* slice_other.c: other requests that a server's threads had, and calls that
 * they made to others.
 *
 * A thread that reads this request late had another one; so had a thread that
 * responds to another request before it works on this one.  If Tailor forwarded
 * the other request, the port of the thread's call leads to Tailor's socket,
 * and the last attempt on that socket to the request.  These three events
 * become part of the tale.
 *
 * Calls on connections that do not lead to the server's own port show which
 * peer the server waited for.  If the other end is Tailor's, Tailor's receipt
 * there and the request that it began become part of the tale. */
#include "talechain/tale/slice.h"

#define OUTBOUND_MAX 1000 /* calls in a tale */

static struct timeline_slot *
ring_put(struct slot_ring *r, const struct timeline_slot *slot)
{
	struct timeline_slot *place = &r->slot[r->puts++ % SLICE_ATTEMPTS];

	*place = *slot;
	return place;
}

static size_t
ring_count(const struct slot_ring *r)
{
	return r->puts < SLICE_ATTEMPTS ? r->puts : SLICE_ATTEMPTS;
}

/* The attempt whose server has a port, or -1. */
static int
attempt_of_port(const struct slicer *s, uint16_t port)
{
	const struct slice_socket *k;

	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		k = &s->socket[TALE_SOCKET_A + 2 * i];
		if (k->seen && k->remote == port)
			return i;
	}
	return -1;
}

/* True if an event is of one of the request's own sockets. */
static bool
is_own(const struct slicer *s, const struct talechain_event *e)
{
	for (int i = 0; i < TALE_SOCKETS; i++)
		if (s->tale->cookie[i] == e->arg[0])
			return true;
	return false;
}

void
slice_other_learn(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	bool other = e->arg[0] != s->tale->request.id;
	const struct tale_thread *thread;

	if (e->ts > s->to.ns)
		return;
	switch (e->type) {
	case TALECHAIN_PROXY_ATTEMPT:
		if (e->arg[3] != 0 && other)
			ring_put(&s->attempts, slot);
		break;
	case TALECHAIN_PROXY_RECEIVE:
		if (e->arg[2] != 0 && other)
			ring_put(&s->arrivals, slot);
		break;
	case TALECHAIN_SOCK_SEND:
		if (!is_own(s, e) && attempt_of_port(s, event_remote(e)) >= 0)
			s->forward[event_local(e) % STATE_PLACES] = *slot;
		break;
	case TALECHAIN_SOCK_RECV:
		thread = tale_thread_find(s->tale, e->tid);
		if (thread != NULL && thread->attempt < 0)
			s->inward[event_remote(e) % STATE_PLACES] = *slot;
		break;
	}
}

/* Take a call on a connection that leads elsewhere. */
static int
outbound_take(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const struct tale_thread *thread = tale_thread_find(s->tale, e->tid);

	return thread == NULL || thread->attempt < 0 || e->ts < s->from.ns ||
		       e->ts > s->to.ns || s->outbounds++ >= OUTBOUND_MAX
		   ? 0
		   : slice_add(s, slot);
}

int
slice_other_take(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;

	if (e->type == TALECHAIN_SOCK_PEER)
		return outbound_take(s, slot);
	if ((e->type != TALECHAIN_SOCK_RECV &&
		e->type != TALECHAIN_SOCK_SEND) ||
	    e->arg[0] == 0)
		return 0;
	if (attempt_of_port(s, event_local(e)) < 0)
		return outbound_take(s, slot);
	if (e->ts >= s->from.ns)
		return slice_is_thread(s->tale, e->tid) && e->ts <= s->to.ns
			   ? slice_add(s, slot)
			   : 0;
	s->got[e->tid % STATE_PLACES] = *slot;
	return 0;
}

/* Read the slot from before the window that a place of the state holds for a
 * key.  False: there is none. */
static bool
fetch(struct slicer *s, const struct state_thread *place, uint32_t key,
    struct timeline_slot *out)
{
	return stream_state_fetch(s->reader, &s->state, place, key, out);
}

/* Another request's last attempt on a connection of Tailor's before a moment,
 * or NULL. */
static struct timeline_slot *
attempt_before(struct slicer *s, uint64_t cookie, uint64_t ts)
{
	struct timeline_slot *found = NULL, *a, before;

	for (size_t i = 0; i < ring_count(&s->attempts); i++) {
		a = &s->attempts.slot[i];
		if (a->event.arg[3] == cookie && a->event.ts <= ts &&
		    (found == NULL || found->event.ts < a->event.ts))
			found = a;
	}
	if (found != NULL ||
	    !fetch(s, &s->state.attempt[cookie % STATE_PLACES],
		(uint32_t)cookie, &before) ||
	    before.event.arg[3] != cookie || before.event.ts > ts ||
	    before.event.arg[0] == s->tale->request.id)
		return found;
	return ring_put(&s->attempts, &before);
}

/* Take the events that lead from a call to the other request. */
static int
other_add(struct slicer *s, const struct talechain_event *e)
{
	uint16_t port = event_remote(e);
	struct timeline_slot *forward = &s->forward[port % STATE_PLACES];
	struct timeline_slot *attempt;
	int err;

	if (forward->seq == 0)
		fetch(s, &s->state.forward[port % STATE_PLACES], port, forward);
	if (forward->seq == 0 ||
	    event_ports(&forward->event) != ports_other_end(event_ports(e)))
		return 0;
	attempt = attempt_before(s, forward->event.arg[0], e->ts);
	if (attempt == NULL)
		return 0;
	err = slice_add_once(s, attempt);
	return err < 0 ? err : slice_add_once(s, forward);
}

/* Take Tailor's receipt of what a call sent, and the requests on that socket,
 * if the other end is Tailor's. */
static int
inward_add(struct slicer *s, const struct talechain_event *e)
{
	struct timeline_slot *in = &s->inward[event_local(e) % STATE_PLACES],
			     *a;
	int err;

	if (in->seq == 0 ||
	    event_ports(&in->event) != ports_other_end(event_ports(e)))
		return 0;
	err = slice_add_once(s, in);
	for (size_t i = 0; i < ring_count(&s->arrivals) && err == 0; i++) {
		a = &s->arrivals.slot[i];
		if (a->event.arg[2] == in->event.arg[0])
			err = slice_add_once(s, a);
	}
	return err;
}

int
slice_others(struct slicer *s)
{
	const struct tale *t = s->tale;
	size_t entries;
	struct timeline_slot *got;
	int err = 0;

	for (unsigned i = 0; i < t->threads && err == 0; i++) {
		got = &s->got[t->thread[i].tid % STATE_PLACES];
		if (got->seq == 0)
			fetch(s,
			    &s->state.call[t->thread[i].tid % STATE_PLACES],
			    t->thread[i].tid, got);
		if (got->seq != 0 && got->event.tid == t->thread[i].tid &&
		    got->event.type == TALECHAIN_SOCK_RECV &&
		    !is_own(s, &got->event) &&
		    attempt_of_port(s, event_local(&got->event)) >= 0)
			err = slice_add(s, got);
	}
	entries = t->entries;
	for (size_t i = 0; i < entries && err == 0; i++) {
		const struct talechain_event e = t->entry[i].slot.event;
		const struct tale_thread *thread = tale_thread_find(t, e.tid);

		if (e.type != TALECHAIN_SOCK_RECV &&
		    e.type != TALECHAIN_SOCK_SEND)
			continue;
		if (!is_own(s, &e) && attempt_of_port(s, event_local(&e)) >= 0)
			err = other_add(s, &e);
		if (err == 0 && e.type == TALECHAIN_SOCK_SEND &&
		    thread != NULL && thread->attempt >= 0)
			err = inward_add(s, &e);
	}
	return err;
}
