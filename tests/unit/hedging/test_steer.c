/*
 * test_steer.c: steering against a model of two heaps.
 *
 * The model fills the active server's eden at a rate, collects when its limit
 * is reached, and carries out orders.  It keeps its own account of which
 * collections a request has met.
 */
#include <string.h>

#include "tests/unit/unit.h"

#include "hedging/steer.h"

#define MB (UINT64_C(1) << 20)
#define STEP_NS (10 * NS_PER_MS)
#define PAUSE_STEPS 5
#define COLLECT_STEPS 2 /* from an order to its pause */

struct model_server {
	struct steer_heap heap;
	uint64_t limit;	  /* collects at this */
	bool full;	  /* the order is for its old generation, too */
	unsigned pause;	  /* steps left of a collection */
	unsigned filling; /* steps left until an order is carried out */
	unsigned late;	  /* steps left until its use is seen */
	uint64_t freed;	  /* by which it is less then */
	struct race request;
	bool flies;
};

struct model {
	struct hedging h;
	struct steer st;
	struct model_server server[HEDGING_SERVERS];
	struct instant now;
	uint64_t rate; /* bytes a step */
	int64_t latency_ns;
	bool idle;    /* no requests */
	bool deaf;    /* orders are not carried out */
	bool sticks;  /* requests do not end */
	unsigned lag; /* steps by which use is seen after a collection */
	enum talechain_cause cause;
	/* account */
	unsigned met, natural, ordered, full, stopped;
	uint64_t survives; /* bytes that each collection makes old */
	uint64_t live;	   /* what a full one leaves */
	struct steer_order last;
};

static struct model *
model_new(void)
{
	static struct model m;
	struct hedging_limits limits = {.act = true,
	    .triggers = 1U << HAZARD_GC,
	    .servers = 2,
	    .connections_max = {64, 64},
	    .aside_max = {64, 64},
	    .budget_ratio = 1};

	memset(&m, 0, sizeof(m));
	m.now.ns = 1000 * (uint64_t)NS_PER_S;
	hedging_init(&m.h, &limits);
	steer_init(&m.st);
	m.st.on = true;
	m.cause = TALECHAIN_CAUSE_ALLOCATION;
	m.rate = 2 * MB; /* 200 MB/s */
	m.latency_ns = 2 * NS_PER_MS;
	m.live = 100 * MB;
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		hedging_server_up(&m.h, i, m.now);
		m.server[i].limit = 300 * MB;
		m.server[i].heap = (struct steer_heap){.known = true,
		    .way = true,
		    .capacity = 300 * MB,
		    .old_capacity = 1000 * MB,
		    .used = 10 * MB,
		    .collections = 3};
		race_init(&m.server[i].request);
	}
	return &m;
}

static const struct hedge_view safe = {
    .method_allowed = true, .body_complete = true, .body_kept = true};

static void
request_begin(struct model *m, unsigned server)
{
	struct model_server *s = &m->server[server];

	race_init(&s->request);
	race_start(&m->h, &s->request, server, HEDGE_FIRST);
	s->flies = true;
}

static void
request_end(struct model *m, unsigned server)
{
	struct model_server *s = &m->server[server];
	int other;

	if (!s->flies)
		return;
	race_head(&s->request, 0, 200);
	race_commit(&m->h, &s->request, 0);
	race_ended(&m->h, &s->request, 0, ATTEMPT_END_COMPLETE, m->latency_ns,
	    true, &safe, m->now, &other);
	hedging_request_end(&m->h);
	s->flies = false;
}

static void
hazard(struct model *m, unsigned server, bool begin)
{
	struct hazard z = {.server = (uint8_t)server,
	    .kind = HAZARD_GC,
	    .begin = begin,
	    .at = m->now,
	    .seen = m->now};

	hedging_hazard(&m->h, &z, m->now);
}

static void
collection(struct model *m, unsigned server)
{
	struct model_server *s = &m->server[server];

	m->met += s->flies;
	s->pause = PAUSE_STEPS;
	s->filling = 0;
	s->heap.collections++;
	s->heap.cause = m->cause;
	s->heap.old_used += m->survives;
	if (s->full || s->heap.old_used >= s->heap.old_capacity) {
		m->met += !s->full;
		s->pause = 10;
		s->heap.old_used = m->live;
	}
	s->full = false;
	hazard(m, server, true);
}

static void
server_step(struct model *m, unsigned server)
{
	struct model_server *s = &m->server[server];

	if (s->late > 0 && --s->late == 0)
		s->heap.used -= s->freed;
	if (s->pause > 0) {
		if (--s->pause == 0) {
			s->freed = s->heap.used - 10 * MB;
			s->late = m->lag;
			if (s->late == 0)
				s->heap.used = 10 * MB;
			hazard(m, server, false);
		}
		return;
	}
	if (!m->sticks)
		request_end(m, server);
	if (s->filling > 0 && --s->filling == 0) {
		collection(m, server);
		return;
	}
	if ((server != m->h.active && !m->h.shared) || m->idle)
		return;
	s->heap.used += m->h.shared ? m->rate / 2 : m->rate;
	if (!s->flies)
		request_begin(m, server);
	if (s->heap.used >= s->limit) {
		m->natural++;
		collection(m, server);
	}
}

static void
step(struct model *m)
{
	struct steer_heap heap[HEDGING_SERVERS];

	m->now = instant_plus(m->now, STEP_NS);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		server_step(m, i);
	hedging_tick(&m->h, m->now);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		heap[i] = m->server[i].heap;
	steer_tick(&m->st, &m->h, heap, m->now, &m->last);
	if (m->last.kind == STEER_ORDER_COLLECT ||
	    m->last.kind == STEER_ORDER_FULL) {
		m->ordered++;
		m->full += m->last.kind == STEER_ORDER_FULL;
		m->server[m->last.server].full =
		    m->last.kind == STEER_ORDER_FULL;
		/* Only one that is not needed. */
		assert_int_not_equal(m->last.server, m->h.active);
		if (!m->deaf)
			m->server[m->last.server].filling = COLLECT_STEPS;
	} else if (m->last.kind != STEER_ORDER_NONE) {
		m->stopped += m->last.kind == STEER_ORDER_STOP;
		m->server[m->last.server].filling = 0;
	}
}

static void
run(struct model *m, unsigned ms)
{
	for (unsigned i = 0; i < ms / 10; i++)
		step(m);
}

static uint64_t
misses(const struct steer *st)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < STEER_MISS_COUNT; i++)
		sum += st->missed[i];
	return sum;
}

TEST(test_no_request_meets_a_collection)
{
	struct model *m = model_new();

	run(m, 60000);
	/* 200 MB/s, some 200 MB each time: about one a second. */
	assert_in_range(m->st.swaps, 40, 70);
	assert_int_equal(m->met, 0);
	assert_int_equal(m->natural, 0);
	assert_int_equal(misses(&m->st), 0);
	assert_in_range(m->st.provoked, m->st.swaps - 2, m->st.swaps);
	assert_int_equal(m->st.unmet, m->st.provoked);
	assert_int_equal(m->ordered, m->st.provoked);
}

TEST(test_a_limit_is_learnt)
{
	struct model *m = model_new();

	/* It collects at half of what it calls its capacity. */
	m->server[0].limit = m->server[1].limit = 150 * MB;
	run(m, 60000);
	assert_in_range(m->natural, 1, 4); /* one of each, or two */
	assert_int_equal(
	    m->st.missed[STEER_MISS_FORECAST] + m->st.missed[STEER_MISS_LATE],
	    m->natural);
	assert_true(m->st.swaps > 40);
}

TEST(test_a_burst_is_a_miss_and_makes_it_careful)
{
	struct model *m = model_new();
	double before;

	run(m, 20000);
	assert_int_equal(m->met, 0);
	before = m->st.part;
	while (m->server[m->h.active].heap.used < 100 * MB)
		step(m);
	m->rate = 250 * MB; /* a step to the limit */
	run(m, 10);
	m->rate = 2 * MB;
	assert_int_equal(m->met, 1);
	run(m, 1000);
	assert_int_equal(misses(&m->st), 1);
	assert_true(m->st.part < before);
	run(m, 20000);
	assert_int_equal(m->met, 1);
}

/* Goal: a stall, by which p99 and one collection are long, stops nothing. */
TEST(test_a_stall_does_not_stop_it)
{
	struct model *m = model_new();

	m->rate = 5 * MB; /* full in 600 ms */
	run(m, 20000);
	assert_int_equal(m->met, 0);
	m->latency_ns = 300 * NS_PER_MS;
	run(m, 20000);
	assert_int_equal(m->st.shares, 0);
	assert_int_equal(m->met, 0);
}

TEST(test_other_causes_change_no_forecast)
{
	struct model *m = model_new();
	double before = m->st.part;

	run(m, 500);
	m->cause = TALECHAIN_CAUSE_METADATA;
	collection(m, m->h.active);
	run(m, 100);
	assert_int_equal(m->st.missed[STEER_MISS_CAUSE], 1);
	assert_true(m->st.part == before);
}

/* Goal: servers that both fill up before the other one has collected share the
 * load, again and again while that lasts, and are steered when it is over. */
TEST(test_both_too_fast_share)
{
	struct model *m = model_new();
	unsigned shared = 0, met;

	m->rate = 100 * MB; /* full in 30 ms; a turn takes 80 */
	for (unsigned i = 0; i < 3000; i++) {
		step(m);
		shared += m->h.shared;
	}
	assert_in_range(shared, 2000, 2990);
	assert_in_range(m->st.shares, 6, 20); /* of 1 to 4 s */
	assert_true(m->st.missed[STEER_MISS_NOT_READY] > 100);
	m->rate = 2 * MB;
	run(m, 10000);
	assert_false(m->h.shared);
	met = m->met;
	run(m, 20000);
	assert_int_equal(m->met, met);
}

/* Goal: the small edens of G1's mixed collections pass in the backup. */
TEST(test_small_edens_pass_unseen)
{
	struct model *m = model_new();
	struct model_server *s;

	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		m->server[i].heap.mixes = true;
	run(m, 10000);
	s = &m->server[1 - m->h.active];
	while (m->st.server[s - m->server].phase != STEER_FRESH ||
	       m->server[m->h.active].heap.used > 50 * MB)
		step(m);
	s->heap.capacity = s->limit = 20 * MB;
	m->ordered = 0;
	run(m, 300);
	assert_in_range(m->ordered, 2, 5);
	s->heap.capacity = s->limit = 300 * MB;
	m->ordered = 0;
	run(m, 200);
	assert_in_range(m->ordered, 0, 1); /* that is under way */
	run(m, 20000);
	assert_int_equal(m->met, 0);
}

TEST(test_an_order_that_is_not_carried_out)
{
	struct model *m = model_new();

	m->deaf = true;
	m->rate = MB / 10;
	m->server[1].heap.used = 200 * MB;
	run(m, 2900);
	assert_int_equal(m->st.server[1].phase, STEER_COLLECTING);
	assert_int_equal(m->st.unanswered, 0);
	run(m, 200);
	assert_int_equal(m->st.unanswered, 1);
	assert_int_equal(m->st.server[1].phase, STEER_TIRED);
	/* The active one meets a collection, for want of a fresh backup. */
	m->rate = 2 * MB;
	run(m, 2000);
	assert_int_equal(m->st.missed[STEER_MISS_LATE], 1);
}

TEST(test_the_old_generation_is_collected_standing_by)
{
	struct model *m = model_new();

	/* Some 4 MB a second for each: full after 150 s, and then each 60. */
	m->survives = 8 * MB;
	m->rate = MB; /* 100 MB/s: there is time for a full one */
	run(m, 600000);
	assert_in_range(m->full, 2, 12);
	assert_int_equal(m->st.full, m->full);
	assert_int_equal(m->met, 0);
	assert_int_equal(misses(&m->st), 0);
}

TEST(test_a_full_collection_that_takes_too_long_is_not_ordered)
{
	struct model *m = model_new();

	/* A second for a gigabyte, and the active one is full in 1.5 s. */
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		m->server[i].heap.old_capacity = 10000 * MB;
		m->server[i].heap.old_used = 7500 * MB;
	}
	run(m, 200);
	m->server[1].heap.used = 200 * MB;
	run(m, 60000);
	assert_int_equal(m->full, 0);
	assert_true(m->ordered > 20);
}

TEST(test_full_collections_that_free_nothing_are_not_repeated)
{
	struct model *m = model_new();

	m->live = 800 * MB;
	m->server[0].heap.old_used = m->server[1].heap.old_used = 800 * MB;
	m->rate = MB / 2;
	run(m, 600000);
	assert_int_equal(m->full, 2); /* one of each */
	assert_int_equal(m->st.full, 2);
	assert_int_equal(m->met, 0);
}

/* Goal: what is learnt of a full collection is of one that was carried out. */
TEST(test_a_full_collection_that_is_withdrawn_is_none)
{
	struct model *m = model_new();
	struct hazard z = {.kind = HAZARD_SAFEPOINT, .begin = true};

	m->deaf = true;
	m->rate = MB / 10;
	m->server[1].heap.used = 200 * MB;
	m->server[1].heap.old_used = 800 * MB;
	run(m, 100);
	assert_int_equal(m->full, 1);
	hedging_hazard(&m->h, &z, m->now); /* no trigger: nothing swaps */
	run(m, 20);
	assert_int_equal(m->stopped, 1);
	z.begin = false;
	hedging_hazard(&m->h, &z, m->now);
	m->deaf = false;
	run(m, 1000);
	assert_int_equal(m->ordered, 2);
	assert_int_equal(m->full, 1);
	assert_int_equal(m->st.provoked, 1); /* the young one */
	assert_int_equal(m->st.full, 0);
	assert_int_equal(m->st.server[1].full_left, 0);
}

TEST(test_stragglers)
{
	struct model *m = model_new();
	unsigned old = m->h.active;

	run(m, 500);
	m->sticks = true;
	hedging_switch(&m->h, m->now);
	run(m, 1000);
	assert_int_equal(m->st.server[old].phase, STEER_DRAINING);
	assert_int_equal(m->ordered, 0);
	m->sticks = false;
	run(m, 30);
	assert_int_equal(m->ordered, 1);
	assert_int_equal(m->last.server, old);
}

/* Goal: a request that is still there meets a young collection, not a full
 * one. */
TEST(test_stragglers_meet_no_full_collection)
{
	struct model *m = model_new();
	unsigned old = m->h.active;

	m->rate = MB / 4;
	run(m, 5000);
	m->server[old].heap.old_used = 800 * MB;
	m->sticks = true;
	hedging_switch(&m->h, m->now);
	run(m, 2100);
	assert_int_equal(m->ordered, 1);
	assert_int_equal(m->full, 0);
}

TEST(test_a_small_rest_is_fresh_at_once)
{
	struct model *m = model_new();

	run(m, 100);
	hedging_switch(&m->h, m->now);
	run(m, 30);
	assert_int_equal(m->ordered, 0);
	assert_int_equal(m->st.server[0].phase, STEER_FRESH);
}

TEST(test_an_idle_moment_is_used)
{
	struct model *m = model_new();

	m->server[1].heap.used = 10 * MB;
	m->server[0].heap.used = 140 * MB;
	run(m, 100);
	assert_int_equal(m->st.swaps, 0);
	m->idle = true;
	run(m, 300);
	assert_int_equal(m->st.swaps, 1);
	assert_int_equal(m->ordered, 1);
}

/* Goal: requests that begin and end between two ticks make it a busy one. */
TEST(test_short_requests_are_no_idle_moment)
{
	struct model *m = model_new();

	m->server[1].heap.used = 10 * MB;
	m->server[0].heap.used = 140 * MB;
	m->idle = true;
	for (unsigned i = 0; i < 30; i++) {
		request_begin(m, 0);
		request_end(m, 0);
		step(m);
	}
	assert_int_equal(m->st.swaps, 0);
}

/* A tick so long after the one before, with so much growth since. */
static void
late_tick(struct model *m, int64_t ns, uint64_t bytes)
{
	m->now = instant_plus(m->now, ns - STEP_NS);
	m->server[m->h.active].heap.used += bytes;
	step(m);
}

/* Goal: growth between two ticks far apart counts as what it is. */
TEST(test_growth_since_a_late_tick)
{
	struct model *m = model_new();
	int64_t left_ns;

	m->rate = MB / 10; /* 10 MB/s */
	run(m, 2000);
	left_ns = steer_left_ns(&m->st);
	m->idle = true;
	late_tick(m, NS_PER_S, 10 * MB);
	assert_in_range(
	    left_ns - steer_left_ns(&m->st), 800 * NS_PER_MS, 1200 * NS_PER_MS);
}

/* Goal: without requests ticks may be rare, unless a server drains or collects,
 * or the active one will be near full soon by its present growth. */
TEST(test_rare_ticks)
{
	struct model *m = model_new();

	m->idle = true;
	run(m, 200);
	assert_true(steer_may_rest(&m->st, &m->h));
	late_tick(m, NS_PER_S, 40 * MB);
	assert_true(steer_may_rest(&m->st, &m->h));
	late_tick(m, NS_PER_S, 80 * MB);
	assert_int_equal(m->st.swaps, 0);
	assert_false(steer_may_rest(&m->st, &m->h));
	late_tick(m, NS_PER_S, 20 * MB);
	assert_int_equal(m->st.swaps, 1);
	assert_false(steer_may_rest(&m->st, &m->h));
	run(m, 1000);
	assert_int_equal(m->ordered, 1);
	assert_true(steer_may_rest(&m->st, &m->h));
	m->st.on = false;
	step(m);
	assert_true(steer_may_rest(&m->st, &m->h));
}

/* Goal: an order is withdrawn where its server has to serve, also one that was
 * not carried out in time. */
TEST(test_help_is_needed)
{
	static const struct {
		unsigned after_ms;
		enum steer_phase phase;
	} rows[] = {{100, STEER_COLLECTING}, {3200, STEER_TIRED}};

	for (unsigned i = 0; i < 2; i++) {
		struct model *m = model_new();

		m->deaf = true;
		m->rate = MB / 10;
		m->server[1].heap.used = 200 * MB;
		run(m, rows[i].after_ms);
		assert_int_equal(m->st.server[1].phase, rows[i].phase);
		assert_int_equal(m->stopped, 0);
		hazard(m, 0, true);
		run(m, 20);
		/* The hazard has swapped; the other must not collect. */
		assert_int_equal(m->h.active, 1);
		assert_int_equal(m->stopped, 1);
	}
}

TEST(test_a_new_process_is_not_the_old_one)
{
	struct model *m = model_new();

	run(m, 5000);
	m->server[0].heap.collections = 0;
	m->server[0].heap.used = 20 * MB;
	run(m, 5000);
	assert_int_equal(misses(&m->st), 0);
	assert_int_equal(m->met, 0);
}

TEST(test_a_turn_begins_when_it_is_left)
{
	struct model *m = model_new();

	run(m, 3000);
	/* Long after our last swap others do it, and it is near full. */
	m->idle = true;
	m->server[m->h.active].heap.used = 10 * MB;
	m->server[1 - m->h.active].heap.used = 10 * MB;
	run(m, 20000);
	for (int i = 0; i < 4; i++) {
		m->server[m->h.active].heap.used = 140 * MB;
		hedging_switch(&m->h, m->now);
		run(m, 500);
	}
	m->idle = false;
	run(m, 20000);
	assert_int_equal(m->st.shares, 0);
	assert_int_equal(m->met, 0);
}

TEST(test_what_is_missing)
{
	struct model *m = model_new();
	struct model_server *s = &m->server[1];

	run(m, 20);
	assert_int_equal(m->st.server[1].missing, STEER_MISSING_NOTHING);
	s->heap.way = false;
	run(m, 10);
	assert_int_equal(m->st.server[1].missing, STEER_MISSING_WAY);
	assert_int_equal(m->st.server[0].phase, STEER_OFF);
	s->heap.concurrent = true;
	run(m, 10);
	assert_int_equal(m->st.server[1].missing, STEER_MISSING_CONCURRENT);
	s->heap.known = false;
	run(m, 10);
	assert_int_equal(m->st.server[1].missing, STEER_MISSING_HEAP);
	m->h.limits.act = false;
	run(m, 10);
	assert_int_equal(m->st.server[1].missing, STEER_MISSING_WATCHING);
	m->st.on = false;
	run(m, 10);
	assert_int_equal(m->st.server[1].missing, STEER_MISSING_SWITCHED_OFF);
	run(m, 5000);
	assert_int_equal(m->st.swaps, 0);
	assert_int_equal(m->ordered, 0);
}

/* Goal: a collection whose effect is seen late is not ordered again. */
TEST(test_use_that_is_seen_late_is_no_reason_for_another)
{
	struct model *m = model_new();
	uint64_t swaps, ordered;

	m->rate = MB; /* there is time for another */
	m->lag = 3;
	run(m, 60000);
	assert_in_range(m->st.swaps, 20, 35);
	assert_true(m->ordered <= m->st.swaps);
	assert_int_equal(m->met, 0);
	/* After a second what is seen is believed. */
	m->lag = 120;
	swaps = m->st.swaps;
	ordered = m->ordered;
	run(m, 20000);
	assert_true(m->ordered - ordered > m->st.swaps - swaps);
}

/* Goal: a collection that comes by itself while the order is on its way is the
 * one that was wanted: the order is withdrawn. */
TEST(test_one_that_comes_by_itself_is_the_ordered_one)
{
	struct model *m = model_new();
	struct model_server *s = &m->server[1];
	uint64_t before;

	m->deaf = true;
	m->rate = MB / 10;
	s->heap.used = 200 * MB;
	run(m, 100);
	assert_int_equal(m->st.server[1].phase, STEER_COLLECTING);
	before = s->heap.collections;
	collection(m, 1);
	s->filling = 3; /* the order is carried out after the pause */
	run(m, 200);
	assert_int_equal(s->heap.collections, before + 1);
	assert_int_equal(m->st.server[1].phase, STEER_FRESH);
	assert_int_equal(m->ordered, 1);
	assert_int_equal(m->stopped, 0);
}

/* The end of its process, and the next one a second later. */
static void
restart(struct model *m, unsigned server)
{
	struct model_server *s = &m->server[server];

	request_end(m, server);
	hedging_server_down(&m->h, server, m->now);
	s->heap.known = false;
	s->pause = s->filling = s->late = 0;
	run(m, 1000);
	s->heap.known = true;
	s->heap.collections = 0;
	s->heap.used = 20 * MB;
	hedging_server_up(&m->h, server, m->now);
}

/* Goal: what was learnt of a server outlasts a restart of the other one. */
TEST(test_a_restart_of_the_other_forgets_nothing)
{
	struct model *m = model_new();
	unsigned natural;

	m->server[0].limit = m->server[1].limit = 150 * MB;
	run(m, 60000);
	for (unsigned i = 0; i < 4; i++) {
		unsigned old = 1 - m->h.active;
		double limit = m->st.server[1 - old].limit;

		assert_true(limit > 0.4 && limit < 0.7);
		/* The one that stays has just begun to serve. */
		while (m->server[1 - old].heap.used > 20 * MB ||
		       m->h.active == old)
			step(m);
		old = 1 - m->h.active;
		limit = m->st.server[1 - old].limit;
		natural = m->natural;
		restart(m, old);
		run(m, 20);
		assert_true(m->st.server[1 - old].limit >= limit);
		run(m, 20000);
		/* One of the new process, which nothing is known of, and
		 * one as it is tried out now and then what is full. */
		assert_true(m->natural <= natural + 3);
	}
}

/* Goal: after a restart of the backup there is one swap each time the active
 * one is near full, as before. */
TEST(test_a_restart_swaps_no_more_often)
{
	struct model *m = model_new();
	uint64_t swaps;

	for (unsigned i = 0; i < 20; i++) {
		run(m, 2000 + 70 * i);
		swaps = m->st.swaps;
		restart(m, 1 - m->h.active);
		run(m, 2000);
		/* Full in 1.3 s, or in 1 s. */
		assert_true(m->st.swaps - swaps <= 3);
		assert_int_equal(m->st.shares, 0);
	}
}

/* Goal: a server that has to serve does not collect because of an order from
 * before the other one ended. */
TEST(test_an_order_ends_with_the_other_server)
{
	struct model *m = model_new();

	m->deaf = true;
	m->rate = MB / 10;
	m->server[1].heap.used = 200 * MB;
	run(m, 100);
	assert_int_equal(m->st.server[1].phase, STEER_COLLECTING);
	m->server[1].filling = 5;
	request_end(m, 0);
	hedging_server_down(&m->h, 0, m->now);
	m->server[0].heap.known = false;
	run(m, 200);
	assert_int_equal(m->h.active, 1);
	assert_int_equal(m->st.server[1].phase, STEER_OFF);
	assert_int_equal(m->stopped, 1);
	assert_int_equal(m->met, 0);
}

/* Goal: what a restart waits for: a server that is fresh need not collect. */
TEST(test_a_fresh_server_is_not_due)
{
	struct model *m = model_new();
	unsigned backup;

	run(m, 3000);
	while (m->st.server[1 - m->h.active].phase != STEER_FRESH)
		step(m);
	backup = 1 - m->h.active;
	run(m, 10);
	assert_false(hedging_collection_due(&m->h, backup, m->now));
	assert_true(hedging_collection_due(&m->h, m->h.active, m->now));
	m->st.on = false;
	step(m);
	assert_true(hedging_collection_due(&m->h, backup, m->now));
}
