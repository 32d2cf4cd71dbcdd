/* slice_other.c: which other request a server's thread had.
 *
 * A thread that reads a request too late had another one, as has one that
 * responds to another before it works on this.  Tailor forwarded that as well:
 * the port of that call leads to Tailor's socket, and its last attempt before
 * to the request.  The three events become
 * part of the tale.  Requests that did not come through Tailor have none. */
#include "talechain/tale/slice.h"

/* The attempt at whose server's port a socket of an event is, or -1. */
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
	uint16_t local = (uint16_t)(e->arg[3] >> 48);
	uint16_t remote = (uint16_t)(e->arg[3] >> 32);

	if (e->ts > s->to.ns)
		return;
	if (e->type == TALECHAIN_PROXY_ATTEMPT && e->arg[3] != 0 &&
	    e->arg[0] != s->tale->request.id)
		s->attempt[s->attempts++ % SLICE_ATTEMPTS] = *slot;
	else if (e->type == TALECHAIN_SOCK_SEND && !is_own(s, e) &&
		 attempt_of_port(s, remote) >= 0)
		s->forward[local % STATE_PLACES] = *slot;
}

int
slice_other_take(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	uint16_t local = (uint16_t)(e->arg[3] >> 48);
	int attempt = attempt_of_port(s, local);

	if ((e->type != TALECHAIN_SOCK_RECV &&
		e->type != TALECHAIN_SOCK_SEND) ||
	    e->arg[0] == 0)
		return 0;
	if (attempt < 0)
		return slice_outbound_take(s, slot);
	if (e->ts >= s->from.ns)
		return slice_is_thread(s->tale, e->tid) && e->ts <= s->to.ns
			   ? slice_add(s, slot)
			   : 0;
	s->got[e->tid % STATE_PLACES] = *slot;
	return 0;
}

/* Before the window: what a place of the state holds for a key, into a slot. */
static bool
fetch(struct slicer *s, const struct state_thread *place, uint32_t key,
    struct timeline_slot *out)
{
	return stream_state_fetch(s->reader, &s->state, place, key, out);
}

/* The last attempt on a connection of Tailor's before a moment, or NULL. */
static struct timeline_slot *
attempt_before(struct slicer *s, uint64_t cookie, uint64_t ts)
{
	struct timeline_slot *found = NULL, *a, before;
	size_t count =
	    s->attempts < SLICE_ATTEMPTS ? s->attempts : SLICE_ATTEMPTS;

	for (size_t i = 0; i < count; i++) {
		a = &s->attempt[i];
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
	found = &s->attempt[s->attempts++ % SLICE_ATTEMPTS];
	*found = before;
	return found;
}

/* Take what leads from one call to the request. */
static int
other_add(struct slicer *s, const struct talechain_event *e)
{
	uint32_t ports = (uint32_t)(e->arg[3] >> 32);
	struct timeline_slot *forward =
	    &s->forward[(ports & UINT16_MAX) % STATE_PLACES];
	struct timeline_slot *attempt;
	int err;

	if (forward->seq == 0)
		fetch(s, &s->state.forward[(ports & UINT16_MAX) % STATE_PLACES],
		    ports & UINT16_MAX, forward);
	if (forward->seq == 0 ||
	    forward->event.arg[3] >> 32 != (ports << 16 | ports >> 16))
		return 0;
	attempt = attempt_before(s, forward->event.arg[0], e->ts);
	if (attempt == NULL)
		return 0;
	err = slice_add_once(s, attempt);
	return err < 0 ? err : slice_add_once(s, forward);
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
		    attempt_of_port(s, (uint16_t)(got->event.arg[3] >> 48)) >=
			0)
			err = slice_add(s, got);
	}
	entries = t->entries;
	for (size_t i = 0; i < entries && err == 0; i++) {
		const struct talechain_event e = t->entry[i].slot.event;

		if ((e.type == TALECHAIN_SOCK_RECV ||
			e.type == TALECHAIN_SOCK_SEND) &&
		    !is_own(s, &e) &&
		    attempt_of_port(s, (uint16_t)(e.arg[3] >> 48)) >= 0)
			err = other_add(s, &e);
	}
	return err;
}
