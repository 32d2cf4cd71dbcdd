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
	struct connection u = {.server = &s, .rested = at_s(310)};

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
