/* decide.c: whether a request may be sent a second time.
 *
 * Permanent reasons for a refusal (E) are checked before temporary ones (T, B).
 * A refusal never harms the request: its first attempt goes on. */
#include "hedging/policy.h"

#include <assert.h>
#include <stddef.h>

const struct race_attempt *
policy_running(const struct race *r)
{
	for (unsigned i = 0; i < r->started; i++)
		if (r->attempt[i].state == ATTEMPT_RUNNING)
			return &r->attempt[i];
	return NULL;
}

/* Reasons that no rule can override: another attempt could not win. */
static enum hedge_refusal
refusal_final(const struct race *r, const struct hedge_view *view)
{
	if (view->client_gone) /* E8 */
		return HEDGE_REFUSED_CLIENT_GONE;
	if (r->winner >= 0) /* E4 */
		return HEDGE_REFUSED_COMMITTED;
	if (r->started >= RACE_ATTEMPTS || r->writes >= RACE_WRITES) /* E5 */
		return HEDGE_REFUSED_ATTEMPTS;
	return HEDGE_REFUSED_NONE;
}

/* E1, E2, E3, E7: whether to send a request twice is harmless and possible. */
static enum hedge_refusal
refusal_repeat(const struct hedge_view *view)
{
	if (!view->method_allowed)
		return HEDGE_REFUSED_METHOD;
	if (view->upgrade)
		return HEDGE_REFUSED_UPGRADE;
	if (view->opted_out)
		return HEDGE_REFUSED_OPTOUT;
	if (!view->body_complete)
		return HEDGE_REFUSED_BODY_INCOMPLETE;
	if (!view->body_kept)
		return HEDGE_REFUSED_BODY_SIZE;
	return HEDGE_REFUSED_NONE;
}

/* E9: a hedge uses another connection, on which this user is not authenticated.
 * (A retry has no private connection any more, so this is for hedges only.) */
static enum hedge_refusal
refusal_hedge(const struct hedge_view *view)
{
	return view->private ? HEDGE_REFUSED_PRIVATE : refusal_repeat(view);
}

bool
hedging_may_repeat(const struct hedge_view *view)
{
	return refusal_hedge(view) == HEDGE_REFUSED_NONE;
}

unsigned
policy_writes_max(const struct hedge_view *view)
{
	return view->method_allowed && view->body_kept ? RACE_WRITES : 1;
}

/* E6: whether the other server has enough time to respond. */
static enum hedge_refusal
refusal_deadline(const struct hedging *h, const struct hedge_view *view,
    unsigned target, struct instant now)
{
	int64_t least_ns = h->server[target].latency_p50_ns;
	int64_t left_ns;

	if (!instant_is_set(view->deadline))
		return HEDGE_REFUSED_NONE;
	left_ns = instant_since(view->deadline, now);
	if (left_ns <= 0 || left_ns < least_ns)
		return HEDGE_REFUSED_DEADLINE;
	return HEDGE_REFUSED_NONE;
}

/* T3: whether the trigger still holds. */
static enum hedge_refusal
refusal_reason(
    const struct hedging *h, unsigned server, enum hedge_trigger trigger)
{
	if (trigger == HEDGE_TIMER ||
	    hedging_hazard_trigger(h, server) != HEDGE_FIRST)
		return HEDGE_REFUSED_NONE;
	return HEDGE_REFUSED_HAZARD_OVER;
}

/* T2, B1..B5: whether the target and the budget can take a hedge now. */
static enum hedge_refusal
refusal_load(const struct hedging *h, unsigned target,
    enum hedge_trigger trigger, struct instant now)
{
	const struct hedging_server *y = &h->server[target];
	unsigned room = h->limits.connections_max[target];
	/* A warming server may take a hedge from a stopped one, because the
	 * first of two responses wins; but no timer hedge, as nothing shows
	 * that this is needed. */
	enum server_state least =
	    trigger == HEDGE_TIMER ? SERVER_READY : SERVER_WARMING;
	enum hedge_refusal refusal = policy_target(h, target, least, now);

	if (refusal != HEDGE_REFUSED_NONE)
		return refusal;
	if (instant_before(now, h->storm_until))
		return HEDGE_REFUSED_STORM;
	if (instant_before(now, y->pushback_until))
		return HEDGE_REFUSED_PUSHBACK;
	/* A timer hedge may use only half of the room. */
	if (trigger == HEDGE_TIMER)
		room /= 2;
	if (policy_load(y) >= room)
		return HEDGE_REFUSED_INFLIGHT_LIMIT;
	if (!policy_budget_has(h, trigger))
		return HEDGE_REFUSED_BUDGET;
	return HEDGE_REFUSED_NONE;
}

/* True if the reason of a refusal is temporary. */
static bool
refusal_passes(enum hedge_refusal refusal)
{
	return refusal >= HEDGE_REFUSED_BACKUP_NOT_READY &&
	       refusal != HEDGE_REFUSED_HAZARD_OVER;
}

/* True if the only attempt has a head that is not acceptable: that is the
 * response. */
static bool
is_answered(const struct race_attempt *a)
{
	return a->status != 0 && !policy_acceptable(a->status);
}

/* Decide on a hedge beside a running attempt. */
static enum hedge_refusal
decide_hedge(struct hedging *h, const struct race *r,
    const struct hedge_view *view, enum hedge_trigger trigger,
    struct instant now)
{
	const struct race_attempt *a = policy_running(r);
	enum hedge_refusal refusal;
	unsigned target;

	if (a == NULL || (trigger == HEDGE_TIMER && a->status != 0))
		return HEDGE_REFUSED_HAZARD_OVER; /* nothing is stuck */
	if (is_answered(a))
		return HEDGE_REFUSED_COMMITTED;
	target = policy_other((unsigned)a->server);
	refusal = refusal_hedge(view);
	if (refusal == HEDGE_REFUSED_NONE)
		refusal = refusal_deadline(h, view, target, now);
	if (refusal == HEDGE_REFUSED_NONE)
		refusal = refusal_reason(h, (unsigned)a->server, trigger);
	if (refusal == HEDGE_REFUSED_NONE)
		refusal = refusal_load(h, target, trigger, now);
	return refusal;
}

/* T7: decide on a retry, as race_ended does, for a request that may be sent
 * twice. */
static enum hedge_refusal
decide_retry(const struct hedging *h, const struct race *r,
    const struct hedge_view *view, struct instant now)
{
	unsigned target;
	enum hedge_refusal refusal = refusal_repeat(view);

	if (r->started == 0 || policy_running(r) != NULL)
		return HEDGE_REFUSED_ATTEMPTS;
	target = policy_other((unsigned)r->attempt[r->started - 1].server);
	if (refusal == HEDGE_REFUSED_NONE)
		refusal = refusal_deadline(h, view, target, now);
	if (refusal != HEDGE_REFUSED_NONE)
		return refusal;
	if (h->server[target].state != SERVER_READY)
		return HEDGE_REFUSED_BACKUP_NOT_READY;
	return hedging_has_room(h, target) ? HEDGE_REFUSED_NONE
					   : HEDGE_REFUSED_INFLIGHT_LIMIT;
}

enum hedge_refusal
hedging_decide(struct hedging *h, const struct race *race,
    const struct hedge_view *view, enum hedge_trigger trigger,
    struct instant now, int *server)
{
	enum hedge_refusal refusal;

	assert(trigger != HEDGE_FIRST && trigger < HEDGE_TRIGGER_COUNT);
	if (!h->limits.act)
		refusal = HEDGE_REFUSED_WATCHING;
	else
		refusal = refusal_final(race, view);
	if (refusal == HEDGE_REFUSED_NONE)
		refusal = trigger == HEDGE_FAILURE
			      ? decide_retry(h, race, view, now)
			      : decide_hedge(h, race, view, trigger, now);
	h->refused[refusal]++;
	if (refusal == HEDGE_REFUSED_NONE) {
		if (policy_is_hedge(trigger))
			policy_budget_spend(h, trigger);
		*server = (int)policy_other(
		    (unsigned)race->attempt[race->started - 1].server);
	} else if (refusal_passes(refusal) && trigger != HEDGE_TIMER) {
		h->sweep_wanted = true;
	}
	return refusal;
}

bool
hedging_may_overtake(const struct hedging *h, const struct race *race,
    int attempt, const struct hedge_view *view)
{
	if (race_has_rival(race, attempt))
		return true;
	if (race->started == RACE_ATTEMPTS &&
	    race->attempt[1 - attempt].state == ATTEMPT_HELD)
		return true;
	return policy_acts(h) &&
	       refusal_final(race, view) == HEDGE_REFUSED_NONE &&
	       refusal_repeat(view) == HEDGE_REFUSED_NONE;
}

bool
hedging_hedge_obsolete(const struct hedging *h, const struct race *race)
{
	const struct race_attempt *first = &race->attempt[0];
	const struct race_attempt *hedge = &race->attempt[1];

	return race->started == RACE_ATTEMPTS &&
	       first->state == ATTEMPT_RUNNING &&
	       hedge->state == ATTEMPT_RUNNING &&
	       policy_is_hedge(hedge->trigger) &&
	       hedge->trigger != HEDGE_TIMER &&
	       hedging_hazard_trigger(h, (unsigned)first->server) ==
		   HEDGE_FIRST;
}

bool
hedging_has_other(const struct hedging *h, const struct race *race,
    const struct hedge_view *view)
{
	unsigned other;

	if (!policy_acts(h) || race->started == 0 ||
	    refusal_final(race, view) != HEDGE_REFUSED_NONE ||
	    refusal_repeat(view) != HEDGE_REFUSED_NONE)
		return false;
	other = policy_other((unsigned)race->attempt[race->started - 1].server);
	return h->server[other].state >= SERVER_WARMING &&
	       h->server[other].hazards == 0 && !h->server[other].failing &&
	       hedging_has_room(h, other);
}

enum hedge_refusal
hedging_retry_refusal(const struct hedging *h, const struct race *r,
    const struct hedge_view *view, struct instant now)
{
	enum hedge_refusal refusal = refusal_final(r, view);
	unsigned target;

	if (!h->limits.act)
		return HEDGE_REFUSED_WATCHING;
	if (refusal != HEDGE_REFUSED_NONE)
		return refusal;
	if (!policy_acts(h))
		return HEDGE_REFUSED_BACKUP_NOT_READY;
	target = policy_other((unsigned)r->attempt[r->started - 1].server);
	/* Without a byte written no server knows the request: any may go. */
	if (r->writes > 0)
		refusal = refusal_repeat(view);
	if (r->writes > 0 && refusal == HEDGE_REFUSED_NONE)
		refusal = refusal_deadline(h, view, target, now);
	/* A cold response is better than none. */
	if (refusal == HEDGE_REFUSED_NONE &&
	    h->server[target].state < SERVER_WARMING)
		refusal = HEDGE_REFUSED_BACKUP_NOT_READY;
	return refusal;
}

int
policy_failover(const struct hedging *h, const struct race *r,
    const struct hedge_view *view, struct instant now)
{
	unsigned target;

	if (hedging_retry_refusal(h, r, view, now) != HEDGE_REFUSED_NONE)
		return HEDGING_UNAVAILABLE;
	target = policy_other((unsigned)r->attempt[r->started - 1].server);
	return hedging_has_room(h, target) ? (int)target : HEDGING_FULL;
}

bool
policy_may_return(const struct hedging *h, const struct race *r,
    const struct hedge_view *view)
{
	unsigned first = (unsigned)r->attempt[0].server;

	return policy_acts(h) && !view->client_gone && r->writes > 0 &&
	       r->writes < policy_writes_max(view) &&
	       refusal_repeat(view) == HEDGE_REFUSED_NONE &&
	       h->server[first].state >= SERVER_WARMING &&
	       hedging_has_room(h, first);
}
