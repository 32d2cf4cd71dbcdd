/* Goal: a socket's directory is used only if nobody else can put something
 * else into it. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

static struct stat
stat_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st;
}

static void
make_file(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
}

TEST(test_made_when_missing)
{
	/* Goal: one level is made, for us and our group; again is fine. */
	assert_int_equal(rundir_prepare(in("new/s.sock")), 0);
	assert_int_equal(stat_of(in("new")).st_mode & 0777, 0750);
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
	make_file(in("file"));
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

static void
check_owner(const char *path, uid_t uid, gid_t gid)
{
	struct stat st = stat_of(path);

	assert_int_equal(st.st_uid, uid);
	assert_int_equal(st.st_gid, gid);
}

TEST(test_made_for_a_user)
{
	/* Goal: root makes the first one that is missing, for the user, and
	 * only where no other user could put something in its place. */
	if (geteuid() != 0)
		unit_skip("only root can give files away");
	assert_int_equal(mkdir(in("roots"), 0755), 0);
	assert_int_equal(rundir_make_for(in("roots/a/b/c"), 12345, 23456), 0);
	check_owner(in("roots/a"), 12345, 23456);
	assert_int_equal(access(in("roots/a/b"), F_OK), -1);
	/* Below it nothing more, nor through a link in it. */
	assert_int_equal(symlink(in("roots"), in("roots/a/link")), 0);
	assert_int_equal(lchown(in("roots/a/link"), 12345, 23456), 0);
	assert_int_equal(
	    rundir_make_for(in("roots/a/link/d"), 12345, 23456), 0);
	assert_int_equal(rundir_make_for(in("roots/a/e"), 12345, 23456), 0);
	assert_int_equal(access(in("roots/d"), F_OK), -1);
	assert_int_equal(access(in("roots/a/e"), F_OK), -1);
	/* A link of root's is one of its directories. */
	assert_int_equal(symlink("roots", in("of-root")), 0);
	assert_int_equal(rundir_make_for(in("of-root/f"), 12345, 23456), 0);
	check_owner(in("roots/f"), 12345, 23456);
	chmod(in("roots"), 01777);
	assert_int_equal(rundir_make_for(in("roots/g"), 12345, 23456), 0);
	assert_int_equal(access(in("roots/g"), F_OK), -1);
	/* What is there stays as it is. */
	assert_int_equal(rundir_make_for(in("roots"), 12345, 23456), 0);
	check_owner(in("roots"), 0, 0);
}

/* Append a letter; 0 or the errno. */
static int
append(const char *path)
{
	int fd = file_append(path, 0640);

	if (fd < 0)
		return fd;
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	return 0;
}

static int
length_of(const char *path)
{
	return (int)stat_of(path).st_size;
}

TEST(test_append)
{
	/* Goal: a file, a link of ours and what is open are appended to; a
	 * link, another name or a file that another user has put there is
	 * not. */
	char open_file[40];
	int fd;

	assert_int_equal(mkdir(in("logs"), 0755), 0);
	assert_int_equal(append(in("logs/a")), 0);
	assert_int_equal(append(in("logs//a")), 0);
	assert_int_equal(symlink("logs/../logs/a", in("to-a")), 0);
	assert_int_equal(append(in("to-a")), 0);
	assert_int_equal(symlink(in("logs"), in("to-logs")), 0);
	assert_int_equal(append(in("to-logs/a")), 0);
	assert_int_equal(length_of(in("logs/a")), 4);
	assert_int_equal(symlink("loop", in("loop")), 0);
	assert_int_equal(append(in("loop")), -ELOOP);
	assert_int_equal(append(in("logs")), -EISDIR);
	assert_int_equal(append(in("none/a")), -ENOENT);
	fd = open(in("logs/b"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", fd);
	assert_int_equal(append(open_file), 0);
	assert_int_equal(length_of(in("logs/b")), 1);
	close(fd);
	if (geteuid() != 0) {
		print_message("the rest is skipped: only root can make "
			      "another user's directory\n");
		return;
	}
	assert_int_equal(mkdir(in("evil"), 0755), 0);
	assert_int_equal(append(in("evil/a")), 0);
	assert_int_equal(symlink(in("logs/a"), in("evil/link")), 0);
	assert_int_equal(symlink(in("logs"), in("evil/folder")), 0);
	assert_int_equal(link(in("logs/a"), in("evil/name")), 0);
	assert_int_equal(lchown(in("evil/link"), 12345, 12345), 0);
	assert_int_equal(lchown(in("evil/folder"), 12345, 12345), 0);
	assert_int_equal(chown(in("evil"), 12345, 12345), 0);
	assert_int_equal(append(in("evil/a")), 0);
	assert_int_equal(append(in("evil/link")), -EPERM);
	assert_int_equal(append(in("evil/folder/a")), -EPERM);
	assert_int_equal(append(in("evil/name")), -EPERM);
	chmod(in("logs"), 01777);
	assert_int_equal(chown(in("logs/b"), 12345, 12345), 0);
	assert_true(append(in("logs/b")) < 0); /* the kernel may refuse first */
	assert_int_equal(length_of(in("logs/a")), 4);
	assert_int_equal(length_of(in("logs/b")), 1);
}

static mode_t
mode_of(const char *path)
{
	return stat_of(path).st_mode & 07777;
}

TEST(test_with_those_above)
{
	/* Goal: every missing level is made, what is there stays as it is, and
	 * the errno is that of what is in the way. */
	assert_int_equal(mkdir(in("deep"), 0755), 0);
	assert_int_equal(rundir_make(in("deep/er/and//deeper"), 0700), 0);
	assert_int_equal(mode_of(in("deep")), 0755);
	assert_int_equal(mode_of(in("deep/er")), 0750);
	assert_int_equal(mode_of(in("deep/er/and")), 0750);
	assert_int_equal(mode_of(in("deep/er/and/deeper")), 0700);
	assert_int_equal(rundir_make(in("deep/er"), 0700), 0);
	assert_int_equal(mode_of(in("deep/er")), 0750);
	make_file(in("deep/file"));
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
