/*
 * Goal: the timeline stream gives readers whole slots in order, counts
 * exactly what they miss, and treats its file as hostile.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "talechain/timeline/timeline.h"

#define LOG2 10
#define SLOTS (1u << LOG2)

static char path[64];

static void
append(struct timeline *t, unsigned count)
{
	struct talechain_event e = {.type = TALECHAIN_APP_MARK};
	uint64_t i;

	while (count-- > 0) {
		i = timeline_position(t);
		e.seq = i + 7;
		e.ts = 3 * i;
		e.arg[0] = i;
		e.arg[3] = ~i;
		assert_int_equal(
		    timeline_append(t, &e, (uint32_t)i, (int)(i % 3) - 1,
			(struct instant){11 * i}),
		    i);
	}
}

static void
check(const struct timeline_slot *s, uint64_t i)
{
	assert_int_equal(s->seq, 2 * i + 2);
	assert_int_equal(s->read_ns, 11 * i);
	assert_int_equal(s->channel, (uint32_t)i);
	assert_int_equal(s->server, (int)(i % 3) - 1);
	assert_int_equal(s->event.seq, i + 7);
	assert_int_equal(s->event.ts, 3 * i);
	assert_int_equal(s->event.arg[0], i);
	assert_int_equal(s->event.arg[3], ~i);
}

/* Goal: random appends and reads against a plain count. */
TEST(test_model)
{
	struct timeline *t;
	struct timeline_reader *r;
	struct timeline_slot s;
	uint64_t next = 0, lost, read = 0, missed = 0;
	unsigned round, k;

	assert_int_equal(timeline_new(&t, NULL, LOG2), 0);
	assert_int_equal(timeline_reader_from(&r, t), 0);
	srand(3);
	for (round = 0; round < 5000; round++) {
		append(t, (unsigned)rand() % (2 * SLOTS));
		for (k = (unsigned)rand() % (3 * SLOTS); k > 0; k--)
			switch (timeline_read(r, &s, &lost)) {
			case TIMELINE_READ_OK:
				check(&s, next++);
				read++;
				break;
			case TIMELINE_READ_LOST:
				assert_true(
				    next + SLOTS < timeline_position(t));
				next += lost;
				missed += lost;
				break;
			case TIMELINE_READ_NONE:
				assert_int_equal(next, timeline_position(t));
				k = 1;
				break;
			}
		assert_int_equal(timeline_reader_position(r), read + missed);
	}
	assert_true(missed > 0 && read > 0);
	assert_int_equal(timeline_reader_head(r), timeline_position(t));
	timeline_reader_close(&r);
	timeline_free(&t);
	assert_null(r);
	assert_null(t);
}

TEST(test_seek)
{
	struct timeline *t;
	struct timeline_reader *r;
	struct timeline_slot s;
	uint64_t lost, oldest;

	assert_int_equal(timeline_new(&t, NULL, LOG2), 0);
	assert_int_equal(timeline_reader_from(&r, t), 0);
	append(t, 100);
	assert_int_equal(timeline_seek(r, 42), 42);
	assert_int_equal(timeline_read(r, &s, &lost), TIMELINE_READ_OK);
	check(&s, 42);
	assert_int_equal(timeline_seek(r, 101), 100);
	assert_int_equal(timeline_read(r, &s, &lost), TIMELINE_READ_NONE);
	append(t, 3 * SLOTS);
	oldest = timeline_seek(r, 0);
	assert_int_equal(oldest, timeline_position(t) - SLOTS + SLOTS / 16);
	assert_int_equal(timeline_read(r, &s, &lost), TIMELINE_READ_OK);
	check(&s, oldest);
	timeline_reader_close(&r);
	timeline_free(&t);
}

/* Goal: another process finds the stream by its file and sees the same. */
TEST(test_file)
{
	struct timeline *t, *successor;
	struct timeline_reader *r;
	struct timeline_about about, later;
	struct timeline_slot s;
	struct stat st;
	uint64_t lost, i;
	pid_t pid;
	int status;

	assert_int_equal(timeline_reader_open(&r, path), -ENOENT);
	assert_int_equal(timeline_new(&t, path, LOG2), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	append(t, 77);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (timeline_reader_open(&r, path) != 0)
			_exit(1);
		for (i = 0; i < 77; i++)
			if (timeline_read(r, &s, &lost) != TIMELINE_READ_OK ||
			    s.event.arg[0] != i || s.event.arg[3] != ~i)
				_exit(2);
		if (timeline_read(r, &s, &lost) != TIMELINE_READ_NONE)
			_exit(3);
		timeline_reader_close(&r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);

	/* If the file is removed another stream may come there; readers of the
	 * old one stay whole. */
	assert_int_equal(timeline_reader_open(&r, path), 0);
	timeline_reader_about(r, &about);
	assert_int_equal(about.slots, SLOTS);
	assert_int_equal(strlen(about.boot_id), 36);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(timeline_new(&successor, path, LOG2), 0);
	assert_int_equal(timeline_read(r, &s, &lost), TIMELINE_READ_OK);
	check(&s, 0);
	timeline_reader_close(&r);
	timeline_free(&t); /* must not remove its successor's file */
	assert_int_equal(timeline_reader_open(&r, path), 0);
	timeline_reader_about(r, &later);
	assert_true(later.generation != about.generation);
	timeline_reader_close(&r);
	timeline_free(&successor);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(test_arguments)
{
	char disk[] = "/var/tmp/tale-XXXXXX", file[64];
	struct timeline *t;
	struct statfs fs;
	bool is_disk;

	assert_int_equal(timeline_new(&t, NULL, 9), -EINVAL);
	assert_int_equal(timeline_new(&t, NULL, 25), -EINVAL);
	assert_int_equal(
	    timeline_new(&t, "/dev/shm/no/such/place", LOG2), -ENOENT);
	/* Goal: a disk file system is refused and left as it was. */
	assert_non_null(mkdtemp(disk));
	assert_int_equal(statfs(disk, &fs), 0);
	is_disk = fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC;
	snprintf(file, sizeof(file), "%s/stream", disk);
	if (is_disk)
		assert_int_equal(timeline_new(&t, file, LOG2), -EMEDIUMTYPE);
	rmdir(disk);
	assert_int_equal(access(disk, F_OK), -1); /* so it was empty */
	if (!is_disk)
		unit_skip("/var/tmp is no disk file system here");
}

/* Goal: a stream whose writer lives stays, in this process or another; what a
 * writer left that is gone is replaced, be it a stream or not. */
TEST(test_one_writer)
{
	struct timeline *first, *second;
	struct stat before, after;
	int started[2], status;
	char byte;
	pid_t child;
	FILE *f;

	assert_int_equal(timeline_new(&first, path, LOG2), 0);
	assert_int_equal(timeline_owner(path), getpid());
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(timeline_new(&second, path, LOG2), -EBUSY);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	timeline_free(&first);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(timeline_owner(path), 0);

	/* One that is killed leaves its file. */
	assert_int_equal(pipe(started), 0);
	child = fork();
	if (child == 0) {
		if (timeline_new(&first, path, LOG2) == 0 &&
		    write(started[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &byte, 1), 1);
	close(started[0]);
	assert_int_equal(timeline_owner(path), child);
	assert_int_equal(timeline_new(&second, path, LOG2), -EBUSY);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(timeline_new(&second, path, LOG2), 0);
	assert_int_equal(timeline_owner(path), getpid());
	timeline_free(&second);

	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(timeline_new(&second, path, LOG2), 0);
	timeline_free(&second);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(timeline_new(&second, path, LOG2), 0);
	timeline_free(&second);
	assert_int_equal(access(path, F_OK), -1);
}

/* A copy of a good stream's file, to be spoilt. */
static int
file_copy(const char *to, size_t bytes)
{
	static char buffer[1 << 20];
	int in = open(path, O_RDONLY), out;

	assert_true(in >= 0);
	assert_int_equal(read(in, buffer, bytes), bytes);
	close(in);
	out = open(to, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(out >= 0);
	assert_int_equal(write(out, buffer, bytes), bytes);
	return out;
}

/* Goal: short, foreign and spoilt files are refused at open. */
TEST(test_hostile_file)
{
	struct timeline *t;
	struct timeline_reader *r;
	size_t whole = 4096 + 96 * (size_t)SLOTS, at;
	unsigned char byte;
	char copy[80];
	int fd;

	snprintf(copy, sizeof(copy), "%s.copy", path);
	assert_int_equal(timeline_new(&t, path, LOG2), 0);
	fd = file_copy(copy, whole);
	assert_int_equal(timeline_reader_open(&r, copy), 0);
	timeline_reader_close(&r);
	for (at = 0; at < 16; at++) { /* magic .. slot_log2 */
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x81;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		assert_int_equal(timeline_reader_open(&r, copy), -EPROTO);
		byte ^= 0x81;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	assert_int_equal(timeline_reader_open(&r, copy), 0);
	timeline_reader_close(&r);
	assert_int_equal(ftruncate(fd, (off_t)whole - 1), 0);
	assert_int_equal(timeline_reader_open(&r, copy), -EPROTO);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(timeline_reader_open(&r, copy), -EPROTO);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(timeline_reader_open(&r, copy), -EPROTO);
	close(fd);
	unlink(copy);
	assert_int_equal(mkfifo(copy, 0600), 0);
	assert_int_equal(timeline_reader_open(&r, copy), -EPROTO);
	unlink(copy);
	timeline_free(&t);
}

int
main(void)
{
	snprintf(
	    path, sizeof(path), "/dev/shm/tailor-test-%ld", (long)getpid());
	return unit_run(NULL, NULL);
}
