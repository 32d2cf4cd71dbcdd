/* Goal: p99 of a route's last minute is what its accounts consist of; with too
 * few of them ten minutes count, and with too few in these there is no
 * figure. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "proxy/analysis/tail.h"

#define MINUTE_NS (60 * NS_PER_S)
#define BEGAN_NS (1000 * MINUTE_NS)

static struct accounts *a;
static struct tail *t;
static struct routes routes;

static int
setup(void **state)
{
	(void)state;
	a = calloc(1, sizeof(*a));
	t = calloc(1, sizeof(*t));
	assert_true(a != NULL && t != NULL);
	routes_init(&routes);
	routes_take(&routes, 1, "GET /a");
	assert_int_equal(accounts_init(a, &routes, 10000), 0);
	snprintf(a->name[1].name, ACCOUNT_ROUTE, "GET /a");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	accounts_fini(a);
	free(a);
	free(t);
	return 0;
}

/* n requests of a route in a minute, of which each 50th collected garbage. */
static void
requests(unsigned minute, unsigned route, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bool gc = i % 50 == 0;
		struct account *one = &a->account[a->made++];

		*one = (struct account){.id = a->made,
		    .route = (uint8_t)route,
		    .weight = 1,
		    .end_wall_ns = BEGAN_NS + minute * MINUTE_NS + i,
		    .parts = gc ? 2 : 1,
		    .cause = {TALE_CAUSE_WORK, TALE_CAUSE_GC},
		    .part_ns = {1000 + i, gc ? 100000 + i : 0}};
		one->total_ns = one->part_ns[0] + one->part_ns[1];
	}
	a->open = a->made;
}

/* Two minutes and 2 s later: minute is over. */
static void
update(unsigned minute)
{
	tail_update(t, a, BEGAN_NS + (minute + 1) * MINUTE_NS + 2 * NS_PER_S);
}

static int64_t
sum(unsigned route)
{
	int64_t ns = 0;

	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		ns += atomic_load(&t->share_ns[route][c]);
	return ns;
}

TEST_WITH(shares_are_of_the_last_minute, setup, teardown)
{
	const struct tail_minute *m = &t->at[(1000 + 1) % TAIL_MINUTES];

	requests(0, 0, 4000);
	requests(1, 0, 3100);
	requests(1, 1, 10);
	requests(2, 0, 500);
	update(1);
	assert_int_equal(t->minute, 1001);
	assert_true(atomic_load(&t->q_ns[0]) > 100000);
	assert_true(atomic_load(&t->share_ns[0][TALE_CAUSE_GC]) >= 100000);
	assert_int_equal(sum(0), atomic_load(&t->q_ns[0]));
	assert_int_equal(atomic_load(&t->q_ns[1]), 0);
	assert_int_equal(sum(1), 0);
	assert_int_equal(m->end_wall_ns, BEGAN_NS + 2 * MINUTE_NS);
	assert_true(m->q_ns > 100000 && m->beyond >= 30);
	/* Only the end of a minute changes anything. */
	a->account[4000].part_ns[0] = 5;
	tail_update(t, a, BEGAN_NS + 3 * MINUTE_NS + NS_PER_S);
	assert_int_equal(t->minute, 1001);
	/* Nor does a place have a figure that its route has lost. */
	tail_end(t, 0);
	assert_int_equal(sum(0) + atomic_load(&t->q_ns[0]), 0);
}

TEST_WITH(too_few_are_of_ten_minutes_or_none, setup, teardown)
{
	for (unsigned minute = 0; minute < 10; minute++) {
		requests(minute, 0, 400);
		requests(minute, 1, 20);
	}
	update(3);
	assert_int_equal(atomic_load(&t->q_ns[0]), 0);
	update(9);
	assert_true(atomic_load(&t->share_ns[0][TALE_CAUSE_GC]) >= 100000);
	assert_int_equal(atomic_load(&t->q_ns[1]), 0);
	assert_int_equal(t->at[1009 % TAIL_MINUTES].beyond, 4);
	/* An hour without requests: there is none again. */
	update(70);
	assert_int_equal(atomic_load(&t->q_ns[0]), 0);
	assert_int_equal(sum(0), 0);
}
