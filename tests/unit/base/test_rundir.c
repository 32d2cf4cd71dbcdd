/* Goal: a socket's directory is used only if nobody else can put something
 * else into it. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char top[] = "/tmp/tailor-rundir-XXXXXX";

static const char *
in(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", top, name);
	return p;
}

TEST(test_made_when_missing)
{
	/* Goal: one level is made, for us and our group; again is fine. */
	struct stat st;

	assert_int_equal(rundir_prepare(in("new/s.sock")), 0);
	assert_int_equal(stat(in("new"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(rundir_prepare(in("new/s.sock")), 0);
	assert_int_equal(rundir_prepare(in("no/such/s.sock")), -ENOENT);
	assert_int_equal(rundir_prepare("s.sock"), 0);
	assert_int_equal(rundir_prepare("/s.sock"), 0);
}

TEST(test_writable_by_others)
{
	/* Goal: others may write: no, unless it is sticky, as /tmp is. */
	assert_int_equal(mkdir(in("open"), 0700), 0);
	chmod(in("open"), 0777);
	assert_int_equal(rundir_prepare(in("open/s")), -EPERM);
	chmod(in("open"), 0770);
	assert_int_equal(rundir_prepare(in("open/s")), -EPERM);
	chmod(in("open"), 01777);
	assert_int_equal(rundir_prepare(in("open/s")), 0);
	assert_int_equal(rundir_prepare("/tmp/s"), 0);
	chmod(in("open"), 0755);
	assert_int_equal(rundir_prepare(in("open/s")), 0);
}

TEST(test_of_somebody_else)
{
	/* Goal: another user's directory, or a link that another user made, is
	 * not used; a file is no directory; our own link may be followed. */
	FILE *f;

	f = fopen(in("file"), "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(rundir_prepare(in("file/s")), -ENOTDIR);
	assert_int_equal(mkdir(in("good"), 0700), 0);
	assert_int_equal(symlink(in("good"), in("link")), 0);
	assert_int_equal(rundir_prepare(in("link/s")), 0);
	if (geteuid() != 0) {
		print_message("the rest is skipped: only root can make "
			      "another user's directory\n");
		return;
	}
	assert_int_equal(lchown(in("link"), 12345, 12345), 0);
	assert_int_equal(rundir_prepare(in("link/s")), -EPERM);
	assert_int_equal(mkdir(in("theirs"), 0755), 0);
	assert_int_equal(chown(in("theirs"), 12345, 12345), 0);
	assert_int_equal(rundir_prepare(in("theirs/s")), -EPERM);
}

TEST(test_given_away)
{
	/* Goal: what we made changes hands, what we found does not. */
	struct stat st;

	if (geteuid() != 0) {
		print_message("skipped: only root can give files away\n");
		return;
	}
	assert_int_equal(mkdir(in("found"), 0700), 0);
	assert_int_equal(rundir_prepare(in("found/s")), 0);
	assert_int_equal(rundir_prepare(in("made/s")), 0);
	assert_int_equal(rundir_make(in("found/low/lower"), 0700), 0);
	assert_int_equal(rundir_give(12345, 23456), 0);
	assert_int_equal(stat(in("made"), &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 23456);
	assert_int_equal(stat(in("found/low"), &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(stat(in("found/low/lower"), &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(stat(in("found"), &st), 0);
	assert_int_equal(st.st_uid, 0);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST(test_with_those_above)
{
	/* Goal: every missing level is made, what is there stays as it is, and
	 * the errno is that of what is in the way. */
	FILE *f;

	assert_int_equal(mkdir(in("deep"), 0755), 0);
	assert_int_equal(rundir_make(in("deep/er/and//deeper"), 0700), 0);
	assert_int_equal(mode_of(in("deep")), 0755);
	assert_int_equal(mode_of(in("deep/er")), 0750);
	assert_int_equal(mode_of(in("deep/er/and")), 0750);
	assert_int_equal(mode_of(in("deep/er/and/deeper")), 0700);
	assert_int_equal(rundir_make(in("deep/er"), 0700), 0);
	assert_int_equal(mode_of(in("deep/er")), 0750);
	f = fopen(in("deep/file"), "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(rundir_make(in("deep/file/x"), 0700), -ENOTDIR);
	assert_int_equal(rundir_make(in("deep/file"), 0700), -ENOTDIR);
	assert_int_equal(rundir_make("/proc/none/x", 0700), -ENOENT);
}

static int
make_top(void **state)
{
	(void)state;
	return mkdtemp(top) != NULL ? 0 : -1;
}

static int
remove_top(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

int
main(void)
{
	return unit_run(make_top, remove_top);
}
