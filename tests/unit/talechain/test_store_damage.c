/*
 * Goal: whatever happens to the store's files costs only the records it
 * happened to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "talechain/explain/tale_struct.h"
#include "talechain/store/pack.h"
#include "talechain/store/record.h"
#include "talechain/store/store.h"
#include "tests/unit/talechain/depot.h"
#include "tests/unit/talechain/scene.h"

TEST_WITH(test_cut_at_every_byte, depot_setup, depot_teardown)
{
	uint8_t whole[8192];
	size_t length, at = sizeof(struct store_header);
	struct record_header h;
	struct tale_store *s = depot_open(1 << 20, 100);
	FILE *f;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(depot_add(s, i, 0, 3), 0);
	tale_store_close(&s);
	assert_int_equal(depot_each_file(depot_note_file), 1);
	f = fopen(depot_noted, "rb");
	length = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	assert_true(length < sizeof(whole));
	for (size_t cut = 0, good = 0; cut <= length; cut++) {
		if (cut > at && record_at(whole + at, cut - at, &h)) {
			at += h.bytes;
			good++;
		}
		depot_each_file(depot_remove_file);
		f = fopen(depot_noted, "wb");
		fwrite(whole, 1, cut, f);
		fclose(f);
		s = depot_open(1 << 20, 100);
		assert_int_equal(depot_count(s), good);
		for (unsigned i = 0; i < good; i++)
			depot_assert_whole(s, i, 0, 3);
		/* And it goes on from there. */
		assert_int_equal(depot_add(s, 77, 1, 2), 0);
		tale_store_close(&s);
		s = depot_open(1 << 20, 100);
		assert_int_equal(depot_count(s), good + 1);
		depot_assert_whole(s, 77, 1, 2);
		tale_store_close(&s);
	}
}

static void
damage(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR);
	uint8_t byte;
	off_t at;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	at =
	    (off_t)(sizeof(struct store_header) +
		    depot_dice((unsigned)(st.st_size -
					  (off_t)sizeof(struct store_header))));
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (uint8_t)(1 + depot_dice(255));
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

TEST_WITH(test_one_damaged_byte_costs_one_tale, depot_setup, depot_teardown)
{
	struct tale_store *s;
	struct tale_store_stats stats;

	for (unsigned turn = 0; turn < 300; turn++) {
		unsigned found = 0;
		char id[32];

		s = depot_open(1 << 20, 100);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(
			    depot_add(s, i, turn, depot_dice(9)), 0);
		tale_store_close(&s);
		depot_each_file(damage);
		s = depot_open(1 << 20, 100);
		tale_store_stats(s, &stats);
		assert_int_equal(stats.corrupt, 1);
		for (unsigned i = 0; i < 6; i++) {
			snprintf(id, sizeof(id), "id-%u", i);
			found += tale_store_find(s, id) != NULL;
		}
		assert_int_equal(found, 5);
		tale_store_close(&s);
		depot_each_file(depot_remove_file);
	}
}

TEST_WITH(test_damage_while_open, depot_setup, depot_teardown)
{
	struct tale_store *s = depot_open(1 << 20, 100);
	struct tale *t = NULL;

	assert_int_equal(depot_add(s, 1, 0, 3), 0);
	assert_int_equal(depot_each_file(depot_note_file), 1);
	assert_int_equal(truncate(depot_noted, 100), 0);
	assert_int_equal(tale_store_load(s, "id-1", &t), -EPROTO);
	assert_null(t);
	assert_int_equal(tale_store_load(s, "id-2", &t), -ENOENT);
	tale_store_close(&s);
}

TEST_WITH(test_failing_write, depot_setup, depot_teardown)
{
	int status;
	pid_t child = fork();

	/* In a child: limits on file sizes do not come back. */
	if (child == 0) {
		struct tale_store *s = depot_open(1 << 20, 100);
		int ok = depot_add(s, 1, 0, 3) == 0;

		depot_each_file(depot_note_file);
		/* No descriptor can be written to any more. */
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){600, 600});
		ok &= depot_add(s, 2, 0, 100) == -EFBIG;
		ok &= depot_count(s) == 1;
		depot_assert_whole(s, 1, 0, 3);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){600, 600});
		tale_store_close(&s);
		s = depot_open(1 << 20, 100);
		ok &= depot_count(s) == 1;
		tale_store_close(&s);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST_WITH(test_foreign_files, depot_setup, depot_teardown)
{
	char path[400];
	struct tale_store *s;

	snprintf(path, sizeof(path), "%s/%016d.tales", depot_directory, 1);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/%016d.tales", depot_directory, 2);
	assert_int_equal(symlink("/dev/zero", path), 0);
	snprintf(path, sizeof(path), "%s/%016d.tales", depot_directory, 3);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	s = depot_open(1 << 20, 100);
	assert_int_equal(depot_count(s), 0);
	assert_int_equal(depot_add(s, 1, 0, 3), 0);
	tale_store_close(&s);
	s = depot_open(1 << 20, 100);
	depot_assert_whole(s, 1, 0, 3);
	tale_store_close(&s);
}

TEST_WITH(test_hostile_packed, depot_setup, depot_teardown)
{
	struct tale *t = depot_tale(1, 0, 12), *got;
	struct tale_summary said, read;
	struct packed p = {0};
	uint8_t *copy;

	depot_summary(&said, 1);
	assert_int_equal(tale_pack(&p, t, &said), 0);
	copy = malloc(p.length);
	for (unsigned turn = 0; turn < 20000; turn++) {
		size_t length = depot_dice(4) == 0
				    ? depot_dice((unsigned)p.length + 1)
				    : p.length;

		memcpy(copy, p.at, p.length);
		for (unsigned i = depot_dice(4); i > 0; i--)
			copy[depot_dice((unsigned)p.length)] =
			    (uint8_t)depot_dice(256);
		got = NULL;
		if (tale_unpack(&got, &read, copy, length) == 0) {
			assert_true(tale_total_ns(got) >= 0);
			for (size_t i = 1; i < got->entries; i++)
				assert_false(instant_before(
				    got->entry[i].at, got->entry[i - 1].at));
			tale_free(&got);
		}
		assert_null(got);
	}
	free(copy);
	free(p.at);
	tale_free(&t);
}
