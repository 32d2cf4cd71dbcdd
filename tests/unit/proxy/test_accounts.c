/* Goal: accounts stand for all requests of their second and stratum, whatever
 * was left out; the table has what was put in, and no more than there is room
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/analysis/accounts.h"
#include "talechain/timeline/timeline.h"

static struct timeline *stream;
static struct timeline_reader *reader;
static struct accounts *a;

static int
setup(void **state)
{
	(void)state;
	assert_int_equal(timeline_new(&stream, NULL, 10), 0);
	assert_int_equal(timeline_reader_from(&reader, stream), 0);
	a = calloc(1, sizeof(*a));
	assert_non_null(a);
	assert_int_equal(accounts_init(a, 10), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	accounts_fini(a);
	free(a);
	timeline_reader_close(&reader);
	timeline_free(&stream);
	return 0;
}

/* Some requests finished in a second; an account is made of the last one. */
static void
request(unsigned second, enum account_stratum stratum, uint32_t offered,
    const char *target, bool made)
{
	struct tale_request r = {.id = 7,
	    .external_id = "x7",
	    .method = "GET",
	    .status = 200,
	    .attempt = {{.server = 1, .server_name = "b"}, {.server = -1}}};
	uint32_t n[ACCOUNT_STRATA] = {0};
	struct tale *t;
	struct story s = {.total_ns = 1000};
	char route[ACCOUNT_ROUTE];

	snprintf(r.target, sizeof(r.target), "%s", target);
	n[stratum] = offered;
	accounts_offered(
	    a, (struct instant){second * (uint64_t)NS_PER_S + 1}, n);
	if (!made)
		return;
	tale_slice(&t, reader, &r, NULL, 0);
	assert_non_null(t);
	s.tale = t;
	s.cause_ns[TALE_CAUSE_GC] = 600;
	s.cause_ns[TALE_CAUSE_WORK] = 390;
	s.cause_ns[TALE_CAUSE_UNKNOWN] = 10;
	accounts_add(
	    a, &s, account_route("GET", target, route), stratum, second);
	tale_free(&t);
}

static double
weight(unsigned i)
{
	return a->account[i].weight;
}

static void
accounts_weigh_as_much_as_there_were_requests(void **state)
{
	(void)state;
	request(1, ACCOUNT_OTHER, 60, "/a", true);
	request(1, ACCOUNT_OTHER, 40, "/a", true);
	request(1, ACCOUNT_SLOW, 3, "/a", true);
	assert_true(weight(0) == 0);
	request(2, ACCOUNT_OTHER, 1, "/a", true);
	assert_true(weight(0) == 50 && weight(1) == 50 && weight(2) == 3);
	/* None was made of 7 slow ones: the next second's stand for them. */
	request(2, ACCOUNT_SLOW, 7, "/a", false);
	request(3, ACCOUNT_SLOW, 1, "/a", true);
	request(4, ACCOUNT_OTHER, 0, "/a", false);
	assert_true(weight(3) == 1 && weight(4) == 8);
	assert_int_equal(
	    atomic_load(&a->cause_ns[0][TALE_CAUSE_GC]), 600 * 112);
}

static void
the_table_has_what_there_is_room_for(void **state)
{
	struct text t = {0};
	char *text, *line;
	size_t length;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 25; i++)
		request(i, ACCOUNT_OTHER, 1, "/a/b?c", true);
	accounts_write(a, 7, 0, &t);
	assert_int_equal(text_take(&t, &text, &length), 0);
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (n++ == 1)
			assert_int_equal(strncmp(line,
					     "7,x7,17,1000,1,GET /a,b,0,200,1,"
					     "0,0,0,10,",
					     41),
			    0);
	assert_int_equal(n, 1 + 8);
	free(text);
}

static void
routes_are_few_and_plain(void **state)
{
	char out[ACCOUNT_ROUTE], target[20];

	(void)state;
	assert_string_equal(account_route("GET", "/a/b", out), "GET /a");
	assert_string_equal(account_route("GET", "/", out), "GET /");
	assert_string_equal(account_route("GET", "/?a,b", out), "GET /");
	assert_string_equal(account_route("PUT", "*", out), "PUT /");
	assert_string_equal(
	    account_route("GET", "/a,\"b\n%", out), "GET /a__b__");
	memset(target, 0, sizeof(target));
	for (unsigned i = 0; i < 100; i++) {
		snprintf(target, sizeof(target), "/%u", i);
		request(i, ACCOUNT_OTHER, 1, target, true);
	}
	assert_int_equal(atomic_load(&a->routes), ACCOUNT_ROUTES);
	assert_string_equal(a->route[ACCOUNT_ROUTES - 1], "other");
	assert_string_equal(a->route[1], "GET /1");
}

static void
the_first_class_that_matches_counts(void **state)
{
	char out[ACCOUNT_ROUTE];
	char *class[] = {(char *)(uintptr_t) "GET /search/**",
	    (char *)(uintptr_t) "* /search/*", (char *)(uintptr_t) "* /*/a"};

	(void)state;
#define CLASS(method, target) account_class(class, 3, method, target, out)
	assert_string_equal(CLASS("GET", "/search/a?q=1"), "GET /search/**");
	assert_string_equal(CLASS("PUT", "/search/a"), "* /search/*");
	assert_string_equal(CLASS("PUT", "/x/a"), "* /*/a");
	assert_string_equal(CLASS("GE", "/x/b"), "other");
	assert_string_equal(CLASS("GET", "/../search"), "other");
	assert_string_equal(
	    account_class(class, 0, "GET", "/search/a", out), "GET /search");
	/* A class "other" and what has no room are one. */
	request(1, ACCOUNT_OTHER, 1, "/other", true);
	memcpy(a->route[0], "other", 6);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(out, sizeof(out), "/%u", i);
		request(i, ACCOUNT_OTHER, 1, out, true);
	}
	assert_int_equal(atomic_load(&a->routes), ACCOUNT_ROUTES - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		accounts_weigh_as_much_as_there_were_requests, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		the_table_has_what_there_is_room_for, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		routes_are_few_and_plain, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		the_first_class_that_matches_counts, setup, teardown),
	};

	return cmocka_run_group_tests_name("accounts", tests, NULL, NULL);
}
