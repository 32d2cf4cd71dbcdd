/*
 * Goal: the group is made where it yields to everything else, with the best
 * brake that there is, or it is said what is missing; on imagined machines.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "borrow/group.h"

#define OURS 4711
#define V2 "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
#define BESIDE "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
#define V1                                                    \
	"cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n" \
	"cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"       \
	"cgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\n"

static char root[] = "/tmp/tailor-group-XXXXXX";

/* Write a file of the imagined machine, in directories that are made. */
static void
file(const char *path, const char *text)
{
	char whole[256];
	size_t made;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	*strrchr(whole, '/') = '\0';
	assert_int_equal(file_make_directory(whole, &made), 0);
	whole[strlen(whole)] = '/';
	assert_int_equal(file_write(whole, text, strlen(text)), 0);
}

static void
assert_holds(const char *path, const char *text)
{
	char line[64];

	assert_true(file_read_line(line, sizeof(line), "%s%s", root, path));
	assert_string_equal(line, text);
}

static bool
exists(const char *format, int pid)
{
	char path[256] = "", *end = path + strlen(root);
	struct stat st;

	snprintf(path, sizeof(path), "%s", root);
	snprintf(end, sizeof(path) - strlen(root), format, pid);
	return stat(path, &st) == 0;
}

static int
machine_new(void **state)
{
	(void)state;
	memcpy(strrchr(root, '-'), "-XXXXXX", 7);
	assert_non_null(mkdtemp(root));
	return 0;
}

static int
machine_free(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

#define MACHINE(name) TEST_WITH(name, machine_new, machine_free)

/* Version 2, with these controllers for groups. */
static void
version2(const char *handed_on)
{
	file("/proc/self/mounts", "proc /proc proc rw 0 0\n" V2);
	file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
	file("/sys/fs/cgroup/cgroup.subtree_control", handed_on);
}

MACHINE(test_version_2)
{
	struct group_place place;
	struct idle_group g;

	version2("cpuset cpu\n");
	file("/sys/fs/cgroup/tailor-borrow-4711/cpu.idle", "0");
	file("/sys/fs/cgroup/tailor-borrow-4711/cpu.stat",
	    "usage_usec 1500\nuser_usec 1\n");
	group_find(&place, root);
	assert_int_equal(place.version, 2);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_IDLE);
	assert_string_equal(g.why, "");
	assert_holds("/sys/fs/cgroup/tailor-borrow-4711/cpu.idle", "1");
	assert_true(group_cpu_ns(&g) == 1500000);
}

/* Goal: a controller that is not handed on is not asked for: that would change
 * how all services share the CPUs.  It is said how. */
MACHINE(test_version_2_without)
{
	struct group_place place;
	struct idle_group g;

	version2("cpuset memory\n"); /* cpuset is not cpu */
	group_find(&place, root);
	assert_int_equal(place.version, 0);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_NONE);
	assert_non_null(strstr(g.fix, "echo +cpu > /sys/fs/cgroup/cgroup.sub"));
	assert_holds("/sys/fs/cgroup/cgroup.subtree_control", "cpuset memory");
}

/* Goal: the groups of processes are found by name, others are not. */
MACHINE(test_list)
{
	struct group_place place;
	struct idle_group g;
	pid_t pid[3] = {0};

	version2("cpu\n");
	file("/sys/fs/cgroup/tailor-borrow-12/cpu.idle", "1");
	file("/sys/fs/cgroup/tailor-borrow-12/cgroup.procs", "12\n13\n");
	file("/sys/fs/cgroup/tailor-borrow-x/cpu.idle", "1");
	file("/sys/fs/cgroup/tailor-borrow-14x/cpu.idle", "1");
	file("/sys/fs/cgroup/system.slice/cpu.idle", "0");
	group_find(&place, root);
	assert_int_equal(group_list(&place, pid, 3), 1);
	assert_int_equal(pid[0], 12);
	assert_true(group_open(&g, &place, 12));
	assert_int_equal(g.brake, GROUP_IDLE);
	assert_int_equal(group_processes(&g), 2);
	assert_false(group_open(&g, &place, 14));
	file("/sys/fs/cgroup/tailor-borrow-15/cpu.weight", "1");
	assert_true(group_open(&g, &place, 15));
	assert_int_equal(g.brake, GROUP_WEIGHT);
	assert_int_equal(group_list(&place, pid, 1), 1);
}

/* Goal: version 2 has a freezer in each group. */
MACHINE(test_hold)
{
	struct group_place place;
	struct idle_group g;

	version2("cpu\n");
	file("/sys/fs/cgroup/tailor-borrow-12/cgroup.freeze", "0\n");
	group_find(&place, root);
	assert_true(group_open(&g, &place, 12));
	assert_false(group_is_held(&g));
	assert_int_equal(group_hold(&g, true), 0);
	assert_holds("/sys/fs/cgroup/tailor-borrow-12/cgroup.freeze", "1");
	assert_true(group_is_held(&g));
	assert_int_equal(group_hold(&g, false), 0);
	assert_false(group_is_held(&g));
}

/* Goal: one that an earlier process of our number has left is not held. */
MACHINE(test_left)
{
	struct group_place place;
	struct idle_group g;

	version2("cpu\n");
	file("/sys/fs/cgroup/tailor-borrow-4711/cgroup.freeze", "1\n");
	file("/sys/fs/cgroup/tailor-borrow-4711/cpu.idle", "0");
	group_find(&place, root);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_IDLE);
	assert_false(group_is_held(&g));
}

/* Goal: version 1 has a quota. */
MACHINE(test_hold_version_1)
{
	struct group_place place;
	struct idle_group g;

	file("/proc/self/mounts", V1);
	file("/sys/fs/cgroup/cpu/tailor-borrow-12/cpu.cfs_period_us", "100000");
	file("/sys/fs/cgroup/cpu/tailor-borrow-12/cpu.cfs_quota_us", "-1");
	group_find(&place, root);
	assert_true(group_open(&g, &place, 12));
	assert_false(group_is_held(&g));
	assert_int_equal(group_hold(&g, true), 0);
	assert_true(group_is_held(&g));
	assert_holds(
	    "/sys/fs/cgroup/cpu/tailor-borrow-12/cpu.cfs_period_us", "1000000");
	assert_holds(
	    "/sys/fs/cgroup/cpu/tailor-borrow-12/cpu.cfs_quota_us", "1000");
	file("/sys/fs/cgroup/cpu/tailor-borrow-12/cpu.cfs_quota_us", "-1");
	assert_false(group_is_held(&g));
	assert_false(group_open(&g, &place, 13));
	assert_int_equal(group_hold(&g, true), -ENOENT);
}

/* Goal: where both versions are mounted, the one with the CPU controller
 * counts; times are those of the other controller of version 1. */
MACHINE(test_version_1)
{
	struct group_place place;
	struct idle_group g;

	file("/proc/self/mounts", BESIDE V1);
	file("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
	file("/sys/fs/cgroup/cpu/tailor-borrow-4711/cpu.idle", "0");
	file("/sys/fs/cgroup/cpu/tailor-borrow-4711/cgroup.procs", "");
	file("/sys/fs/cgroup/cpuacct/tailor-borrow-4711/cgroup.procs", "");
	file("/sys/fs/cgroup/cpuacct/tailor-borrow-4711/cpuacct.usage", "77\n");
	group_find(&place, root);
	assert_int_equal(place.version, 1);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_IDLE);
	assert_holds("/sys/fs/cgroup/cpu/tailor-borrow-4711/cpu.idle", "1");
	assert_true(group_cpu_ns(&g) == 77);
	assert_int_equal(group_join(&g), 0);
	assert_holds("/sys/fs/cgroup/cpu/tailor-borrow-4711/cgroup.procs", "0");
	assert_holds(
	    "/sys/fs/cgroup/cpuacct/tailor-borrow-4711/cgroup.procs", "0");
}

/* Goal: an older kernel's brake is its lowest weight, which is said. */
MACHINE(test_old_kernel)
{
	struct group_place place;
	struct idle_group g;

	version2("cpu\n");
	file("/sys/fs/cgroup/tailor-borrow-4711/cpu.weight", "9");
	group_find(&place, root);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_WEIGHT);
	assert_non_null(strstr(g.why, "no cpu.idle"));
	assert_holds("/sys/fs/cgroup/tailor-borrow-4711/cpu.weight", "1");
	file("/proc/self/mounts", V1);
	file("/sys/fs/cgroup/cpu/tailor-borrow-4711/cpu.shares", "9");
	group_find(&place, root);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_WEIGHT);
	assert_holds("/sys/fs/cgroup/cpu/tailor-borrow-4711/cpu.shares", "2");
}

/* Goal: without any, nothing is made; nor if it cannot be braked. */
MACHINE(test_no_brake)
{
	struct group_place place;
	struct idle_group g;

	file("/proc/self/mounts", "proc /proc proc rw 0 0\n");
	group_find(&place, root);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_NONE);
	assert_non_null(strstr(g.why, "no CPU controller"));
	assert_int_equal(group_join(&g), 0);
	assert_true(group_cpu_ns(&g) == -1);
	assert_int_equal(group_remove(&g), 0);
	version2("cpu\n");
	group_find(&place, root);
	group_make(&g, &place, OURS);
	assert_int_equal(g.brake, GROUP_NONE);
	assert_false(exists("/sys/fs/cgroup/tailor-borrow-%d", OURS));
}

/* Goal: groups that a killed one has left are removed, no others. */
MACHINE(test_left_behind)
{
	struct group_place place;
	struct idle_group g;
	char path[64];
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	version2("cpu\n");
	file("/sys/fs/cgroup/tailor-borrow-4711/cpu.idle", "0");
	file("/sys/fs/cgroup/tailor-borrow-x/file", "");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path),
		    "/sys/fs/cgroup/tailor-borrow-%d/x",
		    i ? (int)gone : (int)getpid());
		file(path, "");
		snprintf(path, sizeof(path),
		    "%s/sys/fs/cgroup/tailor-borrow-%d/x", root,
		    i ? (int)gone : (int)getpid());
		unlink(path);
	}
	group_find(&place, root);
	group_make(&g, &place, OURS);
	assert_false(exists("/sys/fs/cgroup/tailor-borrow-%d", gone));
	assert_true(exists("/sys/fs/cgroup/tailor-borrow-%d", getpid()));
	assert_true(exists("/sys/fs/cgroup/tailor-borrow-x", 0));
}

/* Goal: in a container it is known that the group yields to that one only. */
MACHINE(test_container)
{
	struct group_place place;

	version2("cpu\n");
	group_find(&place, root);
	assert_false(place.contained);
	file("/sys/fs/cgroup/cgroup.events", "populated 1\n");
	group_find(&place, root);
	assert_int_equal(place.version, 2);
	assert_true(place.contained);
	file("/proc/self/mounts", V1);
	file("/sys/fs/cgroup/cpu/cgroup.procs", "");
	group_find(&place, root);
	assert_int_equal(place.version, 1);
	assert_true(place.contained);
	file("/sys/fs/cgroup/cpu/release_agent", "");
	group_find(&place, root);
	assert_false(place.contained);
}
