/* Goal: from played counters that take turns to what tailorctl blame --impact
 * says: the counter that is high exactly in slow seconds comes first, what it
 * causes and what is included in another does not, and each is judged by the
 * requests of its own epochs. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "blame/report/rows.h"
#include "profiler/rates/epochs.h"
#include "proxy/analysis/accounts.h"
#include "talechain/timeline/timeline.h"

#define SECONDS 1200
#define REQUESTS 6 /* of each second */
#define HARDWARE ((UINT32_C(1) << TALECHAIN_COUNTER_FAULTS) - 1)

static struct timeline *stream;
static struct timeline_reader *reader;
static uint64_t sum[EPOCH_SOURCES];
static struct counted_epochs counted;
static struct accounts *a;
static struct routes routes;
static struct blame_impact impact[BLAME_VALUES];
static struct blame_rows rows;
static char *csv;

static void
hardware_set(void *user, uint32_t sources)
{
	(void)user;
	(void)sources;
}

static bool
hardware_read(void *user, unsigned server, unsigned source, uint64_t *out)
{
	(void)user;
	*out = server == 0 ? sum[source] : 0;
	return server == 0;
}

static double
noise(uint64_t second, unsigned counter)
{
	return (double)(hash_number(second * 64 + counter + 1) % 1000) / 1000;
}

/* Slow in one of eight seconds. */
static bool
is_slow(uint64_t second)
{
	return hash_number(second) % 8 == 0;
}

/* A second of the server: in slow ones dTLB misses are twentyfold, which takes
 * cycles; cache misses are a fixed part of references. */
static void
second_run(uint64_t second)
{
	uint64_t events[EPOCH_SOURCES];

	for (unsigned i = 0; i < EPOCH_SOURCES; i++)
		events[i] = (uint64_t)(1e6 * (1 + noise(second, i)));
	if (is_slow(second))
		events[TALECHAIN_COUNTER_DTLB_MISSES] *= 20;
	events[TALECHAIN_COUNTER_CACHE_MISSES] =
	    events[TALECHAIN_COUNTER_CACHE_REFERENCES] / 4;
	events[TALECHAIN_COUNTER_CYCLES] =
	    1000000000 + 500 * events[TALECHAIN_COUNTER_DTLB_MISSES];
	events[TALECHAIN_COUNTER_INSTRUCTIONS] = 1000000000;
	for (unsigned i = 0; i < EPOCH_SOURCES; i++)
		sum[i] += events[i];
}

static void
request(uint64_t second, unsigned n)
{
	static const uint32_t one[ACCOUNT_STRATA] = {[ACCOUNT_OTHER] = 1};
	struct tale_request r = {.id = second * REQUESTS + n + 1,
	    .external_id = "x",
	    .method = "GET",
	    .target = "/a",
	    .status = 200,
	    .attempt = {{.server = 0, .server_name = "a"}, {.server = -1}}};
	uint64_t spread = hash_number(r.id) % 100;
	struct story s = {.total_ns = (int64_t)(is_slow(second) ? 5000 : 1000) *
				      (NS_PER_US + (int64_t)spread)};
	struct tale *t;

	r.finished.ns =
	    second * (uint64_t)NS_PER_S + (400 + n * 40) * (uint64_t)NS_PER_MS;
	accounts_offered(a, r.finished, one);
	tale_slice(&t, reader, &r, NULL, 0);
	assert_non_null(t);
	s.tale = t;
	s.cause_ns[TALE_CAUSE_WORK] = s.total_ns;
	accounts_add(a, &s, "GET /a", ACCOUNT_OTHER, 1, (int64_t)r.finished.ns);
	tale_free(&t);
}

/* The path from the hardware to CSV. */
static void
play(uint32_t counters, unsigned seconds)
{
	static const struct epoch_hardware hardware = {
	    NULL, hardware_set, hardware_read};
	static const uint32_t none[ACCOUNT_STRATA];
	const unsigned generation[2] = {0};
	static struct epochs epochs;
	uint64_t second = 1000;

	memset(sum, 0, sizeof(sum));
	epochs_init(&epochs, counters, &hardware, &counted);
	for (; second < 1000 + seconds; second++) {
		struct instant begin = {second * (uint64_t)NS_PER_S};

		/* An epoch ends after the second of its requests. */
		accounts_offered(a, begin, none);
		epochs_turn(&epochs, 2, generation,
		    instant_plus(begin, 300 * NS_PER_MS));
		second_run(second);
		for (unsigned n = 0; n < REQUESTS; n++)
			request(second, n);
	}
	epochs_turn(&epochs, 2, generation,
	    (struct instant){
		second * (uint64_t)NS_PER_S + 300 * (uint64_t)NS_PER_MS});
	/* The last ones wait for their epoch. */
	accounts_offered(
	    a, (struct instant){(second + 1) * (uint64_t)NS_PER_S}, none);
}

static int
value_find(const char *code)
{
	for (unsigned i = 0; i < rows.values; i++)
		if (strcmp(rows.value[i].code, code) == 0)
			return (int)i;
	return -1;
}

static void
judge(unsigned seconds)
{
	struct text t = {0};

	accounts_write(a, 0, 0, 100000, &t);
	assert_false(t.failed);
	csv = strndup(t.at, t.length);
	free(t.at);
	assert_non_null(csv);
	assert_int_equal(blame_rows_read(&rows, csv, 0, 0), 0);
	assert_int_equal(rows.routes, 1);
	assert_int_equal(blame_rows(rows.route[0].set), seconds * REQUESTS);
	assert_int_equal(blame_impacts(rows.route[0].set, 0.99, impact), 0);
}

static int
setup(void **state)
{
	(void)state;
	assert_int_equal(timeline_new(&stream, NULL, 10), 0);
	assert_int_equal(timeline_reader_from(&reader, stream), 0);
	counted_init(&counted);
	a = calloc(1, sizeof(*a));
	assert_non_null(a);
	routes_init(&routes);
	assert_int_equal(accounts_init(a, &routes, SECONDS * REQUESTS), 0);
	a->counted = &counted;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	blame_rows_fini(&rows);
	free(csv);
	csv = NULL;
	accounts_fini(a);
	free(a);
	counted_fini(&counted);
	timeline_reader_close(&reader);
	timeline_free(&stream);
	return 0;
}

TEST_WITH(the_counter_of_slow_seconds_comes_first, setup, teardown)
{
	int dtlb, cycles, misses, references;

	play(HARDWARE, SECONDS);
	judge(SECONDS);
	dtlb = value_find("dtlb_misses");
	cycles = value_find("cycles");
	misses = value_find("cache_misses");
	references = value_find("cache_references");
	assert_true(dtlb > 0 && cycles > 0 && misses > 0 && references > 0);
	/* 12 take turns, three at a time: a quarter of the epochs. */
	assert_true(fabs(impact[dtlb].recorded - 0.25) < 0.01);
	assert_in_range(impact[dtlb].seconds, SECONDS / 4 - 3, SECONDS / 4 + 3);
	assert_true(impact[value_find("instructions")].recorded > 0.999);
	assert_true(impact[dtlb].impact > 0.75);
	/* Seven of eight are low; 300 seconds are three ranges at most. */
	assert_true(impact[dtlb].threshold > 0.3);
	assert_true(impact[dtlb].threshold < 0.9);
	assert_true(impact[dtlb].high >= BLAME_EPISODES);
	/* Rule 1: the cycles are due to it; where both are recorded. */
	assert_true(impact[cycles].impact > 0.75);
	assert_int_equal(impact[cycles].because, dtlb);
	assert_true(impact[cycles].adjusted < 0.1);
	/* Rule 2, from the epochs that have both. */
	assert_true(impact[misses].included);
	for (int i = 0; i < (int)rows.values; i++) {
		if (i == dtlb)
			continue;
		assert_true(impact[i].adjusted < 0.2);
		assert_true(impact[i].included == (i == misses));
	}
}

/* Seconds whose epoch does not have a counter leave its field empty. */
TEST_WITH(not_counted_is_not_zero, setup, teardown)
{
	play(1U << TALECHAIN_COUNTER_CYCLES | 1U << TALECHAIN_COUNTER_BRANCHES,
	    300);
	a->account[7].counted = 0;
	judge(300);
	assert_int_equal(rows.values, 5);
	assert_true(impact[3].recorded < 1 && impact[3].recorded > 0.999);
	blame_rows_fini(&rows);
}

/* As on a machine that counts nothing. */
TEST_WITH(without_counters_there_is_no_column, setup, teardown)
{
	struct text t = {0};

	play(0, 10);
	accounts_write(a, 0, 0, 10, &t);
	assert_non_null(
	    memmem(t.at, t.length, "new_connection,tail,kernel,", 27));
	free(t.at);
}
