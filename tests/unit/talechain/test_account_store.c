/* Goal: accounts in files are those that were put in, after a restart and with
 * a torn, flipped or foreign end too; they take no more than the bound, and
 * what that cost is counted. */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "talechain/store/account_pack.h"
#include "talechain/store/accounts.h"

#define BOUND (1 << 20)

static char directory[64];
static struct account_store *s;
static struct account_named found[2000];
static unsigned n;

static int
setup(void **state)
{
	(void)state;
	strcpy(directory, "/dev/shm/tailor-accounts-XXXXXX");
	assert_non_null(mkdtemp(directory));
	assert_int_equal(account_store_open(&s, directory, BOUND), 0);
	return 0;
}

static int
teardown(void **state)
{
	DIR *d = opendir(directory);
	struct dirent *e;

	(void)state;
	account_store_close(&s);
	while ((e = readdir(d)) != NULL)
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	return rmdir(directory);
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
	assert_int_equal(account_store_open(&s, directory, bound), 0);
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
		assert_int_equal(stats().files, 1);
		assert_int_equal(stats().last_wall_ns, 399000);
		reopen(BOUND);
	}
	read_all(100000, 200000);
	assert_int_equal(n, 100);
	assert_is(&found[0], 100);
	assert_int_equal(stats().corrupt, 0);
}

/* The only file there is. */
static char *
file(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%016x.accounts", directory, 0);
	return path;
}

TEST_WITH(a_torn_block_costs_itself, setup, teardown)
{
	int fd;
	off_t whole, first;

	add(0, 10);
	fd = open(file(), O_RDWR);
	first = lseek(fd, 0, SEEK_END);
	add(10, 20);
	whole = lseek(fd, 0, SEEK_END);
	for (off_t end = whole - 1; end > first; end -= 3) {
		assert_int_equal(ftruncate(fd, end), 0);
		reopen(BOUND);
		read_all(0, INT64_MAX);
		assert_int_equal(n, 10);
		assert_int_equal(stats().corrupt, 1);
	}
	/* What is new goes into another file. */
	add(20, 30);
	reopen(BOUND);
	read_all(0, INT64_MAX);
	assert_int_equal(n, 20);
	assert_is(&found[10], 20);
	assert_int_equal(stats().files, 2);
	close(fd);
}

TEST_WITH(a_flipped_byte_gives_no_other_account, setup, teardown)
{
	off_t whole;
	char byte;
	int fd;

	add(0, 5);
	add(5, 10);
	fd = open(file(), O_RDWR);
	whole = lseek(fd, 0, SEEK_END);
	for (off_t at = 64; at < whole; at++) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x41;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		reopen(BOUND);
		read_all(0, INT64_MAX);
		assert_int_equal(n, 5);
		assert_int_equal(stats().corrupt, 1);
		for (unsigned i = 0; i < n; i++)
			assert_is(&found[i], (unsigned)found[i].account.id);
		byte ^= 0x41;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

TEST_WITH(the_bound_holds, setup, teardown)
{
	const uint64_t bound = 1 << 16;
	unsigned i = 0;

	reopen(bound);
	for (; i < 5000; i += 10) {
		add(i, i + 10);
		assert_true(stats().bytes <= bound);
	}
	read_all(0, INT64_MAX);
	assert_true(n > 500);
	assert_int_equal(stats().accounts, n);
	assert_int_equal(stats().dropped, i - n);
	for (unsigned k = 0; k < n; k++)
		assert_is(&found[k], i - n + k);
	reopen(bound / 4);
	assert_true(stats().bytes <= bound / 4);
	assert_true(stats().dropped > 0);
	assert_int_equal(account_store_open(
			     &(struct account_store *){NULL}, directory, 4095),
	    -EINVAL);
}

TEST_WITH(foreign_files_are_left_alone, setup, teardown)
{
	int fd;

	add(0, 10);
	account_store_close(&s);
	fd = openat(AT_FDCWD, directory, O_RDONLY);
	assert_int_equal(
	    symlinkat("/dev/zero", fd, "0000000000000001.accounts"), 0);
	assert_int_equal(mkdirat(fd, "0000000000000002.accounts", 0700), 0);
	assert_int_equal(account_store_open(&s, directory, BOUND), 0);
	add(10, 20);
	read_all(0, INT64_MAX);
	assert_int_equal(n, 20);
	assert_int_equal(stats().corrupt, 2);
	assert_int_equal(
	    unlinkat(fd, "0000000000000002.accounts", AT_REMOVEDIR), 0);
	close(fd);
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
	b->bucket[700 + i] = 1u << 30;
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

/* Both kinds of blocks are in one file, and each is read alone. */
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
	/* The latest account, not the latest block. */
	assert_int_equal(stats().last_wall_ns, 29000);
}

TEST_WITH(latencies_have_a_bound, setup, teardown)
{
	reopen(1 << 14);
	for (unsigned i = 0; i < 2000; i++)
		add_latencies(i);
	assert_true(stats().bytes <= 1 << 14);
	read_latencies(0, INT64_MAX);
	assert_in_range(blocks, 50, 500);
	assert_int_equal(first_taken, 2000 - blocks);
}

TEST_WITH(no_bytes_are_false_latencies, setup, teardown)
{
	static struct latency_block again;
	struct latency_block *b = latencies(7);
	struct packed block = {0};
	unsigned taken = 0;

	assert_int_equal(latency_pack(&block, b), 0);
	for (size_t at = 0; at < block.length; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint64_t sum = 0;

			block.at[at] ^= (uint8_t)(1 << bit);
			if (latency_unpack(block.at, block.length, &again) ==
			    0) {
				for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
					sum += again.bucket[i];
				assert_int_equal(sum, again.count);
				assert_true(again.unnamed <= sum);
				assert_true(again.count <= LATENCY_COUNT_MAX);
				assert_true(
				    again.from_wall_ns >= 0 &&
				    again.from_wall_ns <= again.to_wall_ns);
				taken++;
			}
			block.at[at] ^= (uint8_t)(1 << bit);
		}
	assert_true(taken > 0);
	for (size_t length = 0; length < block.length; length++)
		assert_int_equal(
		    latency_unpack(block.at, length, &again), -EPROTO);
	assert_int_equal(latency_unpack(block.at, block.length, &again), 0);
	/* An account's reader takes nothing of it. */
	n = 0;
	assert_int_equal(
	    account_unpack(block.at, block.length, take, NULL), -EPROTO);
	assert_int_equal(n, 0);
	b->bucket[HISTOGRAM_BUCKETS - 1] = LATENCY_COUNT_MAX;
	block.length = 0;
	assert_int_equal(latency_pack(&block, b), 0);
	assert_int_equal(
	    latency_unpack(block.at, block.length, &again), -EPROTO);
	free(block.at);
	free(b);
}

/* Found by the fuzzer. */
TEST_WITH(a_part_that_no_sum_holds_is_refused, setup, teardown)
{
	struct account_named one = account(1);
	struct packed block = {0};

	one.account.part_ns[0] = 1;
	one.account.part_ns[1] = INT64_MAX;
	assert_int_equal(account_pack(&block, &one, 1), 0);
	n = 0;
	assert_int_equal(
	    account_unpack(block.at, block.length, take, NULL), -EPROTO);
	assert_int_equal(n, 0);
	free(block.at);
}

/* Accounts of two epochs, which counted different things. */
TEST_WITH(counters_survive_a_restart, setup, teardown)
{
	struct account_named block[4];
	uint64_t slow, other;
	uint32_t counters;

	add(0, 10); /* as files were before there were counters */
	for (unsigned i = 0; i < 4; i++) {
		struct account *one = &block[i].account;

		block[i] = account(10 + i);
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

/* Without counters a block is what it was before there were any; a counter that
 * is not known any more is left out, and the others stay. */
TEST_WITH(blocks_of_other_versions_are_read, setup, teardown)
{
	static const char code[] = "dtlb_misses";
	struct account_named one = account(7);
	struct packed block = {0};
	uint8_t *at;

	assert_int_equal(account_pack(&block, &one, 1), 0);
	assert_int_equal(block.at[0], 1);
	block.length = 0;
	one.account.counted = 2;
	one.account.counter[0] = TALECHAIN_COUNTER_DTLB_MISSES;
	one.account.counter[1] = TALECHAIN_COUNTER_CYCLES;
	one.account.milli[0] = 5;
	one.account.milli[1] = 6;
	assert_int_equal(account_pack(&block, &one, 1), 0);
	assert_true(block.at[0] & 0x80); /* which no version before reads */
	at = memmem(block.at, block.length, code, sizeof(code) - 1);
	assert_non_null(at);
	*at = 'x';
	n = 0;
	assert_int_equal(account_unpack(block.at, block.length, take, NULL), 1);
	assert_int_equal(found[0].account.counted, 1);
	assert_int_equal(found[0].account.counter[0], TALECHAIN_COUNTER_CYCLES);
	assert_int_equal(found[0].account.milli[0], 6);
	assert_is(&found[0], 7);
	free(block.at);
}
