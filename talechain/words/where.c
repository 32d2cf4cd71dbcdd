/* where.c: where a thread waited, in words: the system call, the other end of a
 * connection, the threads in its way, and how much of a cause was there.
 *
 * A sentence gives all of a cause's time to what it names.  What had only a
 * part of that time is named with the part, and the number of others. */
#include "talechain/words/say.h"

#include <inttypes.h>

#include "talechain/events/events.h"

#define ALL 99	   /* percent: as good as all of it */
#define OTHERS 256 /* that are counted */

/* The segment of a claim, which must be in ex->segment_claim. */
static const struct story_segment *
piece_of(const struct explainer *ex, const struct claim *c)
{
	return &ex->s->segment[c - ex->segment_claim];
}

/* Properties that pieces of a cause may have in common. */
enum common {
	COMMON_SUBJECT,
	COMMON_CALL,
	COMMON_PEER,
	COMMON_OTHER,
	COMMON_CPU,
	COMMON_REQUEST,
	COMMON_KIND
};

static bool
is_same(const struct explainer *ex, const struct claim *a,
    const struct claim *b, enum common by)
{
	switch (by) {
	case COMMON_SUBJECT:
		return a->attempt == b->attempt &&
		       (b->attempt < 0 || b->tid == 0 || a->tid == b->tid);
	case COMMON_CALL:
		return a->call == b->call;
	case COMMON_PEER:
		return strcmp(piece_of(ex, a)->peer, piece_of(ex, b)->peer) ==
		       0;
	case COMMON_OTHER:
		return a->other == b->other && a->last == b->last;
	case COMMON_CPU:
		return a->cpu == b->cpu;
	case COMMON_REQUEST:
		return claim_request(a) == claim_request(b);
	case COMMON_KIND:
		return a->value == b->value && a->note == b->note;
	}
	return false;
}

/* How much of a claim's cause shares a property with the claim, ns. */
static int64_t
part_ns(const struct explainer *ex, const struct claim *c, enum common by)
{
	const struct story *s = ex->s;
	int64_t ns = 0;

	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i].cause == c->cause &&
		    is_same(ex, &ex->segment_claim[i], c, by))
			ns += segment_ns(&s->segment[i]);
	return ns;
}

/* Append " (3.0 ms of it)" if a claim shares a property with only a part of its
 * cause's time.  False: it shares the property with as good as all of it. */
static bool
say_part(const struct explainer *ex, const struct claim *c, enum common by,
    const struct phrase *l)
{
	int64_t ns = part_ns(ex, c, by);
	char ms[32];

	if (ns >= ex->s->cause_ns[c->cause] / 100 * ALL)
		return false;
	phrase_add(l, " (%s of it)", text_ms(ms, ns));
	return true;
}

bool
subject_is_most(const struct explainer *ex, const struct claim *c)
{
	return part_ns(ex, c, COMMON_SUBJECT) > ex->s->cause_ns[c->cause] / 2;
}

bool
say_part_of_other(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	return say_part(ex, c, COMMON_OTHER, l);
}

void
say_part_of_kind(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	if (part_ns(ex, c, COMMON_KIND) <= ex->s->cause_ns[c->cause] / 2)
		say_part(ex, c, COMMON_KIND, l);
}

static void
other_add(uint32_t others[OTHERS], unsigned *count, const struct claim *c,
    uint32_t tid)
{
	unsigned i = 0;

	if (tid == 0 || tid == c->other || tid == c->last)
		return;
	while (i < *count && others[i] != tid)
		i++;
	if (i == *count && i < OTHERS)
		others[(*count)++] = tid;
}

void
say_others(const struct explainer *ex, const struct claim *c, const char *after,
    const struct phrase *l)
{
	uint32_t others[OTHERS];
	unsigned count = 0;
	const struct claim *k;

	for (size_t i = 0; i < ex->s->segments; i++) {
		k = &ex->segment_claim[i];
		if (k->cause != c->cause || k->tid != c->tid ||
		    k->note != c->note)
			continue;
		other_add(others, &count, c, k->other);
		other_add(others, &count, c, k->last);
	}
	if (count > 0)
		phrase_add(l, "%s%s%u other%s", after,
		    count == OTHERS ? "over " : "", count,
		    count > 1 ? "s" : "");
}

void
say_behind(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	char name[3 * NAME_SIZE];

	phrase_add(l, " %s", thread_owned(ex, c->other, name, sizeof(name)));
	if (c->last != 0)
		phrase_add(l, " first and %s last",
		    thread_owned(ex, c->last, name, sizeof(name)));
	if (say_part_of_other(ex, c, l))
		say_others(ex, c, " and ", l);
	if (c->last != 0 || c->unseen)
		phrase_add(l, ", perhaps among others");
}

void
say_cpu(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	phrase_add(l, " CPU %d", c->cpu);
	say_part(ex, c, COMMON_CPU, l);
}

void
say_request(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	phrase_add(l, " with request %016" PRIx64, claim_request(c));
	say_part(ex, c, COMMON_REQUEST, l);
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
