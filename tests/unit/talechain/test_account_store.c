/* Goal: accounts on disk are those that were put in, after a restart, too; a
 * bad row costs itself; they take no more than the bound, and what that cost is
 * counted.  What happens to a file: test_store_damage.c. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "talechain/store/accounts.h"
#include "tests/unit/talechain/depot.h"

#define BOUND (1 << 20)

static struct account_store *s;
static struct account_named found[2000];
static unsigned n;

static int
setup(void **state)
{
	return depot_setup(state) |
	       account_store_open(&s, depot_directory, BOUND);
}

static int
teardown(void **state)
{
	account_store_close(&s);
	return depot_teardown(state);
}

static struct account_named
account(unsigned i)
{
	struct account_named one = {
	    .account = {.id = i,
		.end_wall_ns = (int64_t)i * 1000,
		.total_ns = i + 7,
		.weight = i % 3 == 0 ? 1 : 12.5,
		.in_flight = i % 5,
		.status = 200,
		.stratum = (uint8_t)(i % ACCOUNT_STRATA),
		.attempts = 1,
		.kernel = i % 2,
		.parts = 2,
		.cause = {TALE_CAUSE_WORK, TALE_CAUSE_GC},
		.part_ns = {7, i}}};

	snprintf(one.account.external_id, sizeof(one.account.external_id),
	    "id-%u", i);
	snprintf(one.route, sizeof(one.route), "GET /%u", i / 100);
	snprintf(one.server, sizeof(one.server), "%s", i % 7 ? "a" : "");
	return one;
}

/* Add accounts from .. to - 1 in one block. */
static void
add(unsigned from, unsigned to)
{
	static struct account_named block[ACCOUNT_BLOCK];

	for (unsigned i = from; i < to; i++)
		block[i - from] = account(i);
	assert_int_equal(account_store_add(s, block, to - from), 0);
}

static void
take(void *user, const struct account_named *one)
{
	(void)user;
	assert_true(n < 2000);
	found[n++] = *one;
}

static void
read_all(int64_t from_ns, int64_t to_ns)
{
	n = 0;
	assert_int_equal(account_store_read(s, from_ns, to_ns, take, NULL), 0);
}

static void
reopen(uint64_t bound)
{
	account_store_close(&s);
	assert_int_equal(account_store_open(&s, depot_directory, bound), 0);
}

static struct account_store_stats
stats(void)
{
	struct account_store_stats out;

	account_store_stats(s, &out);
	return out;
}

static void
assert_is(const struct account_named *one, unsigned i)
{
	const struct account_named was = account(i);

	assert_string_equal(one->account.external_id, was.account.external_id);
	assert_string_equal(one->route, was.route);
	assert_string_equal(one->server, was.server);
	assert_true(one->account.weight == was.account.weight);
	assert_int_equal(one->account.id, i);
	assert_int_equal(one->account.end_wall_ns, was.account.end_wall_ns);
	assert_int_equal(one->account.total_ns, was.account.total_ns);
	assert_int_equal(one->account.stratum, was.account.stratum);
	assert_int_equal(one->account.in_flight, was.account.in_flight);
	assert_int_equal(one->account.kernel, was.account.kernel);
	assert_int_equal(one->account.cause[1], TALE_CAUSE_GC);
	assert_int_equal(one->account.part_ns[1], i);
}

TEST_WITH(they_survive_a_restart, setup, teardown)
{
	add(0, 300);
	add(300, 301);
	reopen(BOUND);
	add(301, 400);
	for (unsigned k = 0; k < 2; k++) {
		read_all(0, INT64_MAX);
		assert_int_equal(n, 400);
		for (unsigned i = 0; i < n; i++)
			assert_is(&found[i], i);
		assert_int_equal(stats().accounts, 400);
		assert_int_equal(stats().last_wall_ns, 399000);
		reopen(BOUND);
	}
	read_all(100000, 200000);
	assert_int_equal(n, 100);
	assert_is(&found[0], 100);
	assert_int_equal(stats().corrupt, 0);
}

TEST_WITH(the_bound_holds, setup, teardown)
{
	unsigned i = 0, was;

	for (; i < 20000; i += 500) {
		add(i, i + 500);
		assert_true(stats().bytes <= BOUND);
	}
	was = (unsigned)stats().accounts;
	assert_in_range(was, 1500, 10000);
	assert_int_equal(stats().dropped, i - was);
	read_all(i * INT64_C(1000) - 1000 * 1000, INT64_MAX);
	assert_int_equal(n, 1000);
	for (unsigned k = 0; k < n; k++)
		assert_is(&found[k], i - n + k);
	read_all(0, (i - was) * INT64_C(1000));
	assert_int_equal(n, 0);
	assert_int_equal(account_store_open(&(struct account_store *){NULL},
			     depot_directory, BOUND - 1),
	    -EINVAL);
}

/* Set something else in that row of a table. */
static void
spoil(const char *table, const char *row, const char *set)
{
	char text[160];

	account_store_close(&s);
	snprintf(
	    text, sizeof(text), "UPDATE %s SET %s WHERE %s", table, set, row);
	depot_sql("accounts.db", text);
	reopen(BOUND);
}

/* One row was found bad; now there are none. */
static void
cleared(const char *table)
{
	char text[40];

	assert_int_equal(stats().corrupt, 1);
	account_store_close(&s);
	snprintf(text, sizeof(text), "DELETE FROM %s", table);
	depot_sql("accounts.db", text);
	reopen(BOUND);
}

TEST_WITH(a_bad_row_costs_itself, setup, teardown)
{
	static const char *const bad[] = {"id=NULL",
	    "end_ns=9223372036854775806", "route=printf('%048d',1)",
	    "weight=0.5", "weight='NaN'", "weight=1e300", "in_flight=-1",
	    "status=1000", "attempts=256", "stratum=4", "kernel=2",
	    "total_ns=total_ns+1", "causes=replace(causes,'}','')",
	    "causes=causes||'}'", "causes=''", "causes='{\"work\":}'",
	    "causes='{\"work\":-7,\"gc\":5}'", "causes='{\"work\":7.5}'",
	    "causes='{work:1}'", "causes='{\"w\":99999999999999999999}'",
	    ("causes='{\"w\":9223372036854775807}', "
	     "total_ns=9223372036854775807"),
	    "counted='{'", "counted='{\"cycles\":1000000000000001}'",
	    "counted=zeroblob(600)"};

	for (unsigned i = 0; i < COUNT(bad); i++) {
		add(0, 3);
		spoil("accounts", "id='id-1'", bad[i]);
		for (unsigned k = 0; k < 2; k++) {
			read_all(0, INT64_MAX);
			assert_int_equal(n, 2);
			assert_is(&found[0], 0);
			assert_is(&found[1], 2);
		}
		assert_int_equal(stats().accounts, 2);
		cleared("accounts");
	}
}

/* What is not known any more, and names that do not suit a line of CSV. */
TEST_WITH(rows_of_other_versions_are_read, setup, teardown)
{
	add(7, 8);
	account_store_close(&s);
	depot_sql("accounts.db",
	    "UPDATE accounts SET causes=replace(causes,'\"gc\"','\"gone\"'),"
	    " counted='{\"gone\":1,\"cycles\":2}',"
	    " route='a,'||char(10)||'\"b'");
	reopen(BOUND);
	read_all(0, INT64_MAX);
	assert_int_equal(n, 1);
	assert_int_equal(found[0].account.cause[1], TALE_CAUSE_UNKNOWN);
	assert_int_equal(found[0].account.part_ns[1], 7);
	assert_int_equal(found[0].account.counted, 1);
	assert_int_equal(found[0].account.counter[0], TALECHAIN_COUNTER_CYCLES);
	assert_int_equal(found[0].account.milli[0], 2);
	assert_string_equal(found[0].route, "a___b");
}

/* A block of latencies that is made from a number. */
static struct latency_block *
latencies(unsigned i)
{
	struct latency_block *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	snprintf(b->route, sizeof(b->route), "GET /%u", i);
	b->from_wall_ns = (int64_t)i * 1000;
	b->to_wall_ns = (int64_t)i * 1000 + 1000;
	b->unnamed = 1;
	b->bucket[0] = i + 1;
	b->bucket[700 + i % 6000] = 1u << 30;
	b->bucket[HISTOGRAM_BUCKETS - 1] = 3;
	b->count = i + 1 + (1u << 30) + 3;
	return b;
}

static unsigned blocks;
static uint64_t first_taken;

static void
take_latencies(void *user, const struct latency_block *b)
{
	unsigned i = (unsigned)(b->from_wall_ns / 1000);
	struct latency_block *was = latencies(i);

	(void)user;
	assert_memory_equal(b, was, sizeof(*b));
	free(was);
	if (blocks++ == 0)
		first_taken = i;
}

static void
read_latencies(int64_t from_ns, int64_t to_ns)
{
	blocks = 0;
	assert_int_equal(
	    latency_store_read(s, from_ns, to_ns, take_latencies, NULL), 0);
}

static void
add_latencies(unsigned i)
{
	struct latency_block *b = latencies(i);

	assert_int_equal(latency_store_add(s, b), 0);
	free(b);
}

/* Both kinds are in one file, and each is read alone. */
TEST_WITH(latencies_survive_a_restart, setup, teardown)
{
	add(0, 10);
	for (unsigned i = 0; i < 100; i++)
		add_latencies(i);
	add(10, 30);
	reopen(BOUND);
	add_latencies(100);
	read_latencies(0, INT64_MAX);
	assert_int_equal(blocks, 101);
	/* Whole ones only. */
	read_latencies(5000, 8999);
	assert_int_equal(blocks, 3);
	assert_int_equal(first_taken, 5);
	read_all(0, INT64_MAX);
	assert_int_equal(n, 30);
	assert_int_equal(stats().accounts, 30);
	assert_int_equal(stats().corrupt, 0);
	/* The latest account, not the latest histogram. */
	assert_int_equal(stats().last_wall_ns, 29000);
}

TEST_WITH(latencies_have_a_bound, setup, teardown)
{
	for (unsigned i = 0; i < 6000; i++)
		add_latencies(i);
	assert_true(stats().bytes <= BOUND);
	read_latencies(0, INT64_MAX);
	assert_in_range(blocks, 1000, 5900);
	assert_int_equal(first_taken, 6000 - blocks);
}

TEST_WITH(bad_latencies_cost_themselves, setup, teardown)
{
	static const char *const bad[] = {"route=NULL", "from_ns=to_ns+1",
	    "from_ns=-1", "to_ns=9223372036854775807", "requests=requests+1",
	    "requests=0", "unnamed=requests+1", "unnamed=-1", "buckets=NULL",
	    "buckets='{}'", "buckets='{\"0\":1'", "buckets='{\"\":1}'",
	    "buckets='{\"-1\":1}'", "buckets=replace(buckets,'\"0\"','\"x\"')",
	    "buckets=replace(buckets,'\"0\"','\"258\"')",
	    "buckets='{\"0\":9007199254740993}', requests=9007199254740993",
	    ("buckets='{\"0\":1,\"1\":9007199254740992}', "
	     "requests=9007199254740993")};

	for (unsigned i = 0; i < COUNT(bad); i++) {
		for (unsigned k = 0; k < 3; k++)
			add_latencies(k);
		spoil("latencies", "route='GET /1'", bad[i]);
		for (unsigned k = 0; k < 2; k++) {
			read_latencies(INT64_MIN, INT64_MAX);
			assert_int_equal(blocks, 2);
		}
		cleared("latencies");
	}
}

/* Accounts of two epochs, which counted different things. */
TEST_WITH(counters_survive_a_restart, setup, teardown)
{
	struct account_named block[4] = {0};
	uint64_t slow, other;
	uint32_t counters;

	add(0, 10);
	for (unsigned i = 0; i < 4; i++) {
		struct account *one;

		block[i] = account(10 + i);
		one = &block[i].account;
		one->counted = (uint8_t)i;
		for (unsigned k = 0; k < i; k++) {
			one->counter[k] =
			    (uint8_t)(i % 2 ? TALECHAIN_COUNTER_CYCLES + k
					    : TALECHAIN_COUNTER_BRANCHES);
			one->milli[k] = k == 0 ? ACCOUNT_MILLI_MAX : i;
		}
	}
	assert_int_equal(account_store_add(s, block, 4), 0);
	reopen(BOUND);
	read_all(0, INT64_MAX);
	assert_int_equal(n, 14);
	for (unsigned i = 0; i < 14; i++)
		assert_is(&found[i], i);
	assert_int_equal(found[9].account.counted, 0);
	for (unsigned i = 0; i < 4; i++) {
		const struct account *is = &found[10 + i].account;
		const struct account *was = &block[i].account;

		assert_int_equal(is->counted, i);
		assert_memory_equal(is->counter, was->counter, i);
		assert_memory_equal(is->milli, was->milli, i * 8);
	}
	assert_int_equal(
	    account_store_count(s, 0, INT64_MAX, &slow, &other, &counters), 0);
	assert_int_equal(slow + other, 14);
	assert_int_equal(counters,
	    1U << TALECHAIN_COUNTER_BRANCHES | 7U << TALECHAIN_COUNTER_CYCLES);
}
