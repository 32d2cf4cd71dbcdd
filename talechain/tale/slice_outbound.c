/* slice_outbound.c: what a request's threads asked of others.
 *
 * The calls of a server's threads on connections that do not lead to its own
 * port say whom they waited for.  Where the other end is Tailor's, Tailor's
 * receipt there and the request that it then began are part of the tale. */
#include "talechain/tale/slice.h"

#define OUTBOUND_MAX 1000 /* calls in a tale */

void
slice_outbound_learn(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const struct tale_thread *thread;

	if (e->ts > s->to.ns)
		return;
	if (e->type == TALECHAIN_PROXY_RECEIVE && e->arg[2] != 0 &&
	    e->arg[0] != s->tale->request.id)
		s->arrival[s->arrivals++ % SLICE_ATTEMPTS] = *slot;
	if (e->type != TALECHAIN_SOCK_RECV)
		return;
	thread = tale_thread_find(s->tale, e->tid);
	if (thread != NULL && thread->attempt < 0)
		s->inward[(e->arg[3] >> 32 & UINT16_MAX) % STATE_PLACES] =
		    *slot;
}

int
slice_outbound_take(struct slicer *s, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const struct tale_thread *thread = tale_thread_find(s->tale, e->tid);

	if (e->type < TALECHAIN_SOCK_SEND || e->type > TALECHAIN_SOCK_PEER ||
	    thread == NULL || thread->attempt < 0 || e->ts < s->from.ns ||
	    e->ts > s->to.ns || s->outbounds++ >= OUTBOUND_MAX)
		return 0;
	return slice_add(s, slot);
}

/* Take what Tailor received of what a call sent, if it did. */
static int
inward_add(struct slicer *s, const struct talechain_event *e)
{
	uint32_t ports = tale_high(e->arg[3]);
	struct timeline_slot *in = &s->inward[(ports >> 16) % STATE_PLACES];
	size_t arrivals =
	    s->arrivals < SLICE_ATTEMPTS ? s->arrivals : SLICE_ATTEMPTS;
	int err;

	if (in->seq == 0 ||
	    tale_high(in->event.arg[3]) != (ports << 16 | ports >> 16))
		return 0;
	err = slice_add_once(s, in);
	for (size_t i = 0; i < arrivals && err == 0; i++)
		if (s->arrival[i].event.arg[2] == in->event.arg[0])
			err = slice_add_once(s, &s->arrival[i]);
	return err;
}

int
slice_inward(struct slicer *s)
{
	size_t entries = s->tale->entries;
	const struct tale_thread *thread;
	int err = 0;

	for (size_t i = 0; i < entries && err == 0; i++) {
		const struct talechain_event e = s->tale->entry[i].slot.event;

		if (e.type != TALECHAIN_SOCK_SEND)
			continue;
		thread = tale_thread_find(s->tale, e.tid);
		if (thread != NULL && thread->attempt >= 0)
			err = inward_add(s, &e);
	}
	return err;
}
