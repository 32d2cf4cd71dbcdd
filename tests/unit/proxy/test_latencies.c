/* Goal: each request is in one histogram, that of its class and minute, with
 * files and without, over restarts; what has no place is counted. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/analysis/latencies.h"

#define MINUTE (60 * NS_PER_S)
#define BEGIN (1000 * MINUTE)

static struct routes routes;
static struct latencies l;
static struct instant now = {NS_PER_S};

/* For files, if a test opens a store there. */
static char directory[] = "/dev/shm/tailor-latencies-XXXXXX";

static int
setup(void **state)
{
	(void)state;
	memcpy(strchr(directory, '\0') - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(directory));
	routes_init(&routes);
	return latencies_init(&l, &routes, BEGIN);
}

static int
teardown(void **state)
{
	char path[sizeof(directory) + 12];

	(void)state;
	latencies_fini(&l, NULL, BEGIN);
	snprintf(path, sizeof(path), "%s/accounts.db", directory);
	unlink(path);
	return rmdir(directory);
}

/* What a table says of a class. */
struct found {
	uint64_t requests, unnamed, most_ns;
	int64_t from_ns, to_ns;
};

static struct found
found_in(const char *table, const char *class)
{
	struct found f = {.requests = 0};
	char name[64];
	unsigned long long unnamed, le_ns, n;
	long long from_ns, to_ns;

	while ((table = strchr(table, '\n')) != NULL) {
		if (sscanf(++table, "%63[^,],%lld,%lld,%llu,%llu,%llu", name,
			&from_ns, &to_ns, &unnamed, &le_ns, &n) != 6 ||
		    strcmp(name, class) != 0)
			continue;
		f = (struct found){f.requests + n, unnamed,
		    le_ns > f.most_ns ? le_ns : f.most_ns, from_ns, to_ns};
	}
	return f;
}

static struct found
find(struct account_store *store, const char *class, int64_t from_ns,
    int64_t to_ns, int64_t now_ns)
{
	struct text t = {0};
	struct found f;
	size_t length;
	char *table;

	assert_int_equal(
	    latencies_write(&l, store, from_ns, to_ns, now_ns, &t), 0);
	assert_int_equal(text_take(&t, &table, &length), 0);
	f = found_in(table, class);
	free(table);
	return f;
}

static int64_t tail_ns; /* of the route counted last */

static const char *
count_status(const char *target, int64_t ns, int status)
{
	struct latency_key key = {
	    .method = "GET", .target = target, .status = status, .now = now};

	return latencies_count(&l, &key, ns, &tail_ns);
}

static const char *
count_one(const char *target, int64_t ns)
{
	return count_status(target, ns, 200);
}

static void
count(const char *class, unsigned n, int64_t ns)
{
	while (n-- > 0)
		assert_string_equal(count_one(class + 4, ns), class);
}

TEST_WITH(minutes_are_apart, setup, teardown)
{
	struct found f;

	count("GET /a", 100, NS_PER_MS);
	count("GET /b", 5, 0);
	latencies_tick(&l, NULL, BEGIN + 59 * NS_PER_S);
	assert_null(l.spare);
	latencies_tick(&l, NULL, BEGIN + MINUTE + 1);
	count("GET /a", 3, 80 * NS_PER_MS);
	/* All of it, the first minute, and what is of no whole minute. */
	f = find(NULL, "GET /a", 0, INT64_MAX, BEGIN + MINUTE + 9);
	assert_int_equal(f.requests, 103);
	assert_true(f.most_ns >= 80 * NS_PER_MS &&
		    (double)f.most_ns <= 80.7 * NS_PER_MS);
	assert_int_equal(f.from_ns, BEGIN);
	assert_int_equal(f.to_ns, BEGIN + MINUTE + 9);
	f = find(NULL, "GET /a", 0, BEGIN + MINUTE + 1, BEGIN + MINUTE + 9);
	assert_int_equal(f.requests, 100);
	assert_int_equal(f.to_ns, BEGIN + MINUTE + 1);
	f = find(NULL, "GET /a", BEGIN + 1, INT64_MAX, BEGIN + MINUTE + 9);
	assert_int_equal(f.requests, 3);
	assert_int_equal(find(NULL, "GET /b", 0, INT64_MAX, BEGIN).requests, 5);
	assert_int_equal(find(NULL, "GET /c", 0, INT64_MAX, BEGIN).requests, 0);
}

TEST_WITH(classes_without_a_place_are_counted, setup, teardown)
{
	char class[20];
	struct found f;

	for (unsigned i = 0; i < 40; i++) {
		snprintf(class, sizeof(class), "GET /%u", i);
		assert_string_equal(count_one(class + 4, 7),
		    i < ROUTE_PLACES - 1 ? class : "other");
	}
	/* Remembered ones are counted, too. */
	assert_string_equal(count_one("/39?a", 7), "other");
	assert_string_equal(count_one("/38/b", 7), "other");
	f = find(NULL, "other", 0, INT64_MAX, BEGIN);
	assert_int_equal(f.requests, 40 - (ROUTE_PLACES - 1) + 2);
	assert_int_equal(f.unnamed, f.requests);
	assert_int_equal(atomic_load(&l.unnamed), f.unnamed);
	assert_int_equal(find(NULL, "GET /3", 0, INT64_MAX, BEGIN).requests, 1);
}

TEST_WITH(what_is_not_found_makes_no_route, setup, teardown)
{
	char path[20];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		assert_string_equal(count_status(path, 7, 404), "other");
		assert_string_equal(count_status("/x", 7, 404), "other");
	}
	assert_string_equal(count_status("/a", 7, 0), "other");
	assert_string_equal(count_status("/a", 7, 302), "GET /a");
	assert_string_equal(count_status("/a", 7, 404), "GET /a");
	assert_string_equal(count_status("/b", 7, 500), "GET /b");
	assert_int_equal(atomic_load(&l.unnamed), 201);
}

/* What a route had is its own, in the last minute, too; the next one at its
 * place begins with nothing. */
TEST_WITH(a_place_is_lost, setup, teardown)
{
	char path[20];

	count("GET /0", 5, 7);
	for (unsigned i = 1; i < ROUTE_PLACES - 1; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		for (unsigned n = 0; n < 10; n++)
			count_one(path, 7);
	}
	latencies_tick(&l, NULL, BEGIN + MINUTE);
	count("GET /0", 1, 7);
	for (unsigned i = 0; i < 13; i++)
		assert_string_equal(count_one("/new", 9), "other");
	assert_int_equal(routes_state(&routes, 1), ROUTE_LOST);
	assert_string_equal(count_one("/0", 7), "other");
	latencies_end(&l, NULL, 1, BEGIN + MINUTE + 5);
	routes_free(&routes, 1);
	assert_string_equal(count_one("/new", 9), "GET /new");
	for (unsigned i = 0; i < 2; i++) {
		int64_t to = BEGIN + (2 + i) * MINUTE;

		assert_int_equal(
		    find(NULL, "GET /0", 0, INT64_MAX, to).requests, 6);
		assert_int_equal(
		    find(NULL, "GET /new", 0, INT64_MAX, to).requests, 1);
		assert_int_equal(
		    find(NULL, "other", 0, INT64_MAX, to).requests, 14);
		latencies_tick(&l, NULL, to);
	}
}

/* However many routes there were: the busiest, wherever they come. */
TEST_WITH(an_answer_has_the_busiest, setup, teardown)
{
	struct account_store *store;
	char path[20];
	static struct latency_block b = {
	    .from_wall_ns = BEGIN, .to_wall_ns = BEGIN + 1};

	assert_int_equal(account_store_open(&store, directory, 8 << 20), 0);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(b.route, sizeof(b.route), "GET /%u", i);
		b.count = b.bucket[7] = i < 240 ? 1 : 10;
		assert_int_equal(latency_store_add(store, &b), 0);
	}
	for (unsigned i = 240; i < 300; i++) {
		snprintf(path, sizeof(path), "GET /%u", i);
		assert_int_equal(
		    find(store, path, 0, INT64_MAX, BEGIN).requests, 10);
	}
	assert_int_equal(
	    find(store, "other", 0, INT64_MAX, BEGIN).requests, 240 - 3);
	assert_int_equal(
	    find(store, "other", 0, INT64_MAX, BEGIN).unnamed, 240 - 3);
	account_store_close(&store);
}

/* As those of account_class, also if a path is remembered. */
TEST_WITH(classes_are_those_in_force, setup, teardown)
{
	char first[] = "GET /a/*", second[] = "* /a/**";
	char *class[] = {first, second};
	struct latency_key key = {class, 2, "GET", "/a/b?c", 404, {1}};

	for (unsigned i = 0; i < 2; i++) {
		key.target = "/a/b?c";
		assert_string_equal(
		    latencies_count(&l, &key, 1, &tail_ns), "GET /a/*");
		key.target = "/a/b/c";
		assert_string_equal(
		    latencies_count(&l, &key, 1, &tail_ns), "* /a/**");
		key.method = i == 0 ? "PUT" : "GET";
		key.target = "/a/b?d";
		assert_string_equal(latencies_count(&l, &key, 1, &tail_ns),
		    i == 0 ? "* /a/**" : "GET /a/*");
		key.method = "GET";
		key.target = "/b";
		assert_string_equal(
		    latencies_count(&l, &key, 1, &tail_ns), "other");
	}
	latencies_forget(&l);
	assert_string_equal(count_one("/a/b", 1), "GET /a");
	assert_int_equal(atomic_load(&l.unnamed), 0);
}

static uint64_t
held(void)
{
	struct account_store_stats s;

	account_store_stats(l.spare, &s);
	return s.bytes;
}

TEST_WITH(memory_has_a_bound, setup, teardown)
{
	const unsigned minutes = 12000;
	struct found f;

	for (unsigned m = 1; m <= minutes; m++) {
		for (unsigned i = 0; i < 200; i++)
			count_one("/a", 1000 << i / 10);
		latencies_tick(&l, NULL, BEGIN + m * MINUTE);
	}
	assert_true(held() <= LATENCIES_HELD);
	assert_in_range(atomic_load(&l.dropped), 1, minutes - 2000);
	f = find(NULL, "GET /a", 0, INT64_MAX, BEGIN + minutes * MINUTE);
	assert_int_equal(f.requests, 200 * (minutes - atomic_load(&l.dropped)));
	assert_int_equal(f.to_ns, BEGIN + minutes * MINUTE);
}

TEST_WITH(files_survive_a_restart, setup, teardown)
{
	struct account_store *store;
	struct found f;

	assert_int_equal(account_store_open(&store, directory, 1 << 20), 0);
	count("GET /a", 10, 5);
	latencies_tick(&l, store, BEGIN + MINUTE);
	assert_null(l.spare);
	count("GET /a", 4, 6);
	f = find(store, "GET /a", 0, INT64_MAX, BEGIN + MINUTE + 1);
	assert_int_equal(f.requests, 14);
	/* The minute that has begun is written at the end, too. */
	latencies_fini(&l, store, BEGIN + MINUTE + 1);
	account_store_close(&store);
	assert_int_equal(account_store_open(&store, directory, 1 << 20), 0);
	assert_int_equal(latencies_init(&l, &routes, BEGIN + 2 * MINUTE), 0);
	count("GET /a", 1, 9);
	f = find(store, "GET /a", 0, INT64_MAX, BEGIN + 2 * MINUTE + 1);
	assert_int_equal(f.requests, 15);
	assert_int_equal(f.most_ns, 9);
	assert_int_equal(f.from_ns, BEGIN);
	f = find(store, "GET /a", BEGIN + MINUTE, BEGIN + MINUTE + 1,
	    BEGIN + 2 * MINUTE + 1);
	assert_int_equal(f.requests, 4);
	account_store_close(&store);
}

TEST_WITH(memory_goes_into_files_that_can_be_written, setup, teardown)
{
	/* goal: what could not be written is, once something can be */
	struct account_store *store;
	struct found f;

	assert_int_equal(account_store_open(&store, directory, 1 << 20), 0);
	count("GET /a", 10, 5);
	latencies_tick(&l, NULL, BEGIN + MINUTE);
	count("GET /a", 4, 6);
	latencies_tick(&l, NULL, BEGIN + 2 * MINUTE);
	assert_non_null(l.spare);
	latencies_tick(&l, store, BEGIN + 3 * MINUTE);
	assert_null(l.spare);
	f = find(store, "GET /a", 0, BEGIN + MINUTE, BEGIN + 3 * MINUTE);
	assert_int_equal(f.requests, 10);
	f = find(store, "GET /a", 0, INT64_MAX, BEGIN + 3 * MINUTE);
	assert_int_equal(f.requests, 14);
	assert_int_equal(f.from_ns, BEGIN);
	account_store_close(&store);
}

#define COUNTED 200000

static void *
counts(void *user)
{
	(void)user;
	for (unsigned i = 0; i < COUNTED; i++)
		count_one(i % 3 == 0 ? "/a" : "/b", i);
	return NULL;
}

/* While the other thread counts, blocks are made of it. */
TEST_WITH(no_request_is_lost_between_threads, setup, teardown)
{
	int64_t now_ns = BEGIN;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, counts, NULL), 0);
	for (unsigned i = 0; i < 50; i++)
		latencies_tick(&l, NULL, now_ns += MINUTE);
	pthread_join(thread, NULL);
	assert_int_equal(
	    find(NULL, "GET /a", 0, INT64_MAX, now_ns).requests +
		find(NULL, "GET /b", 0, INT64_MAX, now_ns).requests,
	    COUNTED);
	assert_int_equal(atomic_load(&l.dropped), 0);
}

/* Routes that are requested for a while, one after the other. */
static void *
counts_routes(void *user)
{
	char path[20];

	(void)user;
	for (unsigned i = 0; i < COUNTED; i++) {
		snprintf(path, sizeof(path), "/%u", i / 200 + i % 40);
		now = instant_plus(now, 20 * NS_PER_MS);
		count_one(path, i);
	}
	return NULL;
}

static uint64_t
all_requests(const char *table)
{
	unsigned long long n;
	uint64_t sum = 0;

	while ((table = strchr(table, '\n')) != NULL)
		if (sscanf(++table, "%*[^,],%*d,%*d,%*u,%*u,%llu", &n) == 1)
			sum += n;
	return sum;
}

/* While the other thread counts, places are freed that it has given up. */
TEST_WITH(no_request_is_lost_with_its_place, setup, teardown)
{
	struct text t = {0};
	pthread_t thread;
	size_t length;
	char *table;

	assert_int_equal(pthread_create(&thread, NULL, counts_routes, NULL), 0);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		for (unsigned i = 0; i < ROUTE_PLACES; i++) {
			if (routes_state(&routes, i) != ROUTE_LOST)
				continue;
			latencies_end(&l, NULL, i, BEGIN + 1);
			routes_free(&routes, i);
		}
	assert_int_equal(
	    latencies_write(&l, NULL, 0, INT64_MAX, BEGIN + 1, &t), 0);
	assert_int_equal(text_take(&t, &table, &length), 0);
	assert_int_equal(all_requests(table), COUNTED);
	assert_true(atomic_load(&routes.lost) > 0);
	assert_int_equal(atomic_load(&l.dropped), 0);
	free(table);
}

/* Where the tail begins is known from a hundred requests of a minute on, and
 * until another minute has as many. */
TEST_WITH(a_tail_begins_at_p95, setup, teardown)
{
	for (unsigned i = 1; i < LATENCY_TAIL_LEAST; i++)
		count_one("/a", i * NS_PER_MS);
	latencies_tick(&l, NULL, BEGIN + 11 * NS_PER_S);
	count_one("/a", 100 * NS_PER_MS);
	assert_int_equal(tail_ns, 0);
	latencies_tick(&l, NULL, BEGIN + 22 * NS_PER_S);
	count_one("/b", 1);
	assert_int_equal(tail_ns, 0);
	count_one("/a", 1);
	assert_in_range(tail_ns, 95 * NS_PER_MS, 95 * NS_PER_MS * 129 / 128);
	latencies_tick(&l, NULL, BEGIN + MINUTE);
	count("GET /a", 10, 1);
	latencies_tick(&l, NULL, BEGIN + 2 * MINUTE);
	count("GET /a", 200, 2 * NS_PER_MS);
	assert_in_range(tail_ns, 95 * NS_PER_MS, 95 * NS_PER_MS * 129 / 128);
	latencies_tick(&l, NULL, BEGIN + 3 * MINUTE);
	count("GET /a", 1, 1);
	assert_in_range(tail_ns, 2 * NS_PER_MS, 2 * NS_PER_MS * 129 / 128);
	/* Within the minute a burst does not raise it; what is faster lowers
	 * it. */
	count("GET /a", 200, 9 * NS_PER_MS);
	latencies_tick(&l, NULL, BEGIN + 3 * MINUTE + 11 * NS_PER_S);
	count("GET /a", 1, 1);
	assert_in_range(tail_ns, 2 * NS_PER_MS, 2 * NS_PER_MS * 129 / 128);
	count("GET /a", 9800, NS_PER_MS);
	latencies_tick(&l, NULL, BEGIN + 3 * MINUTE + 22 * NS_PER_S);
	count("GET /a", 1, 1);
	assert_in_range(tail_ns, NS_PER_MS, NS_PER_MS * 129 / 128);
	/* The next route at its place begins with nothing. */
	atomic_store(&routes.place[1].state, ROUTE_LOST);
	latencies_end(&l, NULL, 1, BEGIN + 3 * MINUTE + 1);
	assert_int_equal(atomic_load(&l.tail_ns[1]), 0);
}
