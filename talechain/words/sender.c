/* sender.c: sentences about the thread of another process that ended a sleep:
 * which it was, and what it did meanwhile.
 *
 * Only that thread is named: if it passed on what others had worked out, its
 * own wait for them is all that the sentence has. */
#include "talechain/words/say.h"

#include <inttypes.h>

#include "base/array.h"
#include "talechain/events/events.h"

#define STATES (THREAD_THROTTLED + 1)
#define SECOND_PART 5 /* 1/5 of the time is worth mention */
#define CALL_PART 10  /* less than 1/10 was in other system calls */

/* Sums of what the thread did in all sleeps of a cause that it ended. */
struct doings {
	int64_t slept_ns; /* of the sleeps in which it was watched */
	int64_t known_ns; /* sum of ns */
	int64_t ns[STATES], inferred_ns[STATES];
	const struct thread_interval *longest[STATES];
	unsigned call[STATES];	   /* the system call of most of it, plus 1 */
	int64_t call_ns[STATES];   /* at least so much of it */
	enum talechain_peer state; /* of the others */
	bool late;		   /* one was watched since within it */
};

static enum thread_state
state_of(const struct thread_interval *p)
{
	return p->state == THREAD_PREEMPTED ? THREAD_READY : p->state;
}

static void
doings_add(const struct explainer *ex, struct doings *d, uint32_t tid,
    const struct story_segment *g)
{
	const struct thread_interval *p = NULL;
	enum thread_state k;
	int64_t ns;

	while ((p = threads_next(ex, tid, p, g->end_ns)) != NULL) {
		ns = interval_within_ns(p, g->begin_ns, g->end_ns);
		if (ns == 0 || p->doubt != NULL)
			continue;
		k = state_of(p);
		if (d->call[k] != p->call && ns > d->call_ns[k]) {
			d->call[k] = p->call;
			d->call_ns[k] = 0;
		}
		if (d->call[k] == p->call)
			d->call_ns[k] += ns;
		d->ns[k] += ns;
		d->known_ns += ns;
		if (p->inferred)
			d->inferred_ns[k] += ns;
		if (d->longest[k] == NULL ||
		    ns > interval_within_ns(
			     d->longest[k], g->begin_ns, g->end_ns))
			d->longest[k] = p;
	}
}

static void
doings_find(const struct explainer *ex, const struct claim *c, struct doings *d)
{
	const struct story_segment *g;
	const struct talechain_event *e;

	for (size_t i = 0; i < ex->s->segments; i++) {
		g = &ex->s->segment[i];
		e = ex->segment_claim[i].sender;
		if (g->cause != c->cause || e == NULL ||
		    e->tid != c->sender->tid)
			continue;
		if (e->arg[3] == 0) {
			d->state = (enum talechain_peer)tale_low(e->arg[1]);
			continue;
		}
		if (moment_at(ex->t, (struct instant){e->arg[3]}) >
		    g->begin_ns) {
			d->late = true;
			continue;
		}
		d->slept_ns += segment_ns(g);
		doings_add(ex, d, e->tid, g);
	}
}

/* Append why nothing is known of the thread. */
static void
say_unwatched(const struct doings *d, const struct phrase *l)
{
	static const char *const why[] = {
	    [TALECHAIN_PEER_NEW] = "no server had lately waited for it",
	    [TALECHAIN_PEER_BUSY] = "its threads switch too often",
	    [TALECHAIN_PEER_CROWDED] = "too many others are",
	};

	phrase_add(l, " was not watched");
	if (d->late)
		phrase_add(l, " from the beginning");
	else if ((unsigned)d->state < COUNT(why) && why[d->state] != NULL)
		phrase_add(l, ": %s", why[d->state]);
}

/* Append what ended a sleep of the thread. */
static void
say_woken(const struct explainer *ex, const struct thread_interval *p,
    const struct phrase *l)
{
	char name[NAME_SIZE];

	if (thread_timer_ended(p))
		phrase_add(l, " until a timer woke it");
	else if (p->other != 0)
		phrase_add(l, " until %s woke it",
		    thread_name(ex, p->other, name, sizeof(name)));
	else if (p->woken_ns != NEVER &&
		 p->context == TALECHAIN_CONTEXT_SOFTIRQ)
		phrase_add(
		    l, " until %s woke it", talechain_softirq_name(p->vector));
}

/* Append how long the thread was in a state, in which call, and what ended that
 * if it was one long sleep. */
static void
say_state(const struct explainer *ex, const struct doings *d,
    enum thread_state k, bool first, const struct phrase *l)
{
	static const char *const words[STATES] = {
	    [THREAD_RUN] = "computed",
	    [THREAD_SLEEP] = "slept",
	    [THREAD_BLOCKED] = "waited in the kernel",
	    [THREAD_DISK] = "waited for disk",
	    [THREAD_STOPPED] = "was stopped",
	    [THREAD_READY] = "waited for a CPU",
	    [THREAD_THROTTLED] = "had used up its CPU quota",
	};
	const struct thread_interval *p = d->longest[k];
	char ms[32], all[32], name[TALECHAIN_CALL_SIZE];

	phrase_add(l, "%s", words[k]);
	if (d->call[k] != 0 && k != THREAD_READY &&
	    d->ns[k] - d->call_ns[k] < d->ns[k] / CALL_PART)
		phrase_add(
		    l, " in %s", talechain_call_name(d->call[k] - 1, name));
	text_ms(ms, d->ns[k]);
	if (first) {
		*strrchr(ms, ' ') = '\0';
		phrase_add(l, " for %s of %s", ms, text_ms(all, d->slept_ns));
	} else {
		phrase_add(l, " for %s", ms);
	}
	if (p->end_ns - p->begin_ns > d->ns[k] / 2 && k == THREAD_SLEEP)
		say_woken(ex, p, l);
	if (d->inferred_ns[k] > d->ns[k] / 2)
		phrase_add(l, " (likely)");
}

static enum thread_state
state_most(const struct doings *d, enum thread_state but)
{
	enum thread_state most = but == THREAD_RUN ? THREAD_SLEEP : THREAD_RUN;

	for (unsigned k = 0; k < STATES; k++)
		if (k != but && d->ns[k] > d->ns[most])
			most = (enum thread_state)k;
	return most;
}

void
say_sender(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	struct doings d = {.slept_ns = 0};
	enum thread_state first, second;
	char name[NAME_SIZE];

	if (c->sender == NULL)
		return;
	doings_find(ex, c, &d);
	phrase_add(l, " Meanwhile %s",
	    thread_name(ex, c->sender->tid, name, sizeof(name)));
	if (c->sender->tid != c->sender->pid)
		phrase_add(l, " of process %" PRIu32, c->sender->pid);
	if (c->peer != NULL)
		phrase_add(l, ", which sent them,");
	first = state_most(&d, STATES);
	second = state_most(&d, first);
	if (d.slept_ns == 0) {
		say_unwatched(&d, l);
	} else if (d.known_ns <= d.slept_ns / 2) {
		phrase_add(l, " was watched, but no event shows what it did");
	} else {
		phrase_add(l, " ");
		say_state(ex, &d, first, true, l);
		if (d.ns[second] > d.slept_ns / SECOND_PART) {
			phrase_add(l, ", and ");
			say_state(ex, &d, second, false, l);
		}
	}
	phrase_add(l, ".");
}
