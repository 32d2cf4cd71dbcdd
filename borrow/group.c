#include "borrow/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/permission.h"

#define PREFIX "tailor-borrow-"

static bool
has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list != '\0'; list += strcspn(list, " "), list += *list == ' ')
		if (strncmp(list, word, n) == 0 &&
		    (list[n] == ' ' || list[n] == '\0'))
			return true;
	return false;
}

/* True if a mount's top is a group of the machine, as in a container: the top
 * of all has release_agent in version 1, and no cgroup.events in version 2. */
static bool
is_below(const char *top, bool v2)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top,
	    v2 ? "cgroup.events" : "release_agent");
	return (access(path, F_OK) == 0) == v2;
}

/* Take a mount of cgroups into account. */
static void
mount_use(struct group_place *out, const char *root, const struct mntent *m)
{
	char words[256];
	bool v2 = strcmp(m->mnt_type, "cgroup2") == 0;

	if (!v2 && strcmp(m->mnt_type, "cgroup") != 0)
		return;
	if (!v2 && hasmntopt(m, "cpuacct") != NULL)
		snprintf(
		    out->usage, sizeof(out->usage), "%s%s", root, m->mnt_dir);
	if (v2 && (!file_read_line(words, sizeof(words),
		       "%s%s/cgroup.controllers", root, m->mnt_dir) ||
		      !has_word(words, "cpu")))
		return;
	if (!v2 && hasmntopt(m, "cpu") == NULL)
		return;
	snprintf(out->path, sizeof(out->path), "%s%s", root, m->mnt_dir);
	out->version = v2 ? 2 : 1;
	out->contained = is_below(out->path, v2);
	/* Version 2 hands the controller to the groups below on request. */
	if (!v2 || (file_read_line(words, sizeof(words),
			"%s/cgroup.subtree_control", out->path) &&
		       has_word(words, "cpu")))
		return;
	out->version = 0;
	snprintf(out->why, sizeof(out->why),
	    "groups have no CPU controller: it is not in "
	    "%.60s/cgroup.subtree_control",
	    m->mnt_dir);
	snprintf(out->fix, sizeof(out->fix),
	    "as root: echo +cpu > %.60s/cgroup.subtree_control", m->mnt_dir);
}

void
group_find(struct group_place *out, const char *root)
{
	char path[PATH_MAX], line[PATH_MAX];
	struct mntent m;
	FILE *f;

	memset(out, 0, sizeof(*out));
	snprintf(out->why, sizeof(out->why),
	    "this kernel has no CPU controller for groups, or it is not "
	    "mounted");
	snprintf(out->fix, sizeof(out->fix),
	    "boot without cgroup_disable=cpu; in a container, mount "
	    "/sys/fs/cgroup");
	snprintf(path, sizeof(path), "%s/proc/self/mounts", root);
	f = setmntent(path, "re");
	if (f == NULL)
		return;
	while (getmntent_r(f, &m, line, sizeof(line)) != NULL)
		if (out->version == 0 || strcmp(m.mnt_type, "cgroup") == 0)
			mount_use(out, root, &m);
	endmntent(f);
}

/* The process after which the next group in a directory is named; 0: no more.
 */
static pid_t
next_in(DIR *d)
{
	struct dirent *e;
	char *end;
	long pid;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		pid = strtol(e->d_name + strlen(PREFIX), &end, 10);
		if (pid > 0 && pid <= INT32_MAX && *end == '\0')
			return (pid_t)pid;
	}
	return 0;
}

/* Remove the empty groups of processes that are gone. */
static void
remove_left(const char *top)
{
	char path[PATH_MAX];
	DIR *d = opendir(top);
	pid_t pid;

	while ((pid = next_in(d)) != 0) {
		if (kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/" PREFIX "%d", top, (int)pid);
		rmdir(path); /* fails while processes are in it */
	}
	if (d != NULL)
		closedir(d);
}

/* Write a file of a group.  0 or a negative errno. */
static int
put(const char *directory, const char *file, const char *text)
{
	char path[PATH_MAX + 32];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Returns 1 if one is there of an earlier process of that number, whose own
 * processes still run. */
static int
make(char out[PATH_MAX], const char *top, pid_t pid)
{
	int err;

	snprintf(out, PATH_MAX, "%s/" PREFIX "%d", top, (int)pid);
	rmdir(out);
	if (mkdir(out, 0755) == 0)
		return 0;
	err = -errno;
	if (err == -EEXIST)
		return 1;
	out[0] = '\0';
	return err;
}

/* Have what is in the group wait for all others. */
static int
brake(struct idle_group *g, unsigned version)
{
	int err = put(g->path, "cpu.idle", "1");

	if (err == 0) {
		g->brake = GROUP_IDLE;
		return 0;
	}
	err = version == 2 ? put(g->path, "cpu.weight", "1")
			   : put(g->path, "cpu.shares", "2");
	if (err == 0)
		g->brake = GROUP_WEIGHT;
	snprintf(g->why, sizeof(g->why), "this kernel has no cpu.idle");
	snprintf(g->fix, sizeof(g->fix), "Linux 5.15 or newer");
	return err;
}

void
group_make(struct idle_group *g, const struct group_place *place, pid_t pid)
{
	struct permission own;
	int err;

	memset(g, 0, sizeof(*g));
	if (place->version == 0) {
		memcpy(g->why, place->why, sizeof(g->why));
		memcpy(g->fix, place->fix, sizeof(g->fix));
		return;
	}
	/* In a pid namespace a group may be of a process that is not seen. */
	permission_read(&own);
	if (!own.container)
		remove_left(place->path);
	err = make(g->path, place->path, pid);
	if (err == 1)
		group_hold(g, false);
	if (err >= 0)
		err = brake(g, place->version);
	/* Only for the sum at the end. */
	if (err == 0 && place->version == 1 && place->usage[0] != '\0' &&
	    strcmp(place->usage, place->path) != 0) {
		if (!own.container)
			remove_left(place->usage);
		make(g->usage, place->usage, pid);
	}
	if (err == 0)
		return;
	if (g->path[0] != '\0')
		rmdir(g->path);
	g->path[0] = '\0';
	snprintf(g->why, sizeof(g->why), "no group in %.80s: %s", place->path,
	    strerror(-err));
	snprintf(g->fix, sizeof(g->fix), "%s",
	    err == -EACCES || err == -EPERM ? "run tailor borrow as root"
	    : err == -EROFS ? "mount /sys/fs/cgroup writable in this container"
			    : "");
}

int
group_join(const struct idle_group *g)
{
	int err;

	if (g->path[0] == '\0')
		return 0;
	err = put(g->path, "cgroup.procs", "0");
	if (err == 0 && g->usage[0] != '\0')
		err = put(g->usage, "cgroup.procs", "0");
	return err;
}

int64_t
group_cpu_ns(const struct idle_group *g)
{
	const char *at = g->usage[0] != '\0' ? g->usage : g->path;
	char line[64];
	long long value;

	if (at[0] == '\0')
		return -1;
	if (file_read_line(line, sizeof(line), "%s/cpuacct.usage", at) &&
	    sscanf(line, "%lld", &value) == 1)
		return value;
	/* Version 2; the first line is the sum. */
	if (file_read_line(line, sizeof(line), "%s/cpu.stat", at) &&
	    sscanf(line, "usage_usec %lld", &value) == 1)
		return value * 1000;
	return -1;
}

bool
group_open(struct idle_group *g, const struct group_place *place, pid_t pid)
{
	char line[16];

	memset(g, 0, sizeof(*g));
	snprintf(
	    g->path, sizeof(g->path), "%s/" PREFIX "%d", place->path, (int)pid);
	if (place->version == 0 || access(g->path, F_OK) < 0)
		return false;
	g->brake = file_read_line(line, sizeof(line), "%s/cpu.idle", g->path) &&
			   line[0] == '1'
		       ? GROUP_IDLE
		       : GROUP_WEIGHT;
	if (place->version == 1 && strcmp(place->usage, place->path) != 0)
		snprintf(g->usage, sizeof(g->usage), "%s/" PREFIX "%d",
		    place->usage, (int)pid);
	return true;
}

unsigned
group_list(const struct group_place *place, pid_t *pid, unsigned max)
{
	DIR *d = place->version == 0 ? NULL : opendir(place->path);
	unsigned n = 0;

	while (n < max && (pid[n] = next_in(d)) != 0)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

int
group_hold(const struct idle_group *g, bool hold)
{
	int err = put(g->path, "cgroup.freeze", hold ? "1" : "0");

	if (err != -ENOENT)
		return err;
	err = put(g->path, "cpu.cfs_period_us", "1000000");
	return err != 0
		   ? err
		   : put(g->path, "cpu.cfs_quota_us", hold ? "1000" : "-1");
}

bool
group_is_held(const struct idle_group *g)
{
	char line[32];

	if (file_read_line(line, sizeof(line), "%s/cgroup.freeze", g->path))
		return line[0] == '1';
	return file_read_line(
		   line, sizeof(line), "%s/cpu.cfs_quota_us", g->path) &&
	       line[0] != '-';
}

unsigned
group_processes(const struct idle_group *g)
{
	char file[PATH_MAX + 32], *text = NULL;
	unsigned n = 0;
	size_t length;

	snprintf(file, sizeof(file), "%s/cgroup.procs", g->path);
	if (file_read(file, &text, &length) < 0)
		return 0;
	for (size_t i = 0; i < length; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

unsigned
group_remove(struct idle_group *g)
{
	unsigned left = 0;

	if (g->path[0] != '\0' && rmdir(g->path) < 0)
		left = group_processes(g);
	if (g->usage[0] != '\0')
		rmdir(g->usage);
	g->path[0] = g->usage[0] = '\0';
	return left;
}
