/* Goal: what a server has shown of idle connections is believed for a while,
 * and not for ever. */
#include "tests/unit/unit.h"

#include "proxy/upstream/connection.h"
#include "proxy/upstream/exchange.h"

static struct instant
at_s(int64_t s)
{
	return (struct instant){(uint64_t)((s + 1) * NS_PER_S)};
}

TEST(test_a_sign_of_few_workers_gets_old)
{
	struct server s = {0};

	assert_int_equal(reuse_may_rest(&s, at_s(0)), 1);
	assert_false(connection_starves(&s, at_s(0)));
	s.reuse.starved = at_s(10);
	assert_true(connection_starves(&s, at_s(10)));
	assert_false(connection_starves(&s, at_s(11)));
	assert_int_equal(reuse_may_rest(&s, at_s(10)), 0);
	assert_int_equal(reuse_may_rest(&s, at_s(309)), 0);
	assert_int_equal(reuse_may_rest(&s, at_s(310)), 1);
}

TEST(test_unsafe_requests_after_few_workers)
{
	/* goal: by unsafe requests alone, one after the other, a server that
	 * once had few workers shows again that it keeps connections */
	struct server s = {0};
	struct connection u = {
	    .server = &s, .opened = at_s(0), .rested = at_s(310)};

	connection_pool_init(&s);
	s.reuse.starved = at_s(10);
	assert_int_equal(reuse_may_rest(&s, u.rested), 1);
	TAILQ_INSERT_HEAD(&s.idle.list, &u, link);
	assert_false(reuse_is_proven(&u, at_s(310)));
	s.reuse.served_ns = NS_PER_S;
	connection_prove(&s, INSTANT_NONE, at_s(312));
	u.rested = at_s(312);
	assert_true(reuse_is_proven(&u, at_s(312)));
	s.reuse.closed_early = at_s(313);
	assert_false(reuse_is_proven(&u, at_s(312)));
	u.rested = at_s(613);
	assert_true(reuse_is_proven(&u, at_s(613)));
}

/* An idle connection, the only one, that rests since then, with all of the time
 * since spent serving. */
static struct connection *
rest(struct server *s, struct connection *u, struct instant since)
{
	connection_pool_init(s);
	TAILQ_INSERT_HEAD(&s->idle.list, u, link);
	u->server = s;
	u->rested = since;
	u->rested_served_ns = s->reuse.served_ns;
	return u;
}

/* The server serves, and closes it after those seconds. */
static void
serve_and_close(
    struct server *s, struct connection *u, int64_t from, int64_t seconds)
{
	rest(s, u, at_s(from));
	for (int64_t i = 1; i < seconds; i++) {
		s->reuse.served_ns += NS_PER_S;
		connection_prove(s, at_s(from), at_s(from + i));
	}
	reuse_closed(u, at_s(from + seconds));
}

static bool
may_carry(struct connection *u, int64_t now_s, int64_t rested_ms)
{
	u->rested.ns = at_s(now_s).ns - (uint64_t)(rested_ms * NS_PER_MS);
	return reuse_is_proven(u, at_s(now_s));
}

TEST(test_a_server_that_says_how_long)
{
	/* goal: its word counts at once, up to half of it; and no more than
	 * five seconds of a longer one */
	struct server s = {0};
	struct connection u = {
	    .server = &s, .opened = at_s(0), .said_ns = 5 * NS_PER_S};

	assert_true(may_carry(&u, 100, 2499));
	assert_false(may_carry(&u, 100, 2500));
	u.said_ns = 75 * NS_PER_S;
	assert_true(may_carry(&u, 100, 4999));
	assert_false(may_carry(&u, 100, 5000));
	u.said_ns = 0;
	assert_false(may_carry(&u, 100, 0));
}

TEST(test_a_server_that_does_as_it_says)
{
	/* goal: its closes are no reason for doubt */
	struct server s = {0};
	struct connection u = {.opened = at_s(0), .said_ns = 5 * NS_PER_S};

	for (int64_t i = 0; i < 3; i++) {
		serve_and_close(&s, &u, 100 + 10 * i, 5);
		assert_true(may_carry(&u, 110 + 10 * i, 2000));
	}
}

TEST(test_a_server_that_closes_sooner_than_it_said)
{
	/* goal: it is doubted, and then believed for what it has shown */
	struct server s = {0};
	struct connection u = {.opened = at_s(0), .said_ns = 60 * NS_PER_S};

	serve_and_close(&s, &u, 100, 3);
	assert_false(may_carry(&u, 103, 0));
	assert_false(may_carry(&u, 402, 0));
	assert_true(may_carry(&u, 403, 1499));
	assert_false(may_carry(&u, 403, 1500));
	rest(&s, &u, at_s(403));
	s.reuse.served_ns += 5 * NS_PER_S;
	connection_prove(&s, at_s(403), at_s(408)); /* it is kept for longer */
	assert_true(may_carry(&u, 408, 4999));
	reuse_closed(rest(&s, &u, at_s(410)), at_s(410));
	assert_false(may_carry(&u, 411, 0)); /* hardly idle */
}

TEST(test_a_server_that_says_nothing)
{
	/* goal: its timeout is learnt by two closes at one age, and not by
	 * closes at any; after a restart it is still a guess */
	struct server s = {0};
	struct connection u = {.opened = at_s(0)};

	serve_and_close(&s, &u, 100, 6);
	assert_false(may_carry(&u, 106, 0));
	serve_and_close(&s, &u, 110, 6);
	assert_true(may_carry(&u, 116, 2499));
	assert_false(may_carry(&u, 116, 3001));
	serve_and_close(&s, &u, 120, 2);
	assert_false(may_carry(&u, 122, 0));
	serve_and_close(&s, &u, 130, 6);
	assert_false(may_carry(&u, 136, 0));
	s.reuse.proven = INSTANT_NONE; /* as server_lost() does */
	s.reuse.closed_soon = INSTANT_NONE;
	s.reuse.kept_ns = 0;
	assert_false(may_carry(&u, 137, 0));
	s.reuse.proven = at_s(138);
	assert_int_equal(s.reuse.closed_ns, 6 * NS_PER_S); /* as the latest */
	assert_true(may_carry(&u, 138, 999));
	assert_false(may_carry(&u, 138, 1000));
}

TEST(test_a_server_of_which_workers_end)
{
	/* goal: one that has just said so may be the worker of any older
	 * connection, and closes at one age show no timeout then */
	struct server s = {0};
	struct connection u = {.server = &s, .said_ns = 75 * NS_PER_S};

	u.opened = at_s(100);
	s.reuse.ended = at_s(101);
	assert_false(may_carry(&u, 101, 0));
	u.opened = at_s(102);
	assert_true(may_carry(&u, 102, 0));
	u.said_ns = 0;
	serve_and_close(&s, &u, 110, 3);
	serve_and_close(&s, &u, 120, 3);
	assert_false(may_carry(&u, 123, 0));
}
