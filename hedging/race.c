/* race.c: the attempts of one request, and which of them gives the response.
 *
 *   NONE -> RUNNING -> WON        committed: the client gets its bytes
 *              |  \--> HELD -> WON | LOST | FAILED   a response held back
 *              |-----> FAILED
 *              \-----> LOST       the other won, or the client left
 *
 * Only RUNNING and WON attempts count as in flight.  All calls come from one
 * thread, so "first" means the order of calls. */
#include "hedging/policy.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

void
race_init(struct race *r)
{
	memset(r, 0, sizeof(*r));
	r->winner = -1;
}

int
race_start(struct hedging *h, struct race *r, unsigned server,
    enum hedge_trigger trigger)
{
	struct race_attempt *a;
	struct hedging_server *s;

	assert(r->started < RACE_ATTEMPTS && r->winner < 0);
	assert(server < h->limits.servers);
	s = &h->server[server];
	a = &r->attempt[r->started];
	*a = (struct race_attempt){.state = ATTEMPT_RUNNING,
	    .server = (int)server,
	    .trigger = trigger};
	r->writes++;
	s->inflight++;
	s->hedged_last = policy_is_hedge(trigger);
	s->hedges += policy_is_hedge(trigger);
	return (int)r->started++;
}

static struct race_attempt *
attempt_at(struct race *r, int attempt)
{
	assert(attempt >= 0 && (unsigned)attempt < r->started);
	return &r->attempt[attempt];
}

/* The attempt can no longer win, or its response is complete. */
static void
flight_leave(struct hedging *h, const struct race_attempt *a)
{
	struct hedging_server *s = &h->server[a->server];

	if (a->aside) {
		assert(s->aside > 0);
		s->aside--;
		return;
	}
	assert(s->inflight > 0);
	s->inflight--;
	if (policy_is_hedge(a->trigger)) {
		assert(s->hedges > 0);
		s->hedges--;
	}
}

bool
race_release_slot(struct hedging *h, struct race *r, int attempt)
{
	struct race_attempt *a = attempt_at(r, attempt);
	struct hedging_server *s = &h->server[a->server];

	if (a->aside || a->ended ||
	    (a->state != ATTEMPT_RUNNING && a->state != ATTEMPT_WON) ||
	    s->aside >= h->limits.aside_max[a->server])
		return false;
	flight_leave(h, a);
	a->aside = true;
	s->aside++;
	return true;
}

bool
race_may_rewrite(const struct race *r, const struct hedge_view *view)
{
	return r->writes < policy_writes_max(view);
}

void
race_rewrite(struct race *r)
{
	assert(r->writes < RACE_WRITES);
	r->writes++;
}

/* W2: how useful a response is.  A server's own error ranks above 503, and 503
 * above a gateway's errors.  A status of policy_is_elsewhere ranks as 503. */
static int
status_rank(int status)
{
	if (policy_acceptable(status))
		return 3;
	if (status == 502 || status == 504)
		return 0;
	return status == 503 || policy_is_elsewhere(status) ? 1 : 2;
}

/* The best held response, or -1. */
static int
held_best(const struct race *r)
{
	int best = -1;

	for (unsigned i = 0; i < r->started; i++) {
		const struct race_attempt *a = &r->attempt[i];

		if (a->state != ATTEMPT_HELD)
			continue;
		if (best < 0 || status_rank(a->status) >
				    status_rank(r->attempt[best].status))
			best = (int)i;
	}
	return best;
}

enum race_step
race_head(struct race *r, int attempt, int status)
{
	struct race_attempt *a = attempt_at(r, attempt);
	const struct race_attempt *rival =
	    r->started == RACE_ATTEMPTS ? &r->attempt[1 - attempt] : NULL;

	assert(!a->ended);
	if (status >= 100 && status < 200 && status != 101) /* W5 */
		return a->state == ATTEMPT_LOST ? RACE_DISCARD : RACE_WAIT;
	a->status = status;
	if (a->state == ATTEMPT_LOST) /* W7 */
		return RACE_DISCARD;
	if (policy_acceptable(status) || rival == NULL)
		return RACE_COLLECT;
	if (rival->state == ATTEMPT_RUNNING)
		return RACE_HOLD;
	if (rival->state == ATTEMPT_HELD &&
	    status_rank(rival->status) >= status_rank(status))
		return RACE_HOLD;
	return RACE_COLLECT;
}

void
race_cut(struct race *r, int attempt)
{
	struct race_attempt *a = attempt_at(r, attempt);

	assert(a->ended);
	if (a->state == ATTEMPT_HELD)
		a->state = ATTEMPT_FAILED;
}

bool
race_has_rival(const struct race *r, int attempt)
{
	assert(attempt >= 0 && (unsigned)attempt < r->started);
	return r->started == RACE_ATTEMPTS &&
	       r->attempt[1 - attempt].state == ATTEMPT_RUNNING;
}

bool
race_commit(struct hedging *h, struct race *r, int attempt)
{
	struct race_attempt *a = attempt_at(r, attempt);

	/* After a commit, or without a client, no attempt is in these
	 * states. */
	if (a->state != ATTEMPT_RUNNING && a->state != ATTEMPT_HELD)
		return false;
	for (unsigned i = 0; i < r->started; i++) {
		struct race_attempt *rival = &r->attempt[i];

		if (rival == a)
			continue;
		if (rival->state == ATTEMPT_RUNNING)
			flight_leave(h, rival);
		if (rival->state == ATTEMPT_RUNNING ||
		    rival->state == ATTEMPT_HELD)
			rival->state = ATTEMPT_LOST;
	}
	a->state = ATTEMPT_WON;
	r->winner = attempt;
	return true;
}

void
race_abandon(struct hedging *h, struct race *r)
{
	for (unsigned i = 0; i < r->started; i++) {
		struct race_attempt *a = &r->attempt[i];

		if (a->state == ATTEMPT_RUNNING ||
		    (a->state == ATTEMPT_WON && !a->ended))
			flight_leave(h, a);
		else if (a->state != ATTEMPT_HELD)
			continue;
		a->state = ATTEMPT_LOST;
	}
}

/* Count the end of an attempt for its server; also a loser's (W7). */
static void
attempt_judge(struct hedging *h, const struct race_attempt *a,
    enum attempt_end end, int64_t latency_ns, bool written, struct instant now)
{
	struct hedging_server *s = &h->server[a->server];

	switch (end) {
	case ATTEMPT_END_COMPLETE:
		if (policy_acceptable(a->status)) {
			policy_latency(s, latency_ns, now);
			policy_outcome(h, (unsigned)a->server, false, now);
		} else if (policy_is_error(a->status)) {
			policy_outcome(h, (unsigned)a->server, true, now);
		}
		return;
	case ATTEMPT_END_FAILED:
		/* Not for a loser, which Tailor may have closed, nor for a
		 * server that was not reached. */
		if (a->state != ATTEMPT_LOST && written)
			policy_outcome(h, (unsigned)a->server, true, now);
		return;
	case ATTEMPT_END_UNSENT:
		if (!policy_is_hedge(a->trigger))
			return;
		h->hedges_cancelled++;
		policy_budget_refund(h, a->trigger);
		return;
	}
}

void
race_late(struct hedging *h, const struct race *r, int attempt,
    struct instant since, struct instant now)
{
	const struct race_attempt *a;
	const struct hedging_server *s;

	assert(attempt >= 0 && (unsigned)attempt < r->started);
	a = &r->attempt[attempt];
	s = &h->server[a->server];
	if (a->state != ATTEMPT_RUNNING || a->status != 0 ||
	    (s->hazards & ~policy_bit(HAZARD_UNRESPONSIVE)) != 0 ||
	    !instant_before(s->hazard_over, since))
		return;
	policy_outcome(h, (unsigned)a->server, true, now);
}

/* T3: undo a hedge that was dropped beside a running first attempt. */
static bool
hedge_undo(struct race *r, const struct race_attempt *a, enum attempt_end end)
{
	if (end != ATTEMPT_END_UNSENT || a != &r->attempt[1] ||
	    !policy_is_hedge(a->trigger) ||
	    r->attempt[0].state != ATTEMPT_RUNNING)
		return false;
	memset(&r->attempt[1], 0, sizeof(r->attempt[1]));
	r->started--;
	return true;
}

/* Undo a first attempt that was taken back before a byte was written. */
static bool
first_undo(struct race *r, const struct race_attempt *a, enum attempt_end end)
{
	if (end != ATTEMPT_END_UNSENT || a != &r->attempt[0] ||
	    r->started > 1 || r->writes > 0)
		return false;
	race_init(r);
	return true;
}

/*
 * T7: undo a second attempt that did not reach its server, once per request.
 * The first attempt may have failed only because its server had closed a kept
 * connection.
 */
static bool
second_undo(const struct hedging *h, struct race *r,
    const struct race_attempt *a, enum attempt_end end, bool written,
    const struct hedge_view *view)
{
	if (end != ATTEMPT_END_FAILED || written || r->returned ||
	    a != &r->attempt[1] || r->attempt[0].state != ATTEMPT_FAILED ||
	    !policy_may_return(h, r, view))
		return false;
	memset(&r->attempt[1], 0, sizeof(r->attempt[1]));
	r->started--;
	r->returned = true;
	return true;
}

/* The next step when no attempt runs any more: send the best held response,
 * retry (T7), restart or give up. */
static enum race_step
step_after_last(const struct hedging *h, struct race *r,
    const struct hedge_view *view, struct instant now, int *server)
{
	int held = held_best(r);
	int target;

	if (held >= 0) {
		*server = held;
		return RACE_SEND_HELD;
	}
	target = policy_failover(h, r, view, now);
	if (target == HEDGING_UNAVAILABLE && r->writes == 0 &&
	    !view->client_gone) {
		race_init(r);
		return RACE_RESTART;
	}
	if (target == HEDGING_UNAVAILABLE)
		return RACE_GIVE_UP;
	*server = target == HEDGING_FULL
		      ? (int)policy_other((unsigned)r->attempt[0].server)
		      : target;
	return target == HEDGING_FULL ? RACE_QUEUE : RACE_TRY;
}

enum race_step
race_ended(struct hedging *h, struct race *r, int attempt, enum attempt_end end,
    int64_t latency_ns, bool written, const struct hedge_view *view,
    struct instant now, int *server)
{
	struct race_attempt *a = attempt_at(r, attempt);

	assert(!a->ended && a->state != ATTEMPT_FAILED);
	*server = -1;
	a->ended = true;
	attempt_judge(h, a, end, latency_ns, written, now);
	if (a->state == ATTEMPT_LOST)
		return RACE_WAIT;
	assert(written || r->writes > 0);
	r->writes -= !written;
	flight_leave(h, a);
	if (a->state == ATTEMPT_WON)
		return RACE_WAIT;
	if (hedge_undo(r, a, end))
		return RACE_WAIT;
	if (first_undo(r, a, end))
		return RACE_RESTART;
	if (end == ATTEMPT_END_COMPLETE && a->status != 0) {
		a->state = ATTEMPT_HELD;
		if (policy_acceptable(a->status)) { /* W1 */
			*server = attempt;
			return RACE_SEND_HELD;
		}
	} else {
		a->state = ATTEMPT_FAILED;
	}
	if (policy_running(r) != NULL) /* W6 */
		return RACE_WAIT;
	if (second_undo(h, r, a, end, written, view)) {
		*server = r->attempt[0].server;
		return RACE_TRY;
	}
	return step_after_last(h, r, view, now, server);
}
