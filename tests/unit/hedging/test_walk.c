/* Goal: whatever happens, in any order, the promises of the policy hold. */
#include "tests/unit/unit.h"

#include "tests/unit/hedging/walk.h"

#define SEEDS 40
#define STEPS 20000
#define CALM_STEPS 20000

static void
check_request(const struct walk_request *r)
{
	unsigned servers = (r->written_mask & 1) + (r->written_mask >> 1);

	assert_true(r->commits <= 1);
	assert_true(r->attempts <= RACE_ATTEMPTS);
	/* however many connections turned out to be stale */
	assert_true(
	    r->writes <=
	    (r->view.method_allowed && r->view.body_kept ? RACE_WRITES : 1));
	if (!r->repeatable)
		assert_true(servers <= 1);
	if (r->live) {
		assert_int_equal(r->outcome, WALK_NONE);
		return;
	}
	if (r->race.attempt[0].state == ATTEMPT_NONE)
		return; /* never was one, or it never had an attempt */
	assert_int_not_equal(r->outcome, WALK_NONE);
	if (r->outcome == WALK_FORWARDED || r->outcome == WALK_TRUNCATED)
		assert_int_equal(r->commits, 1);
	if (r->outcome == WALK_LOCAL)
		assert_int_equal(r->commits, 0);
	/* never nothing, nor an error, when a good answer was there */
	if (r->answered && r->outcome != WALK_ABORTED)
		assert_int_not_equal(r->outcome, WALK_LOCAL);
	if (r->answered_well && r->outcome == WALK_FORWARDED)
		assert_true(r->race.attempt[r->race.winner].status < 500);
}

/* The counts, recounted from the walk's own books. */
static void
check_server(const struct walk *w, unsigned server)
{
	const struct hedging_server *s = &w->h.server[server];
	unsigned flying = 0, hedges = 0, aside = 0;
	unsigned draining = w->server[server].orphans;

	for (unsigned i = 0; i < WALK_REQUESTS; i++) {
		const struct walk_request *r = &w->request[i];

		for (unsigned j = 0; r->live && j < r->attempts; j++) {
			const struct walk_attempt *a = &r->attempt[j];

			if (a->server != server)
				continue;
			if (a->phase <= WALK_HEAD && !a->lost && a->aside) {
				aside++;
			} else if (a->phase <= WALK_HEAD && !a->lost) {
				flying++;
				hedges += a->hedge;
			}
			draining += a->phase == WALK_DRAINING;
		}
	}
	assert_int_equal(s->inflight, flying);
	assert_int_equal(s->aside, aside);
	assert_true(aside <= w->h.limits.aside_max[server]);
	assert_int_equal(s->hedges, hedges);
	assert_int_equal(s->draining, draining);
	assert_int_equal(s->warmup_inflight, w->server[server].warmups);
	assert_true(
	    flying + s->warmup_inflight <= w->h.limits.connections_max[server]);
	/* losers that had no slot are drained in addition */
	if (w->h.limits.aside_max[server] == 0)
		assert_true(flying + draining + s->warmup_inflight <=
			    w->h.limits.connections_max[server]);
	assert_true(hedges <= w->h.limits.connections_max[server]);
	assert_true(s->warmup_inflight <= 2);
	assert_true(s->errors >= 0 && s->errors <= 1);
	assert_false(s->failing && s->state < SERVER_WARMING);
	/* a flag for each hazard and an instant for the flags */
	assert_int_equal(s->hazards != 0, instant_is_set(s->hazard_since));
}

/* Who is active, told without the policy's own functions. */
static void
check_pair(const struct walk *w)
{
	const struct hedging *h = &w->h;
	const struct hedging_server *x = &h->server[h->active];
	const struct hedging_server *y = &h->server[1 - h->active];

	if (!h->limits.act)
		return;
	if (x->state != SERVER_READY)
		assert_int_not_equal(y->state, SERVER_READY);
	if (y->state == SERVER_WARMING)
		assert_int_equal(x->state, SERVER_READY);
	assert_int_not_equal(x->state, SERVER_WARMING);
	/* nothing that could be done at once is left undone; a server
	 * that has just recovered is seen by the next tick */
	if ((x->hazards & h->limits.triggers & ~x->waiting) != 0)
		assert_false(y->state == SERVER_READY && y->hazards == 0 &&
			     y->draining == 0 && y->errors < 0.01 &&
			     !instant_is_set(y->erred));
}

static void
check(const struct walk *w)
{
	const struct hedging *h = &w->h;
	const struct hedging_limits *l = &h->limits;

	for (unsigned i = 0; i < WALK_REQUESTS; i++)
		check_request(&w->request[i]);
	for (unsigned i = 0; i < l->servers; i++)
		check_server(w, i);
	if (l->servers == HEDGING_SERVERS)
		check_pair(w);
	/* a pause is acted upon in time, or over */
	assert_true(!instant_is_set(hedging_wait_until(h)) ||
		    instant_before(w->now, hedging_wait_until(h)));
	assert_int_equal(h->requests_finished, w->finished);
	assert_int_equal(h->hedges_cancelled, w->cancelled);
	assert_int_equal(h->swaps, w->swaps_seen);
	assert_true((double)(w->hedges - w->cancelled) <=
		    (double)l->budget_burst +
			l->budget_ratio * (double)w->finished + 1e-6);
	assert_true(h->tokens >= 0 && h->tokens <= l->budget_burst);
	assert_true(
	    (double)w->mirrors <= l->mirror_ratio * (double)w->finished + 1e-6);
	if (!l->act || l->servers == 1) {
		assert_int_equal(h->swaps, 0);
		assert_int_equal(w->hedges, 0);
		assert_int_equal(w->mirrors, 0);
		assert_int_equal(h->active, 0);
	}
}

static struct walk walk;

static void
walk_whole(const struct hedging_limits *limits, uint64_t seed)
{
	walk_init(&walk, limits, seed);
	for (unsigned i = 0; i < STEPS; i++) {
		walk_step(&walk);
		check(&walk);
	}
	walk_calm(&walk);
	for (unsigned i = 0; i < CALM_STEPS && walk_live(&walk) > 0; i++) {
		if (i % 1000 == 999) /* ends that were lost expire */
			walk.now = instant_plus(walk.now, 61 * NS_PER_S);
		walk_step(&walk);
		check(&walk);
	}
	if (walk_live(&walk) > 0)
		print_error("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(walk_live(&walk), 0);
}

static struct hedging_limits
limits_random(uint64_t seed)
{
	static const double ratios[] = {0, 0.05, 0.1, 0.5};
	struct walk dice = {.seed = seed * 7919};

	return (struct hedging_limits){
	    .act = true,
	    .triggers = 1 + walk_random(&dice, 15),
	    .servers = 2,
	    .connections_max = {3 + walk_random(&dice, 40),
		3 + walk_random(&dice, 40)},
	    .aside_max = {walk_random(&dice, 6), walk_random(&dice, 6)},
	    .budget_ratio = ratios[walk_random(&dice, 4)],
	    .budget_burst = 1 + walk_random(&dice, 100),
	    .warmup_requests = walk_random(&dice, 40),
	    .warmup_max_ns = (int64_t)walk_random(&dice, 500) * NS_PER_MS,
	    .mirror_ratio = ratios[walk_random(&dice, 4)],
	};
}

/* Goal: all promises, while acting. */
TEST(test_acting)
{
	uint64_t hedges = 0, swaps = 0, mirrors = 0, waited = 0,
		 ended[WALK_ABORTED + 1] = {0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct hedging_limits limits = limits_random(seed);

		walk_whole(&limits, seed);
		hedges += walk.hedges - walk.cancelled;
		swaps += walk.h.swaps;
		mirrors += walk.mirrors;
		waited += walk.h.waited_out[HAZARD_SAFEPOINT];
		for (unsigned i = 0; i <= WALK_ABORTED; i++)
			ended[i] += walk.ended[i];
	}
	/* the walk went where it hurts */
	assert_true(swaps > 1000 && hedges > 1000 && mirrors > 1000);
	assert_true(waited > 100);
	for (unsigned i = WALK_FORWARDED; i <= WALK_ABORTED; i++)
		assert_true(ended[i] > 500);
}

/* Goal: who only watches touches nothing. */
TEST(test_watching)
{
	for (uint64_t seed = 100; seed < 106; seed++) {
		struct hedging_limits limits = limits_random(seed);

		limits.act = false;
		walk_whole(&limits, seed);
	}
}

/* Goal: with one server it is a plain proxy. */
TEST(test_one_server)
{
	for (uint64_t seed = 200; seed < 204; seed++) {
		struct hedging_limits limits = limits_random(seed);

		limits.servers = 1;
		walk_whole(&limits, seed);
	}
}
