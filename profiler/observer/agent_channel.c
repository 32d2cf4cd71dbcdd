/* agent_channel.c: the state word and the counters of a JVM agent's channel.
 *
 * The state word is epoch << 8 | state.  Each change of state is one epoch, so
 * collections that begin and end between two sweeps are counted, not missed.
 * The hazard is posted from the state word; the exact times follow with the
 * events in the channel's ring. */
#include "profiler/observer/observer.h"

#define PULSES_MAX 16

static uint64_t
channel_word(const struct channel *c, enum talechain_word word)
{
	return __atomic_load_n(&c->memory->word[word], __ATOMIC_RELAXED);
}

/* Count the channel in the hazard state of the server it now belongs to. */
static void
agent_join(struct channel *c, struct hazard_state *hazards,
    const struct hazard_change *why)
{
	int server = __atomic_load_n(&c->server, __ATOMIC_RELAXED);
	struct hazard_state *w;

	if (c->joined == server)
		return;
	if (c->joined >= 0) {
		w = &hazards[c->joined];
		w->agents--;
		w->agents_in_gc -= c->in_gc;
		w->agents_marking -= c->marking;
		hazard_state_update(w, why);
	}
	c->joined = server;
	if (server >= 0) {
		w = &hazards[server];
		w->agents++;
		w->agents_in_gc += c->in_gc;
		w->agents_marking += c->marking;
		hazard_state_update(w, why);
	}
}

/* Read the cause and time of the agent's state; an implausible time becomes
 * now. */
static struct hazard_change
agent_change(const struct channel *c, uint64_t cause, struct instant now)
{
	uint64_t since = channel_word(c, TALECHAIN_WORD_SINCE);
	struct hazard_change r = {.seen = instant_now()};

	r.cause = cause <= TALECHAIN_CAUSE_ORDERED ? (enum talechain_cause)cause
						   : TALECHAIN_CAUSE_UNKNOWN;
	r.at = r.seen;
	/* Do not trust a time that is older than a second, or in the future. */
	if (since <= r.seen.ns && since + (uint64_t)NS_PER_S > now.ns)
		r.at.ns = since;
	return r;
}

static void
agent_note(const struct channel *c, struct observer_output *o,
    enum talechain_type type, const struct hazard_change *when)
{
	struct observer_event n = {.type = type,
	    .server = c->joined,
	    .at = when->at,
	    .seen = when->seen};

	output_emit(o, &n);
}

/* Follow a change of the state: end, count and begin collections.  epochs: the
 * number of changes since the last sweep. */
static void
agent_follow(struct channel *c, struct hazard_state *w, uint64_t epochs,
    const struct hazard_change *change)
{
	bool in_gc = (c->state & TALECHAIN_STATE_MASK) == TALECHAIN_JVM_GC;
	bool was = c->in_gc;
	uint64_t missed;

	/* A change of level takes one epoch, a whole missed pause two. */
	missed = (epochs - (in_gc != was && epochs > 0)) / 2;
	if (missed > PULSES_MAX)
		missed = PULSES_MAX;
	if (was && (missed > 0 || !in_gc)) {
		c->in_gc = false;
		w->agents_in_gc--;
		hazard_state_update(w, change);
		/* Two of the changes are this end and the begin below. */
		if (in_gc && missed > 0)
			missed--;
	}
	for (; missed > 0; missed--)
		hazard_state_pulse(w, HAZARD_GC, change->at, change);
	if (in_gc && !c->in_gc) {
		c->in_gc = true;
		w->agents_in_gc++;
		hazard_state_update(w, change);
	}
}

void
agent_channel_sweep(
    struct channel *c, struct hazard_state *hazards, struct instant now)
{
	uint64_t old = c->state;
	uint64_t state = __atomic_load_n(&c->memory->state, __ATOMIC_ACQUIRE);
	struct hazard_change change;
	struct hazard_state *w;
	bool marking = (state & TALECHAIN_STATE_MARKING) != 0;

	if (state == old &&
	    c->joined == __atomic_load_n(&c->server, __ATOMIC_RELAXED))
		return;
	change = agent_change(c, channel_word(c, TALECHAIN_WORD_CAUSE), now);
	agent_join(c, hazards, &change);
	if (state == old)
		return;
	c->state = state;
	if ((state & TALECHAIN_STATE_MASK) > TALECHAIN_JVM_DEAD ||
	    state >> 8 < old >> 8)
		return; /* invalid; the next value is checked again */
	if (c->joined < 0) {
		c->in_gc = (state & TALECHAIN_STATE_MASK) == TALECHAIN_JVM_GC;
		c->marking = marking;
		return;
	}
	w = &hazards[c->joined];
	if (marking != c->marking) {
		c->marking = marking;
		w->agents_marking += marking ? 1U : -1U;
		hazard_state_update(w, &change);
	}
	/* A new agent's first state counts as one change: it ends no
	 * collection. */
	agent_follow(c, w, old == 0 ? 1 : (state >> 8) - (old >> 8), &change);
	if ((state & TALECHAIN_STATE_MASK) == TALECHAIN_JVM_DEAD && !c->dead) {
		c->dead = true;
		agent_note(c, w->output, TALECHAIN_JVM_DEATH, &change);
	}
}

void
agent_channel_rates(
    struct channel *c, struct observer_output *o, struct instant now)
{
	if (activity_due(&c->activity, now))
		activity_sample(&c->activity,
		    channel_word(c, TALECHAIN_WORD_CLASSES),
		    channel_word(c, TALECHAIN_WORD_COMPILED), c->joined, o,
		    now);
}

void
agent_channel_leave(
    struct channel *c, struct hazard_state *hazards, struct instant now)
{
	struct hazard_change change = {.at = now, .seen = now};

	__atomic_store_n(&c->server, -1, __ATOMIC_RELAXED);
	agent_join(c, hazards, &change);
}
