/* where.c: where a thread waited, in words: the system call, the other end of a
 * connection, and how much of a cause was there. */
#include "talechain/words/say.h"

#include <inttypes.h>

#include "talechain/events/events.h"

#define ALL 99 /* percent: as good as all of it */

/* The segment of a claim, which must be in ex->segment_claim. */
static const struct story_segment *
piece_of(const struct explainer *ex, const struct claim *c)
{
	return &ex->s->segment[c - ex->segment_claim];
}

/* Properties that pieces of a cause may have in common. */
enum common { COMMON_CALL, COMMON_PEER, COMMON_OTHER };

static bool
is_same(const struct explainer *ex, const struct claim *a,
    const struct claim *b, enum common by)
{
	if (by == COMMON_PEER)
		return strcmp(piece_of(ex, a)->peer, piece_of(ex, b)->peer) ==
		       0;
	return by == COMMON_CALL ? a->call == b->call : a->other == b->other;
}

/* Append " (3.0 ms of it)" if a claim shares a property with only a part of its
 * cause's time. */
static void
say_part(const struct explainer *ex, const struct claim *c, enum common by,
    const struct phrase *l)
{
	const struct story *s = ex->s;
	int64_t ns = 0;
	char ms[32];

	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i].cause == c->cause &&
		    is_same(ex, &ex->segment_claim[i], c, by))
			ns += segment_ns(&s->segment[i]);
	if (ns < s->cause_ns[c->cause] / 100 * ALL)
		phrase_add(l, " (%s%s of it)",
		    by == COMMON_OTHER && c->unseen ? "at the end of " : "",
		    text_ms(ms, ns));
}

void
say_part_of_other(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	say_part(ex, c, COMMON_OTHER, l);
}

void
say_call(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	char name[TALECHAIN_CALL_SIZE];

	if (c->call == 0)
		return;
	phrase_add(l, " in %s", talechain_call_name(c->call - 1, name));
	say_part(ex, c, COMMON_CALL, l);
}

/* True if a system call returns as soon as it has received. */
static bool
is_receive(unsigned call)
{
	return call == SYS_read + 1 || call == SYS_readv + 1 ||
	       call == SYS_recvfrom + 1 || call == SYS_recvmsg + 1 ||
	       call == SYS_recvmmsg + 1;
}

bool
say_peer(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	const struct story_segment *g = piece_of(ex, c);
	char name[NAME_SIZE], receiver[NAME_SIZE];

	if (g->peer[0] == '\0')
		return false;
	if (c->other != 0) {
		thread_name(ex, c->other, name, sizeof(name));
		if (c->peer->tid == c->other)
			phrase_add(l,
			    " until %s, which received from %s, woke it", name,
			    g->peer);
		else
			phrase_add(l,
			    " until %s woke it, once %s had received "
			    "from %s",
			    name,
			    thread_name(
				ex, c->peer->tid, receiver, sizeof(receiver)),
			    g->peer);
	} else if (c->call == SYS_connect + 1)
		phrase_add(l, " to %s", g->peer);
	else if (is_receive(c->call))
		phrase_add(l, " until bytes came from %s", g->peer);
	else
		phrase_add(
		    l, " until bytes came, and then received from %s", g->peer);
	say_part(ex, c, COMMON_PEER, l);
	if (g->peer_request != 0)
		phrase_add(
		    l, " (Tailor's request %016" PRIx64 ")", g->peer_request);
	return true;
}
