/*
 * Goal: whatever happens to the store's file, and whatever is in it, costs what
 * it happened to, and the store goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "tests/unit/unit.h"

#include "base/array.h"
#include "talechain/tale/tale_struct.h"
#include "talechain/store/pack.h"
#include "talechain/store/store.h"
#include "tests/unit/talechain/depot.h"

/* Of a file of the store: all bytes, or up to length. */
static size_t
slurp(const char *name, uint8_t *out, size_t size)
{
	FILE *f = fopen(depot_path(name), "rb");
	size_t n;

	assert_non_null(f);
	n = fread(out, 1, size, f);
	fclose(f);
	assert_true(n < size);
	return n;
}

static void
spill(const char *name, const void *bytes, size_t length)
{
	FILE *f = fopen(depot_path(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	fclose(f);
}

/* It takes one more, and has it after a restart. */
static void
assert_goes_on(struct tale_store *s)
{
	/* The first may be what finds the damage. */
	if (depot_add(s, 77, 1, 2) < 0)
		assert_int_equal(depot_add(s, 77, 1, 2), 0);
	tale_store_close(&s);
	s = depot_open(1 << 20, 100);
	depot_assert_whole(s, 77, 1, 2);
	tale_store_close(&s);
}

TEST_WITH(test_a_torn_log_costs_its_end, depot_setup, depot_teardown)
{
	static uint8_t file[1 << 18], log[1 << 18];
	size_t length, log_length;
	unsigned most = 0;
	struct tale_store *s;
	pid_t child = fork();

	/* A crash: what was added is in the log alone. */
	if (child == 0) {
		s = depot_open(1 << 20, 100);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(depot_add(s, i, 0, 3), 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	length = slurp("tales.db", file, sizeof(file));
	log_length = slurp("tales.db-wal", log, sizeof(log));
	for (size_t cut = 0; cut <= log_length; cut += 0x333) {
		unsigned found;

		depot_empty();
		spill("tales.db", file, length);
		spill("tales.db-wal", log,
		    log_length - cut < 0x333 ? log_length : cut);
		s = depot_open(1 << 20, 100);
		found = depot_count(s);
		assert_true(found >= most);
		most = found;
		for (unsigned i = 0; i < found; i++)
			depot_assert_whole(s, i, 0, 3);
		assert_goes_on(s);
	}
	assert_int_equal(most, 2);
}

static bool
load(void *user, const struct tale_summary *said)
{
	struct tale *t = NULL;
	int err = tale_store_load(user, said->external_id, &t);

	assert_int_equal(err == 0, t != NULL);
	tale_free(&t);
	return true;
}

TEST_WITH(test_flipped_bytes, depot_setup, depot_teardown)
{
	static uint8_t whole[1 << 18], copy[1 << 18];
	struct tale_store *s = depot_open(1 << 20, 100);
	size_t length;

	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(
		    depot_add(s, i, 0, (unsigned)unit_draw(99)), 0);
	tale_store_close(&s);
	length = slurp("tales.db", whole, sizeof(whole));
	for (unsigned turn = 0; turn < 200; turn++) {
		memcpy(copy, whole, length);
		for (uint64_t i = 1 + unit_draw(4); i > 0; i--)
			/* Half of them where the pages begin. */
			copy[unit_draw(2) ? unit_draw(length)
					  : unit_draw(length) / 4096 * 4096 +
						unit_draw(100)] ^=
			    (uint8_t)(1 + unit_draw(255));
		depot_empty();
		spill("tales.db", copy, length);
		s = depot_open(1 << 20, 100);
		(void)tale_store_each(
		    s, &(struct tale_filter){.cause = -1}, load, s);
		assert_goes_on(s);
	}
}

static bool
count(void *user, const struct tale_summary *said)
{
	unsigned *n = user;

	(void)said;
	++*n;
	return true;
}

TEST_WITH(test_a_bad_row_costs_itself, depot_setup, depot_teardown)
{
	static const char *const bad[] = {"id=zeroblob(9)",
	    "id=printf('%065d',1)", "verdict=printf('%0400d',1)",
	    "finished_ns=-1", "finished_ns=9223372036854775807",
	    "finished_ns='never'", "boot=NULL", "boot=printf('%0500d',1)",
	    "reason='none'", "reason=7", "status=1000", "status=1e9",
	    "attempts=3", "target=NULL", "total_ns=-9223372036854775807",
	    "flags=x'410042'", "termination='SHH'", "winner=randomblob(5000)"};
	static const char *const bad_tale[] = {"tale=NULL", "tale=x''",
	    "tale=zeroblob(100)", "tale='text'", "request=8",
	    "tale=substr(tale,2)"};
	struct tale_store_stats stats;
	struct tale *t;

	for (unsigned i = 0; i < COUNT(bad) + COUNT(bad_tale); i++) {
		struct tale_store *s = depot_open(1 << 20, 100);
		bool of_tale = i >= COUNT(bad);
		char text[120];
		unsigned n = 0;

		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(depot_add(s, k, 0, 3), 0);
		tale_store_close(&s);
		snprintf(text, sizeof(text),
		    "UPDATE tales SET %s WHERE id='id-1'",
		    of_tale ? bad_tale[i - COUNT(bad)] : bad[i]);
		depot_sql("tales.db", text);
		s = depot_open(1 << 20, 100);
		if (of_tale)
			assert_int_equal(
			    tale_store_load(s, "id-1", &t), -EPROTO);
		for (unsigned k = 0; k < 2; k++, n = n == 2 ? 0 : n)
			assert_int_equal(
			    tale_store_each(s,
				&(struct tale_filter){.cause = -1}, count, &n),
			    0);
		assert_int_equal(n, 0);
		tale_store_stats(s, &stats);
		assert_int_equal(stats.corrupt, 1);
		assert_int_equal(stats.tales, 2);
		depot_assert_whole(s, 0, 0, 3);
		depot_assert_whole(s, 2, 0, 3);
		assert_goes_on(s);
		depot_empty();
	}
}

TEST_WITH(test_nothing_of_a_file_runs, depot_setup, depot_teardown)
{
	struct tale_store *s = depot_open(1 << 20, 100);

	assert_int_equal(depot_add(s, 1, 0, 3), 0);
	tale_store_close(&s);
	depot_sql("tales.db", "CREATE TRIGGER t AFTER INSERT ON tales BEGIN"
			      " DELETE FROM tales; END");
	s = depot_open(1 << 20, 100);
	assert_int_equal(depot_add(s, 2, 0, 3), 0);
	assert_int_equal(depot_count(s), 2);
	depot_assert_whole(s, 1, 0, 3);
	depot_assert_whole(s, 2, 0, 3);
	tale_store_close(&s);
}

TEST_WITH(test_damage_while_open, depot_setup, depot_teardown)
{
	struct tale_store *s = depot_open(1 << 20, 100);
	struct tale *t = NULL;

	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(depot_add(s, i, 0, 99), 0);
	tale_store_close(&s);
	s = depot_open(1 << 20, 100);
	assert_int_equal(truncate(depot_path("tales.db"), 5000), 0);
	assert_true(tale_store_load(s, "id-1", &t) < 0);
	assert_null(t);
	assert_goes_on(s);
}

TEST_WITH(test_failing_write, depot_setup, depot_teardown)
{
	struct tale_store *s = depot_open(1 << 20, 100);
	struct rlimit was, none;

	assert_int_equal(depot_add(s, 1, 0, 3), 0);
	getrlimit(RLIMIT_FSIZE, &was);
	none = was;
	none.rlim_cur = 600;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	assert_true(depot_add(s, 2, 0, 100) < 0);
	assert_int_equal(depot_count(s), 1);
	depot_assert_whole(s, 1, 0, 3);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(depot_add(s, 2, 0, 100), 0);
	depot_assert_whole(s, 1, 0, 3);
	assert_goes_on(s);
}

TEST_WITH(test_a_reader_that_stays, depot_setup, depot_teardown)
{
	/* goal: another program may read it, and add nothing to its size */
	struct tale_store *s = depot_open(1 << 20, 100);
	struct tale_store_stats stats;
	unsigned n = 0;
	sqlite3 *db;

	assert_int_equal(depot_add(s, 0, 0, 99), 0);
	assert_int_equal(sqlite3_open(depot_path("tales.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM tales",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	while (depot_add(s, ++n, 0, 1000) == 0)
		assert_true(n < 100);
	tale_store_stats(s, &stats);
	assert_true(stats.bytes <= 1 << 20);
	sqlite3_close(db);
	assert_int_equal(depot_add(s, n, 0, 1000), 0);
	assert_int_equal(depot_count(s), n + 1);
	assert_goes_on(s);
}

TEST_WITH(test_foreign_files, depot_setup, depot_teardown)
{
	char outside[] = "/dev/shm/tailor-outside-XXXXXX", text[40000];
	int fd = mkstemp(outside);
	struct stat st;

	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < 9; i++) {
		char path[400];

		snprintf(path, sizeof(path), "%s", depot_path("tales.db"));
		switch (i) {
		case 0:
			assert_int_equal(mkfifo(path, 0600), 0);
			break;
		case 1:
			assert_int_equal(symlink("/dev/zero", path), 0);
			break;
		case 2:
			assert_int_equal(mkdir(path, 0700), 0);
			break;
		case 3:
			spill("tales.db", "", 0);
			break;
		case 4:
			spill("tales.db", text, sizeof(text));
			break;
		case 5:
			depot_sql("tales.db",
			    "CREATE TABLE tales (number); PRAGMA "
			    "user_version=1");
			break;
		case 6:
			depot_sql("tales.db",
			    "CREATE VIEW tales AS SELECT 1; PRAGMA "
			    "user_version=1");
			break;
		case 7:
			depot_sql("tales.db", "PRAGMA user_version=2");
			break;
		default:
			assert_int_equal(
			    symlink(outside, depot_path("tales.db-wal")), 0);
			assert_int_equal(
			    symlink(outside, depot_path("tales.db-shm")), 0);
			spill("tales.db-journal", text, sizeof(text));
		}
		assert_goes_on(depot_open(1 << 20, 100));
		/* What it was stays to be seen. */
		assert_int_equal(
		    lstat(depot_path("tales.db.damaged"), &st) == 0,
		    i != 3 && i != 8);
		depot_empty();
	}
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(fd);
	unlink(outside);
}
