/* servers.c: one server's state (diagram in hedging.h), hazards, latencies and
 * errors.
 *
 * Each event changes one server here and then reviews the pair (swap.c),
 * because a swap may have waited for it. */
#include "hedging/policy.h"
#include "hedging/threshold.h"

#include <assert.h>
#include <string.h>

/* Latencies of an earlier process do not apply to this one. */
static void
latency_forget(struct hedging_server *s)
{
	window_init(&s->latency, WINDOW_MAX);
	s->latency_p50_ns = 0;
	s->latency_p95_ns = 0;
	s->latency_p99_ns = 0;
}

/* Set the hazards; update hazard_since and hazard_over. */
static void
hazards_set(struct hedging_server *s, uint32_t hazards, struct instant now)
{
	if (s->hazards != 0 && hazards == 0)
		s->hazard_over = now;
	s->hazards = hazards;
	s->waiting &= hazards;
	s->hazard_since = INSTANT_NONE;
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++) {
		if ((hazards & policy_bit(k)) == 0)
			continue;
		if (!instant_is_set(s->hazard_since) ||
		    instant_before(s->kind_since[k], s->hazard_since))
			s->hazard_since = s->kind_since[k];
	}
}

/* The process was replaced or is gone: forget its measurements. */
static void
server_leave(
    struct hedging_server *s, enum server_state state, struct instant now)
{
	s->state = state;
	/* The ends of a dead process's pauses will never be reported. */
	hazards_set(s, s->hazards & policy_bit(HAZARD_EXIT), now);
	s->pushback_until = INSTANT_NONE;
	s->marking = INSTANT_NONE;
	s->errors = 0;
	s->erred = INSTANT_NONE;
	s->failing = false;
	latency_forget(s);
}

void
hedging_server_forget(struct hedging *h, unsigned server)
{
	struct hedging_server *s = &h->server[server];

	assert(s->inflight == 0 && s->aside == 0 && s->draining == 0);
	memset(s, 0, sizeof(*s));
	window_init(&s->latency, WINDOW_MAX);
	window_init(&s->warmup_latency, WARMUP_JUDGED);
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		window_init(&s->wait[k].lengths, THRESHOLD_KEPT);
}

unsigned
hedging_server_down(struct hedging *h, unsigned server, struct instant now)
{
	assert(server < h->limits.servers);
	h->server[server].withdrawn = false;
	if (h->server[server].state == SERVER_DOWN)
		return 0;
	server_leave(&h->server[server], SERVER_DOWN, now);
	return policy_review(h, now);
}

unsigned
hedging_server_withdrawn(struct hedging *h, unsigned server, struct instant now)
{
	struct hedging_server *s;

	assert(server < h->limits.servers);
	s = &h->server[server];
	if (s->state < SERVER_WARMING)
		return hedging_server_down(h, server, now);
	s->withdrawn = true;
	server_leave(s, SERVER_DOWN, now);
	return policy_review(h, now);
}

unsigned
hedging_server_connecting(
    struct hedging *h, unsigned server, struct instant now)
{
	struct hedging_server *s;

	assert(server < h->limits.servers);
	s = &h->server[server];
	switch (s->state) {
	case SERVER_CONNECTING:
		return 0;
	case SERVER_DOWN:
		s->state = SERVER_CONNECTING;
		return 0;
	case SERVER_WARMING:
	case SERVER_READY:
		break;
	}
	server_leave(s, SERVER_CONNECTING, now);
	return policy_review(h, now);
}

unsigned
hedging_server_up(struct hedging *h, unsigned server, struct instant now)
{
	struct hedging_server *s;
	unsigned actions;

	assert(server < h->limits.servers);
	s = &h->server[server];
	if (s->state == SERVER_WARMING || s->state == SERVER_READY)
		return 0;
	/* The server responded, so it is alive, even if EXIT's end has not
	 * arrived. */
	hazards_set(s, s->hazards & ~policy_bit(HAZARD_EXIT), now);
	s->withdrawn = false;
	/* policy_review ends the warm-up now if the other is not READY. */
	if (policy_acts(h) && h->limits.warmup_requests > 0)
		policy_warmup_begin(s, now);
	else
		s->state = SERVER_READY;
	actions = policy_review(h, now);
	return s->state == SERVER_WARMING ? actions | HEDGING_WARMUP : actions;
}

static unsigned
hazard_begin(struct hedging *h, const struct hazard *z, struct instant now)
{
	struct hedging_server *s = &h->server[z->server];
	uint32_t bit = policy_bit(z->kind);

	if ((s->hazards & bit) != 0)
		return 0;
	s->kind_since[z->kind] = now;
	if (instant_is_set(z->at) && instant_before(z->at, now))
		s->kind_since[z->kind] = z->at;
	hazards_set(s, s->hazards | bit, now);
	policy_wait(h, z, now);
	h->hazards_active += z->server == h->active &&
			     (h->limits.triggers & bit & ~s->waiting) != 0;
	if (z->kind == HAZARD_EXIT)
		return hedging_server_down(h, z->server, now);
	if (!policy_acts(h))
		return 0;
	return policy_act(h, z->server, bit & ~s->waiting, now);
}

static unsigned
hazard_end(struct hedging *h, const struct hazard *z, struct instant now)
{
	struct hedging_server *s = &h->server[z->server];
	uint32_t bit = policy_bit(z->kind);
	struct instant end = now;
	unsigned actions = 0;

	if ((s->hazards & bit) == 0)
		return 0;
	if (instant_is_set(z->at) && instant_before(z->at, now))
		end = z->at;
	if (z->kind == HAZARD_EXIT) {
		hazards_set(s, 0, now); /* a new process has none */
	} else {
		if (!instant_before(end, s->kind_since[z->kind]))
			policy_waited(
			    h, z, instant_since(end, s->kind_since[z->kind]));
		s->collected |= z->kind == HAZARD_GC;
		hazards_set(s, s->hazards & ~bit, now);
	}
	if (!policy_acts(h))
		return 0;
	if (hedging_hazard_trigger(h, z->server) == HEDGE_FIRST &&
	    h->server[policy_other(z->server)].hedges > 0)
		actions |= HEDGING_CANCEL;
	actions |= policy_review(h, now) | policy_sweep(h, now);
	if (s->state == SERVER_WARMING && s->hazards == 0)
		actions |= HEDGING_WARMUP;
	return actions;
}

/* T10: the server responds, if slowly, so this is kept apart from hazards. */
static unsigned
marking(struct hedging *h, const struct hazard *z, struct instant now)
{
	h->server[z->server].marking = z->begin ? now : INSTANT_NONE;
	return policy_acts(h) ? policy_review(h, now) : 0;
}

unsigned
hedging_hazard(
    struct hedging *h, const struct hazard *hazard, struct instant now)
{
	if (hazard->server >= h->limits.servers ||
	    hazard->kind >= HAZARD_KIND_COUNT)
		return 0;
	if (hazard->kind == HAZARD_MARKING)
		return marking(h, hazard, now);
	return hazard->begin ? hazard_begin(h, hazard, now)
			     : hazard_end(h, hazard, now);
}

bool
hedging_collection_due(
    const struct hedging *h, unsigned server, struct instant since)
{
	const struct hedging_server *s;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	return s->collected && !s->fresh &&
	       ((s->hazards & policy_bit(HAZARD_GC)) != 0 ||
		   instant_before(s->kind_since[HAZARD_GC], since));
}

void
policy_hazards_expire(struct hedging *h, unsigned server, struct instant now)
{
	struct hedging_server *s = &h->server[server];
	uint32_t stale = 0;

	if (instant_is_set(s->marking) &&
	    instant_since(now, s->marking) >= HAZARD_MAX_NS) {
		s->marking = INSTANT_NONE;
		h->hazards_expired++;
	}
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if ((s->hazards & HAZARDS_EXPIRING & policy_bit(k)) != 0 &&
		    instant_since(now, s->kind_since[k]) >= HAZARD_MAX_NS)
			stale |= policy_bit(k);
	if (stale == 0)
		return;
	h->hazards_expired++;
	hazards_set(s, s->hazards & ~stale, now);
}

void
policy_latency(struct hedging_server *s, int64_t latency_ns, struct instant now)
{
	if (latency_ns < 0 || s->hazards != 0)
		return;
	/* Latencies that include a pause are not representative. */
	if (instant_is_set(s->hazard_over) &&
	    latency_ns >= instant_since(now, s->hazard_over))
		return;
	window_add(&s->latency, latency_ns);
	s->latency_p50_ns = window_percentile(&s->latency, 50);
	s->latency_p95_ns = window_percentile(&s->latency, 95);
	s->latency_p99_ns = window_percentile(&s->latency, 99);
}

/* Errors that both servers have as often are not this server's fault: a client
 * sends invalid requests, a database that both need is down. */
void
policy_failing_review(struct hedging *h)
{
	for (unsigned i = 0; i < h->limits.servers; i++) {
		struct hedging_server *s = &h->server[i];
		const struct hedging_server *y = &h->server[policy_other(i)];
		double more = s->errors;
		bool was = s->failing;

		if (h->limits.servers == HEDGING_SERVERS &&
		    y->state >= SERVER_WARMING)
			more -= y->errors;
		s->failing = s->state >= SERVER_WARMING &&
			     more >= (was ? FAILING_UNTIL : FAILING_FROM);
	}
}

void
policy_outcome(
    struct hedging *h, unsigned server, bool error, struct instant now)
{
	struct hedging_server *s = &h->server[server];

	if (s->state < SERVER_WARMING)
		return; /* the outcome is of a process that is gone */
	s->errors += ((error ? 1 : 0) - s->errors) * OUTCOME_WEIGHT;
	s->erred = error ? now : INSTANT_NONE;
	policy_failing_review(h);
}

bool
hedging_probe_wanted(const struct hedging *h, unsigned server)
{
	const struct hedging_server *s;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	return s->state == SERVER_READY &&
	       ((s->hazards & policy_bit(HAZARD_UNRESPONSIVE)) != 0 ||
		   (server != h->active && policy_acts(h) &&
		       (instant_is_set(s->erred) ||
			   s->errors >= FAILING_UNTIL)));
}

unsigned
hedging_probe_done(
    struct hedging *h, unsigned server, bool ok, struct instant now)
{
	assert(server < HEDGING_SERVERS);
	if (h->server[server].state != SERVER_READY)
		return 0;
	policy_outcome(h, server, !ok, now);
	return policy_review(h, now) | policy_sweep(h, now);
}

void
hedging_pushback(
    struct hedging *h, unsigned server, int64_t hold_ns, struct instant now)
{
	struct hedging_server *s;
	struct instant until;

	assert(server < HEDGING_SERVERS);
	s = &h->server[server];
	if (hold_ns < 0 || hold_ns > PUSHBACK_MAX_NS)
		hold_ns = PUSHBACK_MAX_NS;
	until = instant_plus(now, hold_ns);
	if (instant_before(s->pushback_until, until))
		s->pushback_until = until;
}

void
hedging_drain_begin(struct hedging *h, unsigned server)
{
	assert(server < HEDGING_SERVERS);
	h->server[server].draining++;
}

unsigned
hedging_drain_end(struct hedging *h, unsigned server, struct instant now)
{
	assert(server < HEDGING_SERVERS && h->server[server].draining > 0);
	h->server[server].draining--;
	return policy_review(h, now);
}
