/* hedging.c: limits, names, budget, and the server for a new request.
 *
 * Servers and races are changed in servers.c (events), swap.c (the pair) and
 * race.c (one request). */
#include "base/array.h"
#include "hedging/policy.h"

#include <assert.h>
#include <string.h>

const char *
server_state_name(enum server_state state)
{
	static const char *const names[] = {
	    [SERVER_DOWN] = "down",
	    [SERVER_CONNECTING] = "connecting",
	    [SERVER_WARMING] = "warming",
	    [SERVER_READY] = "ready",
	};

	return NAME_IN(names, state);
}

const char *
hedge_trigger_name(enum hedge_trigger trigger)
{
	static const char *const names[] = {
#define HEDGE_X(symbol, code, words, colour, stops, ...) \
	HAZARD_IF_##stops([HEDGE_##symbol] = code, )
	    HAZARD_KINDS(HEDGE_X)
#undef HEDGE_X
		[HEDGE_FIRST] = "first",
	    [HEDGE_TIMER] = "timer",
	    [HEDGE_FAILURE] = "failure",
	};

	return NAME_IN(names, trigger);
}

const char *
hedge_refusal_name(enum hedge_refusal refusal)
{
	static const char *const names[] = {
#define HEDGE_X(symbol, name) name,
	    HEDGE_REFUSALS(HEDGE_X)
#undef HEDGE_X
	};

	return (unsigned)refusal < HEDGE_REFUSAL_COUNT ? names[refusal] : "?";
}

/* T6: how many timer hedges may come in one burst. */
static double
timer_burst(const struct hedging_limits *l)
{
	if (l->timer_ratio <= 0)
		return 0;
	if (l->budget_burst < TIMER_BURST_SHARE)
		return 1;
	return (double)l->budget_burst / TIMER_BURST_SHARE;
}

/* Replace zeros that stand for a default. */
static void
limits_complete(struct hedging_limits *l)
{
	unsigned largest = l->connections_max[0];

	assert(l->servers >= 1 && l->servers <= HEDGING_SERVERS);
	if (l->servers == HEDGING_SERVERS && l->connections_max[1] > largest)
		largest = l->connections_max[1];
	if (l->budget_burst == 0)
		l->budget_burst = 2 * largest;
}

void
hedging_init(struct hedging *h, const struct hedging_limits *limits)
{
	memset(h, 0, sizeof(*h));
	h->limits = *limits;
	limits_complete(&h->limits);
	h->tokens = h->limits.budget_burst;
	h->timer_tokens = timer_burst(&h->limits);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		hedging_server_forget(h, i);
}

void
hedging_limits_set(struct hedging *h, const struct hedging_limits *limits)
{
	bool timer_was_off = h->limits.timer_ratio <= 0;

	h->limits = *limits;
	limits_complete(&h->limits);
	if (h->active >= h->limits.servers)
		h->active = 0;
	if (h->tokens > h->limits.budget_burst)
		h->tokens = h->limits.budget_burst;
	if (timer_was_off || h->timer_tokens > timer_burst(&h->limits))
		h->timer_tokens = timer_burst(&h->limits);
}

bool
policy_acts(const struct hedging *h)
{
	return h->limits.act && h->limits.servers == HEDGING_SERVERS;
}

unsigned
policy_load(const struct hedging_server *s)
{
	return s->inflight + s->draining + s->warmup_inflight;
}

bool
hedging_has_room(const struct hedging *h, unsigned server)
{
	return policy_load(&h->server[server]) <
	       h->limits.connections_max[server];
}

/* S7: true if the next request is for the backup: two of four, as clients may
 * make two kinds of requests in turns. */
static bool
is_others_turn(const struct hedging *h)
{
	unsigned other = policy_other(h->active);
	const struct hedging_server *s = &h->server[other];

	return h->shared && (h->requests_finished & 2) != 0 &&
	       s->state == SERVER_READY && s->hazards == 0 && !s->failing &&
	       hedging_has_room(h, other);
}

int
hedging_choose(const struct hedging *h)
{
	const struct hedging_server *s = &h->server[h->active];

	if (s->state != SERVER_READY)
		return HEDGING_UNAVAILABLE;
	if (!hedging_has_room(h, h->active))
		return HEDGING_FULL;
	return (int)(is_others_turn(h) ? policy_other(h->active) : h->active);
}

int
hedging_choose_for(const struct hedging *h, const struct race *race)
{
	unsigned other;

	if (race->started == 0 || !policy_acts(h))
		return hedging_choose(h);
	other = policy_other((unsigned)race->attempt[0].server);
	if (h->server[other].state < SERVER_WARMING)
		return hedging_choose(h);
	return hedging_has_room(h, other) ? (int)other : HEDGING_FULL;
}

int
hedging_overflow(const struct hedging *h, struct instant now)
{
	unsigned other = policy_other(h->active);

	if (!policy_acts(h) || !policy_can_take_over(h, other, now) ||
	    policy_load(&h->server[other]) >=
		h->limits.connections_max[other] / 2)
		return HEDGING_UNAVAILABLE;
	return (int)other;
}

bool
hedging_hedge_turn(const struct hedging *h, unsigned server)
{
	assert(server < HEDGING_SERVERS);
	return !h->server[server].hedged_last;
}

bool
policy_is_hedge(enum hedge_trigger trigger)
{
	return trigger != HEDGE_FIRST && trigger != HEDGE_FAILURE;
}

bool
policy_budget_has(const struct hedging *h, enum hedge_trigger trigger)
{
	if (h->tokens + TOKEN_ROUNDING < 1)
		return false;
	return trigger != HEDGE_TIMER || h->timer_tokens + TOKEN_ROUNDING >= 1;
}

static double
less_one(double tokens)
{
	return tokens < 1 ? 0 : tokens - 1;
}

static double
at_most(double tokens, double limit)
{
	return tokens < limit ? tokens : limit;
}

/* A timer hedge spends a token of both budgets, so B2 bounds all hedges
 * together. */
void
policy_budget_spend(struct hedging *h, enum hedge_trigger trigger)
{
	h->tokens = less_one(h->tokens);
	if (trigger == HEDGE_TIMER)
		h->timer_tokens = less_one(h->timer_tokens);
}

void
policy_budget_refund(struct hedging *h, enum hedge_trigger trigger)
{
	h->tokens = at_most(h->tokens + 1, h->limits.budget_burst);
	if (trigger == HEDGE_TIMER)
		h->timer_tokens =
		    at_most(h->timer_tokens + 1, timer_burst(&h->limits));
}

void
hedging_request_end(struct hedging *h)
{
	const struct hedging_limits *l = &h->limits;

	h->requests_finished++;
	h->tokens = at_most(h->tokens + l->budget_ratio, l->budget_burst);
	h->timer_tokens =
	    at_most(h->timer_tokens + l->timer_ratio, timer_burst(l));
	policy_mirror_earn(h);
}

int64_t
hedging_timer_ns(struct hedging *h, unsigned server)
{
	const struct hedging_limits *l = &h->limits;
	int64_t delay_ns;

	assert(server < HEDGING_SERVERS);
	if (!policy_acts(h) || l->timer_ratio <= 0)
		return -1;
	if (l->timer_delay_ns > 0)
		return l->timer_delay_ns;
	delay_ns = window_percentile(&h->server[server].latency,
	    l->timer_percentile > 0 ? l->timer_percentile : 99);
	if (delay_ns == 0)
		return -1; /* no latency known yet */
	if (delay_ns < TIMER_FLOOR_NS)
		delay_ns = TIMER_FLOOR_NS;
	return delay_ns < TIMER_CAP_NS ? delay_ns : TIMER_CAP_NS;
}
