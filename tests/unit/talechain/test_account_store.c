/* Goal: accounts in files are those that were put in, after a restart and with
 * a torn, flipped or foreign end too; they take no more than the bound, and
 * what that cost is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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

static void
they_survive_a_restart(void **state)
{
	(void)state;
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

static void
a_torn_block_costs_itself(void **state)
{
	int fd;
	off_t whole, first;

	(void)state;
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

static void
a_flipped_byte_gives_no_other_account(void **state)
{
	off_t whole;
	char byte;
	int fd;

	(void)state;
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

static void
the_bound_holds(void **state)
{
	const uint64_t bound = 1 << 16;
	unsigned i = 0;

	(void)state;
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

static void
foreign_files_are_left_alone(void **state)
{
	int fd;

	(void)state;
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

/* Found by the fuzzer. */
static void
a_part_that_no_sum_holds_is_refused(void **state)
{
	struct account_named one = account(1);
	struct packed block = {0};

	(void)state;
	one.account.part_ns[0] = 1;
	one.account.part_ns[1] = INT64_MAX;
	assert_int_equal(account_pack(&block, &one, 1), 0);
	n = 0;
	assert_int_equal(
	    account_unpack(block.at, block.length, take, NULL), -EPROTO);
	assert_int_equal(n, 0);
	free(block.at);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(they_survive_a_restart),
	    TEST(a_part_that_no_sum_holds_is_refused),
	    TEST(a_torn_block_costs_itself),
	    TEST(a_flipped_byte_gives_no_other_account),
	    TEST(the_bound_holds),
	    TEST(foreign_files_are_left_alone),
	};

	return cmocka_run_group_tests_name("account store", tests, NULL, NULL);
}
