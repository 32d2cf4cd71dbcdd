/* Goal: busy routes have a place whatever else is requested, and before or
 * after; nothing that is kept of a place is of two routes. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "base/hash.h"
#include "proxy/analysis/routes.h"

static struct routes r;
static struct instant now;

static int
setup(void **state)
{
	(void)state;
	routes_init(&r);
	now = (struct instant){NS_PER_S};
	return 0;
}

/* A request, as latencies.c has it; its place. */
static unsigned
request(const char *name)
{
	uint64_t key = hash_text(name) | 1;
	unsigned place = routes_find(&r, name);

	if (place != ROUTE_OTHER)
		routes_count(&r, place, now);
	else if (routes_bid(&r, key, now))
		routes_take(&r, key, name);
	return routes_find(&r, name);
}

static unsigned
request_number(const char *format, unsigned n)
{
	char name[ACCOUNT_ROUTE];

	snprintf(name, sizeof(name), format, n);
	return request(name);
}

/* The books of lost places are closed; how many. */
static unsigned
free_lost(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ROUTE_PLACES; i++) {
		if (routes_state(&r, i) != ROUTE_LOST)
			continue;
		routes_free(&r, i);
		n++;
	}
	return n;
}

static void
scan(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		request_number("GET /scan%u", i);
}

TEST_WITH(a_scanner_holds_no_place, setup, NULL)
{
	scan(68);
	assert_int_equal(routes_find(&r, "GET /scan0"), 1);
	assert_int_equal(routes_find(&r, "GET /scan40"), ROUTE_OTHER);
	assert_int_equal(free_lost(), 0);
	/* Several requests, and it is busier than the least busy one. */
	assert_int_equal(request("GET /real"), ROUTE_OTHER);
	assert_int_equal(request("GET /real"), ROUTE_OTHER);
	assert_int_equal(request("GET /real"), ROUTE_OTHER);
	assert_int_equal(atomic_load(&r.lost), 1);
	assert_int_equal(routes_find(&r, "GET /scan0"), ROUTE_OTHER);
	/* No other place is lost until that one is free, and nothing that came
	 * once gets it. */
	assert_int_equal(request("GET /real"), ROUTE_OTHER);
	assert_int_equal(atomic_load(&r.lost), 1);
	assert_int_equal(free_lost(), 1);
	assert_int_equal(request("GET /once"), ROUTE_OTHER);
	assert_int_equal(request("GET /real"), 1);
	assert_string_equal(r.place[1].name, "GET /real");
}

TEST_WITH(busy_ones_stay, setup, NULL)
{
	for (unsigned n = 0; n < 200; n++)
		for (unsigned i = 0; i < ROUTE_PLACES - 1; i++)
			request_number("GET /%u", i);
	scan(20000);
	assert_int_equal(atomic_load(&r.lost), 0);
	/* Also among strangers one that is busy is found, but it must be twice
	 * as busy: two of the same rate do not take turns. */
	for (unsigned i = 0; i < 20 * 400; i++) {
		request_number("GET /more%u", i);
		if (i % 20 == 0)
			request("GET /new");
	}
	assert_int_equal(atomic_load(&r.lost), 0);
	for (unsigned i = 0; i < 20 * 60; i++) {
		request_number("GET /yet%u", i);
		if (i % 20 == 0)
			request("GET /new");
	}
	assert_int_equal(atomic_load(&r.lost), 1);
	free_lost();
	assert_int_not_equal(request("GET /new"), ROUTE_OTHER);
}

TEST_WITH(silent_ones_go, setup, NULL)
{
	for (unsigned n = 0; n < 1000; n++)
		for (unsigned i = 0; i < ROUTE_PLACES - 1; i++)
			request_number("GET /old%u", i);
	/* An hour later others are requested, all at the same rate of one a
	 * minute. */
	now = instant_plus(now, 3600 * NS_PER_S);
	for (unsigned minute = 0; minute < 60; minute++) {
		now = instant_plus(now, 60 * NS_PER_S);
		for (unsigned i = 0; i < ROUTE_PLACES - 1; i++) {
			request_number("GET /new%u", i);
			free_lost();
		}
	}
	for (unsigned i = 0; i < ROUTE_PLACES - 1; i++)
		assert_int_not_equal(
		    request_number("GET /new%u", i), ROUTE_OTHER);
	assert_int_equal(atomic_load(&r.lost), ROUTE_PLACES - 1);
}
