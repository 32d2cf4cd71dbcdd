/*
 * walk.c: the simulated proxy and its servers.
 */
#include "tests/unit/hedging/walk.h"

#include "base/random.h"
#include "tests/unit/unit.h"

#include <string.h>

unsigned
walk_random(struct walk *w, unsigned n)
{
	return (unsigned)(splitmix64(&w->seed) % n);
}

static bool
chance(struct walk *w, unsigned one_in)
{
	return walk_random(w, one_in) == 0;
}

static void carry_out(struct walk *w, unsigned actions);

/* --- one request ---------------------------------------------------------- */

static bool
is_flying(const struct walk_attempt *a)
{
	return a->phase <= WALK_HEAD && !a->lost;
}

/* It is over for the client: books closed, losers on their own. */
static void
request_finish(
    struct walk *w, struct walk_request *r, enum walk_outcome outcome)
{
	assert_int_equal(r->outcome, WALK_NONE);
	r->outcome = outcome;
	for (unsigned i = 0; i < r->attempts; i++) {
		struct walk_attempt *a = &r->attempt[i];

		if (a->phase == WALK_DRAINING)
			w->server[a->server].orphans++;
		else
			assert_int_equal(a->phase, WALK_OVER);
	}
	w->finished++;
	w->ended[outcome]++;
	hedging_request_end(&w->h);
	r->live = false;
}

static void
request_start(struct walk *w, struct walk_request *r, int server,
    enum hedge_trigger trigger)
{
	struct walk_attempt *a;
	int i;

	assert_in_range(server, 0, HEDGING_SERVERS - 1);
	assert_true(r->attempts < RACE_ATTEMPTS);
	i = race_start(&w->h, &r->race, (unsigned)server, trigger);
	assert_int_equal(i, r->attempts);
	a = &r->attempt[r->attempts++];
	*a = (struct walk_attempt){.phase = WALK_UNWRITTEN,
	    .server = (unsigned)server,
	    .hedge = trigger != HEDGE_FIRST && trigger != HEDGE_FAILURE};
	w->hedges += a->hedge;
	/* nobody but a READY server may get a client's request; one that
	 * warms up, a second try beside the first */
	if (w->h.server[server].state != SERVER_READY) {
		assert_int_equal(w->h.server[server].state, SERVER_WARMING);
		assert_int_not_equal(trigger, HEDGE_FIRST);
		assert_int_not_equal(trigger, HEDGE_TIMER);
		assert_true(
		    trigger == HEDGE_FAILURE || is_flying(&r->attempt[0]));
	}
}

/* The policy says this one lost: it must be so by our books. */
static void
attempt_lose(struct walk *w, struct walk_request *r, unsigned i)
{
	struct walk_attempt *a = &r->attempt[i];
	int server;

	a->lost = true;
	if (a->phase == WALK_UNWRITTEN) {
		a->phase = WALK_OVER;
		w->cancelled += a->hedge;
		assert_int_equal(
		    race_ended(&w->h, &r->race, (int)i, ATTEMPT_END_UNSENT, -1,
			false, &r->view, w->now, &server),
		    RACE_WAIT);
	} else if (chance(w, 5)) {
		a->phase = WALK_OVER; /* closed instead of drained */
		assert_int_equal(
		    race_ended(&w->h, &r->race, (int)i, ATTEMPT_END_FAILED, -1,
			true, &r->view, w->now, &server),
		    RACE_WAIT);
	} else {
		a->phase = WALK_DRAINING;
		hedging_drain_begin(&w->h, a->server);
	}
}

static void
request_commit(struct walk *w, struct walk_request *r, unsigned i)
{
	if (!race_commit(&w->h, &r->race, (int)i))
		return;
	r->commits++;
	r->attempt[i].won = true;
	for (unsigned j = 0; j < r->attempts; j++)
		if (j != i && is_flying(&r->attempt[j]))
			attempt_lose(w, r, j);
}

static void
request_abandon(
    struct walk *w, struct walk_request *r, enum walk_outcome outcome)
{
	r->view.client_gone = outcome == WALK_ABORTED;
	race_abandon(&w->h, &r->race);
	for (unsigned i = 0; i < r->attempts; i++)
		if (is_flying(&r->attempt[i]))
			attempt_lose(w, r, i);
	request_finish(w, r, outcome);
}

static bool
request_flies(const struct walk_request *r)
{
	for (unsigned i = 0; i < r->attempts; i++)
		if (is_flying(&r->attempt[i]))
			return true;
	return false;
}

static void
request_next(
    struct walk *w, struct walk_request *r, enum race_step step, int server)
{
	switch (step) {
	case RACE_TRY:
		request_start(w, r, server, HEDGE_FAILURE);
		return;
	case RACE_QUEUE:
		r->queued = true;
		r->next = HEDGE_FAILURE;
		return;
	case RACE_SEND_HELD:
		request_commit(w, r, (unsigned)server);
		assert_true(r->attempt[server].won);
		assert_int_equal(r->attempt[server].phase, WALK_OVER);
		request_finish(w, r, WALK_FORWARDED);
		return;
	case RACE_RESTART:
		assert_int_equal(r->writes, 0); /* no server knows of it */
		r->queued = true;
		r->next = HEDGE_FIRST;
		return;
	case RACE_GIVE_UP:
		request_finish(w, r, WALK_LOCAL);
		return;
	case RACE_WAIT:
		assert_true(request_flies(r)); /* or it would hang */
		return;
	case RACE_COLLECT:
	case RACE_HOLD:
	case RACE_DISCARD:
		fail_msg("step %d after an end", step);
	}
}

/* An attempt in flight ends, for whatever reason. */
static void
attempt_end(
    struct walk *w, struct walk_request *r, unsigned i, enum attempt_end end)
{
	struct walk_attempt *a = &r->attempt[i];
	bool written = a->phase != WALK_UNWRITTEN;
	bool won = a->won;
	int64_t latency_ns =
	    written ? instant_since(w->now, a->began) : INT64_C(-1);
	enum race_step step;
	int server;

	a->phase = WALK_OVER;
	if (end == ATTEMPT_END_COMPLETE) {
		r->answered = true;
		r->answered_well |= a->status < 500;
	}
	w->cancelled += end == ATTEMPT_END_UNSENT && a->hedge;
	step = race_ended(&w->h, &r->race, (int)i, end, latency_ns, written,
	    &r->view, w->now, &server);
	if (won) {
		assert_int_equal(step, RACE_WAIT);
		request_finish(w, r,
		    end == ATTEMPT_END_COMPLETE ? WALK_FORWARDED
						: WALK_TRUNCATED);
		return;
	}
	r->attempts = r->race.started; /* a dropped hedge leaves no trace */
	request_next(w, r, step, server);
}

static int
status_random(struct walk *w)
{
	static const int good[] = {200, 200, 200, 304, 404};
	static const int bad[] = {500, 502, 503};

	return chance(w, w->errs_one_in) ? bad[walk_random(w, 3)]
					 : good[walk_random(w, 5)];
}

static void
attempt_head(struct walk *w, struct walk_request *r, unsigned i)
{
	struct walk_attempt *a = &r->attempt[i];
	enum race_step step;

	a->phase = WALK_HEAD;
	a->status = status_random(w);
	step = race_head(&r->race, (int)i, a->status);
	assert_in_range(step, RACE_COLLECT, RACE_HOLD);
	if (step == RACE_HOLD)
		assert_int_equal(r->attempts, RACE_ATTEMPTS);
	else if (chance(w, 2))
		request_commit(w, r, i);
}

/* One thing happens to an attempt on a server that works. */
static void
attempt_progress(struct walk *w, struct walk_request *r, unsigned i)
{
	struct walk_attempt *a = &r->attempt[i];

	if (!is_flying(a))
		return;
	if (chance(w, 10) && race_release_slot(&w->h, &r->race, (int)i)) {
		assert_false(a->aside);
		a->aside = true;
		return;
	}
	if (chance(w, w->fails_one_in)) {
		attempt_end(w, r, i, ATTEMPT_END_FAILED);
		return;
	}
	switch (a->phase) {
	case WALK_UNWRITTEN:
		a->phase = WALK_WRITTEN;
		a->began = w->now;
		r->writes++;
		r->written_mask |= 1u << a->server;
		return;
	case WALK_WRITTEN:
		/* a stale connection: once more, if it may be */
		if (!chance(w, w->fails_one_in))
			attempt_head(w, r, i);
		else if (!race_may_rewrite(&r->race, &r->view))
			attempt_end(w, r, i, ATTEMPT_END_FAILED);
		else {
			race_rewrite(&r->race);
			r->writes++;
		}
		return;
	case WALK_HEAD:
		if (!a->won && r->race.attempt[i].status < 500)
			request_commit(w, r, i);
		attempt_end(w, r, i, ATTEMPT_END_COMPLETE);
		return;
	case WALK_DRAINING:
	case WALK_OVER:
		return;
	}
}

/* --- what the proxy does with actions -------------------------------- */

static void
request_ask(struct walk *w, struct walk_request *r)
{
	enum hedge_trigger trigger = HEDGE_TIMER;
	enum hedge_refusal refusal;
	int server;

	for (unsigned i = 0; i < r->attempts; i++)
		if (is_flying(&r->attempt[i]))
			trigger =
			    hedging_hazard_trigger(&w->h, r->attempt[i].server);
	if (trigger == HEDGE_FIRST || trigger == HEDGE_TIMER)
		trigger = HEDGE_GC; /* must be refused then */
	refusal =
	    hedging_decide(&w->h, &r->race, &r->view, trigger, w->now, &server);
	r->hedge_waits = refusal == HEDGE_REFUSED_INFLIGHT_LIMIT;
	if (refusal == HEDGE_REFUSED_NONE)
		request_start(w, r, server, trigger);
}

/* It leaves the queue; begun on a server that stands still, it is asked for
 * at once, and not in vain. */
static void
request_first(struct walk *w, struct walk_request *r, unsigned server)
{
	bool at_once = hedging_hedge_at_start(&w->h, server, w->now);
	uint64_t refused = w->h.refused[HEDGE_REFUSED_BACKUP_NOT_READY];

	request_start(w, r, (int)server, r->next);
	if (!at_once)
		return;
	assert_int_not_equal(w->h.server[server].hazards, 0);
	assert_int_equal(w->h.server[1 - server].hazards, 0);
	request_ask(w, r);
	assert_int_equal(w->h.refused[HEDGE_REFUSED_BACKUP_NOT_READY], refused);
}

static void
request_cancel(struct walk *w, struct walk_request *r)
{
	unsigned last = r->attempts - 1;

	if (r->attempts == RACE_ATTEMPTS &&
	    r->attempt[last].phase == WALK_UNWRITTEN &&
	    hedging_hedge_obsolete(&w->h, &r->race))
		attempt_end(w, r, last, ATTEMPT_END_UNSENT);
}

static void
carry_out(struct walk *w, unsigned actions)
{
	for (unsigned i = 0; i < WALK_REQUESTS; i++) {
		struct walk_request *r = &w->request[i];

		if (r->live && (actions & HEDGING_CANCEL) != 0)
			request_cancel(w, r);
		if (r->live && (actions & HEDGING_SWEEP) != 0)
			request_ask(w, r);
	}
	w->swaps_seen += (actions & HEDGING_SWAPPED) != 0;
}

/* Hand free slots to those who wait, hedges and new ones in turn. */
static void
queues_serve(struct walk *w)
{
	for (unsigned i = 0; i < WALK_REQUESTS; i++) {
		struct walk_request *r = &w->request[i];
		int server = hedging_choose(&w->h);

		if (!r->live)
			continue;
		if (r->hedge_waits && hedging_hedge_turn(&w->h, w->h.active))
			request_ask(w, r);
		if (!r->queued || server == HEDGING_FULL)
			continue;
		r->queued = false;
		if (server == HEDGING_UNAVAILABLE && !chance(w, 20))
			r->queued = true; /* one may return */
		else if (server == HEDGING_UNAVAILABLE)
			request_abandon(w, r, WALK_LOCAL);
		else if (hedging_choose(&w->h) == server)
			request_first(w, r, (unsigned)server);
		else
			r->queued = true;
	}
}

/* --- servers -------------------------------------------------------------- */

static void
hazard(struct walk *w, unsigned server, enum hazard_kind kind, bool begin)
{
	const struct hazard z = {.server = (uint8_t)server,
	    .kind = (uint8_t)kind,
	    .begin = begin,
	    .at = instant_plus(w->now, -(int64_t)walk_random(w, 20000))};

	carry_out(w, hedging_hazard(&w->h, &z, w->now));
}

static void
attempts_fail(struct walk *w, unsigned server)
{
	for (unsigned i = 0; i < WALK_REQUESTS; i++) {
		struct walk_request *r = &w->request[i];

		for (unsigned j = 0; r->live && j < r->attempts; j++)
			if (r->attempt[j].server == server &&
			    is_flying(&r->attempt[j])) {
				attempt_end(w, r, j, ATTEMPT_END_FAILED);
				break;
			}
	}
}

/* Losers and warm-ups of a dead server end; of a live one, some do. */
static void
leftovers_end(struct walk *w, unsigned server, unsigned one_in)
{
	struct walk_server *s = &w->server[server];

	for (; s->orphans > 0 && chance(w, one_in); s->orphans--)
		carry_out(w, hedging_drain_end(&w->h, server, w->now));
	for (; s->warmups > 0 && chance(w, one_in); s->warmups--)
		carry_out(w, hedging_warmup_done(&w->h, server, one_in > 1,
				 (int64_t)walk_random(w, 3000000), w->now));
}

static void
server_die(struct walk *w, unsigned server)
{
	struct walk_server *s = &w->server[server];

	if (!s->up)
		return;
	s->up = false;
	s->stopped = false;
	/* the sockets may tell before the process watcher, or after */
	if (chance(w, 2))
		attempts_fail(w, server);
	hazard(w, server, HAZARD_EXIT, true);
	attempts_fail(w, server);
	leftovers_end(w, server, 1);
}

static void
server_return(struct walk *w, unsigned server)
{
	struct walk_server *s = &w->server[server];

	if (s->up)
		return;
	if (chance(w, 2))
		hazard(w, server, HAZARD_EXIT, false);
	carry_out(w, hedging_server_connecting(&w->h, server, w->now));
	carry_out(w, hedging_server_up(&w->h, server, w->now));
	s->up = true;
}

static void
server_pause(struct walk *w, unsigned server, bool begin)
{
	struct walk_server *s = &w->server[server];

	if (!s->up)
		return;
	s->stopped = begin;
	hazard(w, server, chance(w, 3) ? HAZARD_SAFEPOINT : HAZARD_GC, begin);
	if (!begin && !chance(w, 50)) { /* else an end is lost */
		hazard(w, server, HAZARD_SAFEPOINT, false);
		hazard(w, server, HAZARD_GC, false);
	}
}

static void
server_warm(struct walk *w, unsigned server)
{
	struct instant next;
	unsigned due = hedging_warmup_due(&w->h, server, w->now, &next);

	if (due > 0 && w->h.server[server].state == SERVER_READY) {
		assert_int_not_equal(server, w->h.active);
		assert_int_equal(w->h.server[server].hazards, 0);
		w->mirrors += due;
	}
	for (; due > 0; due--) {
		hedging_warmup_sent(&w->h, server);
		w->server[server].warmups++;
	}
	if (instant_is_set(next))
		assert_true(instant_before(w->now, next));
}

static void
trouble(struct walk *w)
{
	unsigned server = walk_random(w, w->h.limits.servers);

	switch (walk_random(w, 40)) {
	case 0:
		if (chance(w, 2))
			server_die(w, server);
		break;
	case 1:
	case 2:
	case 3:
		server_return(w, 0);
		server_return(w, w->h.limits.servers - 1);
		break;
	case 4:
		hedging_pushback(
		    &w->h, server, (int64_t)walk_random(w, 50000000), w->now);
		break;
	case 5:
		if (w->h.limits.act)
			carry_out(w, hedging_switch(&w->h, w->now));
		break;
	default:
		server_pause(
		    w, server, !w->server[server].stopped && chance(w, 2));
	}
}

/* --- requests come and go ------------------------------------------------- */

static void
request_arrive(struct walk *w)
{
	struct walk_request *r = &w->request[walk_random(w, WALK_REQUESTS)];

	if (r->live)
		return;
	memset(r, 0, sizeof(*r));
	r->live = true;
	r->queued = true;
	r->next = HEDGE_FIRST;
	race_init(&r->race);
	r->view = (struct hedge_view){.method_allowed = !chance(w, 4),
	    .body_complete = !chance(w, 10),
	    .body_kept = !chance(w, 10),
	    .upgrade = chance(w, 20),
	    .opted_out = chance(w, 20),
	    .private = chance(w, 20)};
	r->repeatable = r->view.method_allowed && r->view.body_complete &&
			r->view.body_kept && !r->view.upgrade &&
			!r->view.opted_out;
	if (chance(w, 5))
		r->view.deadline = instant_plus(
		    w->now, (int64_t)walk_random(w, 200) * NS_PER_MS);
}

static void
request_progress(struct walk *w)
{
	struct walk_request *r = &w->request[walk_random(w, WALK_REQUESTS)];
	unsigned i;
	const struct walk_server *s;

	if (!r->live || r->attempts == 0)
		return;
	i = walk_random(w, r->attempts);
	s = &w->server[r->attempt[i].server];
	if (r->attempt[i].phase == WALK_DRAINING && !s->stopped) {
		int server;

		assert_int_equal(
		    race_ended(&w->h, &r->race, (int)i, ATTEMPT_END_COMPLETE,
			instant_since(w->now, r->attempt[i].began), true,
			&r->view, w->now, &server),
		    RACE_WAIT);
		r->attempt[i].phase = WALK_OVER;
		carry_out(
		    w, hedging_drain_end(&w->h, r->attempt[i].server, w->now));
		return;
	}
	/* a stopped server's socket still takes bytes */
	if (s->up && (!s->stopped || r->attempt[i].phase == WALK_UNWRITTEN))
		attempt_progress(w, r, i);
}

static void
deadlines(struct walk *w)
{
	for (unsigned i = 0; i < WALK_REQUESTS; i++) {
		struct walk_request *r = &w->request[i];

		if (r->live && instant_is_set(r->view.deadline) &&
		    instant_before(r->view.deadline, w->now) && !r->answered &&
		    r->commits == 0)
			request_abandon(w, r, WALK_LOCAL);
	}
}

static void
client_leaves(struct walk *w)
{
	struct walk_request *r = &w->request[walk_random(w, WALK_REQUESTS)];

	if (r->live)
		request_abandon(w, r, WALK_ABORTED);
}

void
walk_step(struct walk *w)
{
	unsigned event = walk_random(w, 100);

	w->now = instant_plus(w->now, (int64_t)walk_random(w, 400000));
	if (instant_since(w->now, w->ticked) > 8 * NS_PER_MS ||
	    (instant_is_set(hedging_wait_until(&w->h)) &&
		!instant_before(w->now, hedging_wait_until(&w->h)))) {
		w->ticked = w->now;
		carry_out(w, hedging_tick(&w->h, w->now));
	}
	if (event < 60)
		request_progress(w);
	else if (event < 80 && !w->calm)
		request_arrive(w);
	else if (event < 82 && !w->calm)
		client_leaves(w);
	else if (event < 86 && !w->calm)
		trouble(w);
	else if (event < 93)
		leftovers_end(w, walk_random(w, w->h.limits.servers), 2);
	else
		server_warm(w, walk_random(w, w->h.limits.servers));
	deadlines(w);
	queues_serve(w);
}

void
walk_init(struct walk *w, const struct hedging_limits *limits, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	/* every other seed is a rough one */
	w->fails_one_in = seed % 2 == 0 ? 2000 : 25;
	w->errs_one_in = seed % 2 == 0 ? 200 : 3;
	w->now = (struct instant){5000 * (uint64_t)NS_PER_S};
	hedging_init(&w->h, limits);
	for (unsigned i = 0; i < limits->servers; i++)
		server_return(w, i);
}

void
walk_calm(struct walk *w)
{
	w->calm = true;
	for (unsigned i = 0; i < w->h.limits.servers; i++) {
		server_return(w, i);
		server_pause(w, i, false);
	}
}

unsigned
walk_live(const struct walk *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WALK_REQUESTS; i++)
		n += w->request[i].live;
	return n;
}
