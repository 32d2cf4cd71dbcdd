/* cause_tcp.c: what TCP did with bytes it had been given.
 *
 * The event of a send says how many bytes stayed in the socket and why; they
 * left with the first segment that covers them.  Between the two they waited
 * for what held them: an ACK that the peer delays (Nagle), a cork, a window.
 * Bytes leave in order: from a later call on, what holds that call's bytes
 * holds the earlier ones, too.  A retransmitted segment was lost, so the time
 * since it was first sent counts. */
#include "talechain/claims/explainer.h"

/* The first segment of a flow, sent in [from, to], with the byte numbered
 * sequence, or NULL. */
static const struct tale_entry *
segment_with(const struct explainer *ex, uint64_t cookie, uint32_t sequence,
    int64_t from, int64_t to)
{
	const struct byte_range byte = {true, sequence, sequence + 1};
	const struct event_query q = {.cookie = cookie,
	    .type = TALECHAIN_TCP_XMIT,
	    .from = from,
	    .to = to,
	    .range = &byte};

	return query_next(ex->t, &q, NULL);
}

static enum tale_cause
cause_of_held(uint32_t held)
{
	switch (held) {
	case TALECHAIN_HELD_NAGLE:
		return TALE_CAUSE_DELAYED_ACK;
	case TALECHAIN_HELD_CORK:
		return TALE_CAUSE_CORK;
	case TALECHAIN_HELD_CONGESTION:
		return TALE_CAUSE_CONGESTION;
	case TALECHAIN_HELD_WINDOW:
		return TALE_CAUSE_WINDOW;
	}
	return TALE_CAUSE_HELD;
}

/* When the flow's next call that sends ended; FAR: there is none. */
static int64_t
sent_next(const struct explainer *ex, const struct tale_entry *e)
{
	const struct event_query q = {.cookie = e->slot.event.arg[0],
	    .type = TALECHAIN_SOCK_SEND,
	    .from = NEVER,
	    .to = NEVER};

	e = query_next(ex->t, &q, e);
	return e != NULL ? moment_at(ex->t, e->at) : FAR;
}

/* Claim the wait of the bytes that one call left in the socket. */
static void
claim_held(struct explainer *ex, struct claim *c, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	uint32_t bytes = tale_low(v->arg[1]), unsent = tale_high(v->arg[2]);
	const struct tale_entry *left;
	int64_t next;

	if (unsent == 0 || tale_low(v->arg[2]) == TALECHAIN_HELD_NOT)
		return;
	c->begin_ns = moment_at(ex->t, e->at);
	left = segment_with(
	    ex, v->arg[0], tale_high(v->arg[1]) + bytes - 1, c->begin_ns, FAR);
	c->end_ns = left != NULL ? moment_at(ex->t, left->at) : ex->leg_end_ns;
	next = sent_next(ex, e);
	if (c->end_ns > next)
		c->end_ns = next;
	c->cause = cause_of_held(tale_low(v->arg[2]));
	c->value = unsent;
	claim_add(ex, c);
}

static void
claim_lost(struct explainer *ex, struct claim *c, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	const struct tale_entry *sent;

	c->end_ns = moment_at(ex->t, e->at);
	sent =
	    segment_with(ex, v->arg[0], tale_high(v->arg[1]), -FAR, c->end_ns);
	c->begin_ns =
	    sent != NULL ? moment_at(ex->t, sent->at) : ex->leg_begin_ns;
	c->cause = TALE_CAUSE_RETRANSMIT;
	c->value = tale_high(v->arg[2]);
	claim_add(ex, c);
}

void
cause_tcp(struct explainer *ex, const struct claim *like, uint64_t cookie,
    const char *what)
{
	struct claim c = *like;
	const struct talechain_event *v;

	c.rank = RANK_TCP;
	c.note = what;
	for (size_t i = 0; cookie != 0 && i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->arg[0] != cookie || ex->t->entry[i].doubtful)
			continue;
		if (v->type == TALECHAIN_SOCK_SEND)
			claim_held(ex, &c, &ex->t->entry[i]);
		else if (v->type == TALECHAIN_TCP_RETRANSMIT)
			claim_lost(ex, &c, &ex->t->entry[i]);
	}
}
