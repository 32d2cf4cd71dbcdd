/* swap.c: which server of the pair is active, and when that changes.
 *
 *   active   other    new requests           requests in flight
 *   hazard   ready    other (swap)           eligible ones hedged there
 *   hazard   hazard   stay                   wait; reviewed when one of the
 *                                            hazards ends
 *   hazard   warming  stay, and hedged       eligible ones hedged there
 *                     there; other after
 *                     500 ms
 *   hazard   down     stay                   wait
 *   down     ready    other (swap)           hedged, or retried (T7)
 *   down     hazard   other (swap)           retried there (T7)
 *   down     warming  other, which is READY  retried there (T7)
 *                     from now on
 *   down     down     none: 503              502
 *
 * "Down" includes CONNECTING: the port accepts no connections.
 * There is no swap back when a hazard ends (T5). */
#include "hedging/policy.h"

#include <assert.h>

enum hedge_trigger
hedging_hazard_trigger(const struct hedging *h, unsigned server)
{
	static const enum hedge_trigger of[] = {
#define HEDGE_X(symbol, code, words, colour, stops, ...) \
	HAZARD_IF_##stops([HAZARD_##symbol] = HEDGE_##symbol, )
	    HAZARD_KINDS(HEDGE_X)
#undef HEDGE_X
	};
	const struct hedging_server *s;
	uint32_t hazards;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	if (s->state < SERVER_WARMING && !s->withdrawn)
		return HEDGE_EXIT; /* T8, with any configured triggers */
	hazards =
	    s->hazards & h->limits.triggers & HAZARDS_STOPPING & ~s->waiting;
	/* Another hazard explains the silence. */
	if (hazards != policy_bit(HAZARD_UNRESPONSIVE))
		hazards &= ~policy_bit(HAZARD_UNRESPONSIVE);
	return hazards == 0 ? HEDGE_FIRST : of[__builtin_ctz(hazards)];
}

/* L8: true if a server has drained most of its losers since its last pause. */
static bool
server_settled(
    const struct hedging *h, const struct hedging_server *s, struct instant now)
{
	unsigned room = h->limits.connections_max[s - h->server];
	int64_t settle_ns = 2 * s->latency_p99_ns;

	if (s->draining == 0 || s->draining < room / SETTLED_SHARE)
		return true;
	if (settle_ns < SETTLE_MIN_NS)
		settle_ns = SETTLE_MIN_NS;
	return !instant_before(now, instant_plus(s->hazard_over, settle_ns));
}

enum hedge_refusal
policy_target(const struct hedging *h, unsigned server, enum server_state least,
    struct instant now)
{
	const struct hedging_server *s = &h->server[server];

	if (s->state < least || s->hazards != 0)
		return HEDGE_REFUSED_BACKUP_NOT_READY;
	if (s->failing)
		return HEDGE_REFUSED_FAILING;
	if (server != h->active && !server_settled(h, s, now))
		return HEDGE_REFUSED_BACKUP_NOT_READY;
	return HEDGE_REFUSED_NONE;
}

bool
policy_can_take_over(
    const struct hedging *h, unsigned server, struct instant now)
{
	const struct hedging_server *s = &h->server[server];

	/* The server's latest outcome was an error: only if the other one is
	 * worse. */
	if (instant_is_set(s->erred) &&
	    instant_since(now, s->erred) < ERRED_NS &&
	    !h->server[policy_other(server)].failing)
		return false;
	return policy_target(h, server, SERVER_READY, now) ==
	       HEDGE_REFUSED_NONE;
}

_Static_assert(SWAP_RATE_MAX < HEDGING_SWAPS_KEPT, "the rate can be seen");

/* B3: more than SWAP_RATE_MAX swaps within a second are a storm.  Returns
 * HEDGING_STORM when one begins, else 0. */
static unsigned
storm_check(struct hedging *h, struct instant now)
{
	struct instant before;
	bool raging = instant_before(now, h->storm_until);

	if (h->swaps <= SWAP_RATE_MAX)
		return 0;
	before =
	    h->swap_at[(h->swaps - 1 - SWAP_RATE_MAX) % HEDGING_SWAPS_KEPT];
	if (instant_since(now, before) >= NS_PER_S)
		return 0;
	h->storm_until = instant_plus(now, STORM_HOLD_NS);
	if (raging)
		return 0;
	h->storms++;
	return HEDGING_STORM;
}

static unsigned
swap(struct hedging *h, struct instant now)
{
	h->active = policy_other(h->active);
	h->swap_at[h->swaps % HEDGING_SWAPS_KEPT] = now;
	h->swaps++;
	return HEDGING_SWAPPED | storm_check(h, now);
}

unsigned
hedging_switch(struct hedging *h, struct instant now)
{
	const struct hedging_server *other;

	if (h->limits.servers < HEDGING_SERVERS)
		return 0;
	other = &h->server[policy_other(h->active)];
	if (other->state != SERVER_READY || other->hazards != 0 ||
	    other->failing)
		return 0;
	return swap(h, now);
}

unsigned
hedging_active_removed(struct hedging *h, struct instant now)
{
	assert(h->limits.servers == HEDGING_SERVERS);
	return swap(h, now);
}

/* End warm-ups that are complete, that are not needed or that would delay
 * service.  A failing server stays in warm-up unless the other cannot serve. */
static void
warmups_review(struct hedging *h, struct instant now)
{
	for (unsigned i = 0; i < h->limits.servers; i++) {
		struct hedging_server *s = &h->server[i];
		const struct hedging_server *y = &h->server[policy_other(i)];
		bool alone = y->state != SERVER_READY || y->failing;

		if (s->state == SERVER_WARMING &&
		    (!policy_acts(h) || alone ||
			(!s->failing && policy_warmup_over(h, i, now))))
			s->state = SERVER_READY;
	}
}

/* True in the row hazard | warming of the table above if the hazard has lasted
 * WARMING_OVERRIDE_NS. */
static bool
overrides_warming(const struct hedging *h, struct instant now)
{
	const struct hedging_server *x = &h->server[h->active];
	const struct hedging_server *y = &h->server[policy_other(h->active)];

	return y->state == SERVER_WARMING && y->hazards == 0 && !y->failing &&
	       instant_since(now, x->hazard_since) >= WARMING_OVERRIDE_NS;
}

/* T10: leave an active server that marks.  Requests in flight stay there, as
 * they get their responses sooner than from a new attempt. */
static unsigned
leave_marking(struct hedging *h, struct instant now)
{
	unsigned other = policy_other(h->active);

	if ((h->limits.triggers & policy_bit(HAZARD_MARKING)) == 0 ||
	    !instant_is_set(h->server[h->active].marking) ||
	    instant_is_set(h->server[other].marking) ||
	    !policy_can_take_over(h, other, now))
		return 0;
	h->swaps_marking++;
	return swap(h, now);
}

/* B4: leave an active server that is failing.  Requests in flight stay there:
 * they may still succeed. */
static unsigned
leave_failing(struct hedging *h, struct instant now)
{
	unsigned other = policy_other(h->active);

	if (!h->server[h->active].failing ||
	    !policy_can_take_over(h, other, now))
		return 0;
	return swap(h, now);
}

unsigned
policy_review(struct hedging *h, struct instant now)
{
	unsigned other = policy_other(h->active);
	struct hedging_server *y = &h->server[other];

	policy_failing_review(h);
	warmups_review(h, now);
	if (!policy_acts(h))
		return 0;
	if (h->server[h->active].state != SERVER_READY) {
		/* The other server must serve, even in a hazard. */
		if (y->state != SERVER_READY)
			return 0;
		return swap(h, now) | HEDGING_SWEEP;
	}
	if (hedging_hazard_trigger(h, h->active) == HEDGE_FIRST) {
		unsigned actions = leave_failing(h, now);

		return actions != 0 ? actions : leave_marking(h, now);
	}
	if (overrides_warming(h, now))
		y->state = SERVER_READY;
	if (!policy_can_take_over(h, other, now))
		return 0;
	return swap(h, now) | HEDGING_SWEEP;
}

/* True if a second attempt could go to the other server, warm or not. */
static bool
other_can_help(const struct hedging *h, unsigned server, struct instant now)
{
	unsigned other = policy_other(server);

	return hedging_has_room(h, other) &&
	       policy_target(h, other, SERVER_WARMING, now) ==
		   HEDGE_REFUSED_NONE;
}

bool
hedging_hedge_at_start(
    const struct hedging *h, unsigned server, struct instant now)
{
	assert(server < HEDGING_SERVERS);
	return policy_acts(h) &&
	       hedging_hazard_trigger(h, server) != HEDGE_FIRST &&
	       other_can_help(h, server, now);
}

unsigned
policy_sweep(struct hedging *h, struct instant now)
{
	if (!policy_acts(h))
		return 0;
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		if (h->server[i].inflight + h->server[i].aside == 0 ||
		    hedging_hazard_trigger(h, i) == HEDGE_FIRST)
			continue;
		if (other_can_help(h, i, now))
			return HEDGING_SWEEP;
		h->sweep_wanted = true;
	}
	return 0;
}

unsigned
policy_act(
    struct hedging *h, unsigned server, uint32_t hazards, struct instant now)
{
	unsigned actions = policy_review(h, now);

	if (server == h->active && (h->limits.triggers & hazards) != 0 &&
	    h->server[server].state == SERVER_READY)
		h->swaps_refused++; /* T2: no swap was possible */
	return actions | policy_sweep(h, now);
}

/* B4: let a backup's errors fade with time, as it gets no requests that would
 * show its present state. */
static void
errors_fade(
    const struct hedging *h, struct hedging_server *s, struct instant now)
{
	double share;

	if (!instant_is_set(h->ticked))
		return;
	share = (double)instant_since(now, h->ticked) / ERRORS_FADE_NS;
	s->errors = share < 1 ? s->errors * (1 - share) : 0;
}

unsigned
hedging_tick(struct hedging *h, struct instant now)
{
	unsigned actions = 0;

	for (unsigned i = 0; i < h->limits.servers; i++) {
		struct hedging_server *s = &h->server[i];

		policy_hazards_expire(h, i, now);
		if (i != h->active)
			errors_fade(h, s, now);
	}
	h->ticked = now;
	for (unsigned i = 0; i < h->limits.servers; i++) {
		uint32_t over = policy_wait_over(h, i, now);

		if (over != 0)
			actions |= policy_act(h, i, over, now);
	}
	actions |= policy_review(h, now);
	if (policy_mirrors(h, policy_other(h->active), now) > 0)
		actions |= HEDGING_WARMUP;
	for (unsigned i = 0; i < h->limits.servers; i++)
		if (h->server[i].state == SERVER_WARMING)
			actions |= HEDGING_WARMUP;
	/* Hedges were refused for a temporary reason: check again. */
	if (h->sweep_wanted && !instant_before(now, h->sweep_after)) {
		h->sweep_wanted = false;
		h->sweep_after = instant_plus(now, SWEEP_GAP_NS);
		actions |= policy_sweep(h, now);
	}
	return actions;
}
