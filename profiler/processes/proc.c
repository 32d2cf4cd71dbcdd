#include "profiler/processes/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/instant.h"

#define PROC_DEPTH 32
#define PROC_PIDFD_THREAD O_EXCL /* PIDFD_THREAD, Linux 6.9 */
#define PROC_FLAG_EXITING 0x4	 /* PF_EXITING in field 9 of stat */

int
proc_pidfd(pid_t pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : (int)fd;
}

int
proc_uid(pid_t pid, uid_t *out)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return -errno;
	*out = st.st_uid;
	return 0;
}

void
proc_user_name(uid_t uid, char out[PROC_USER_BYTES])
{
	struct passwd pw, *found = NULL;
	char buffer[2048];

	if (getpwuid_r(uid, &pw, buffer, sizeof(buffer), &found) == 0 &&
	    found != NULL && strlen(pw.pw_name) < PROC_USER_BYTES)
		strcpy(out, pw.pw_name);
	else
		snprintf(out, PROC_USER_BYTES, "%u", (unsigned)uid);
}

/* Read the beginning of /proc/<pid>/<file>; "" on failure. */
static void
proc_read(pid_t pid, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
}

void
proc_name(pid_t pid, char out[PROC_NAME_BYTES])
{
	char *p;

	proc_read(pid, "comm", out, PROC_NAME_BYTES);
	for (p = out; *p != '\0' && *p != '\n'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	*p = '\0';
}

/* Open the directory of a process's threads.  NULL: failed, with errno. */
static DIR *
proc_tasks(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

int
proc_thread_pidfds(pid_t pid, int out[PROC_THREADS])
{
	/* The first ones tend to live longest. */
	pid_t tid[PROC_THREADS + 1] = {0};
	int n = proc_threads(pid, tid, PROC_THREADS + 1), opened = 0, err = 0;
	long fd;

	for (unsigned i = 0; i < PROC_THREADS; i++)
		out[i] = -1;
	if (n == -E2BIG)
		n = PROC_THREADS + 1;
	for (int i = 0; i < n && opened < PROC_THREADS; i++) {
		if (tid[i] == pid)
			continue;
		fd = syscall(SYS_pidfd_open, tid[i], PROC_PIDFD_THREAD);
		if (fd < 0)
			err = -errno;
		else
			out[opened++] = (int)fd;
	}
	return opened > 0 ? opened : err;
}

pid_t
proc_inner_pid(pid_t pid)
{
	char text[4096], *line, *end;

	proc_read(pid, "status", text, sizeof(text));
	line = strstr(text, "\nNSpid:");
	if (line == NULL)
		return pid;
	line++;
	end = line + strcspn(line, "\n");
	*end = '\0';
	/* One number per namespace, ours first, the process's own last. */
	line = strrchr(line, '\t');
	return line != NULL && atoi(line) > 0 ? (pid_t)atoi(line) : pid;
}

/* The fields of stat after the name, which may hold anything. */
static const char *
proc_stat(pid_t pid, char *buffer, size_t size)
{
	const char *after;

	proc_read(pid, "stat", buffer, size);
	after = strrchr(buffer, ')');
	return after != NULL ? after + 1 : "";
}

/* Returns 1 if a thread still has its memory, by its exe link; 0 if not; or a
 * negative errno.  Do not read other files for this: reading /proc/<pid>/stat
 * or status borrows the memory of the process, and if the process ends
 * meanwhile, the reader frees that memory: a tenth of a second per gigabyte. */
static int
thread_has_memory(pid_t pid, pid_t tid)
{
	char path[64], target[1];

	snprintf(
	    path, sizeof(path), "/proc/%d/task/%d/exe", (int)pid, (int)tid);
	if (readlink(path, target, sizeof(target)) >= 0)
		return 1;
	return errno == ENOENT || errno == ESRCH ? 0 : -errno;
}

struct task {
	char state; /* 0: it is gone */
	bool exits;
};

static struct task
task_read(pid_t tid)
{
	char text[1024];
	struct task t;
	unsigned flags;

	if (sscanf(proc_stat(tid, text, sizeof(text)),
		" %c %*d %*d %*d %*d %*d %u", &t.state, &flags) != 2)
		return (struct task){0, true};
	t.exits = t.state == 'Z' || t.state == 'X' ||
		  (flags & PROC_FLAG_EXITING) != 0;
	return t;
}

/* True if a process is exiting, by flags in stat: for processes whose exe link
 * may not be read. */
static bool
proc_is_exiting(pid_t pid)
{
	DIR *d = proc_tasks(pid);
	struct dirent *e;
	bool exits = true;

	while (d != NULL && exits && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			exits = task_read(atoi(e->d_name)).exits;
	if (d != NULL)
		closedir(d);
	return exits;
}

bool
proc_is_ending(pid_t pid)
{
	DIR *d = proc_tasks(pid);
	struct dirent *e;
	int has = 0;

	if (d == NULL)
		return true;
	/* The first thread may have ended while others run. */
	while (has == 0 && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			has = thread_has_memory(pid, atoi(e->d_name));
	closedir(d);
	return has < 0 ? proc_is_exiting(pid) : has == 0;
}

pid_t
proc_parent(pid_t pid)
{
	char buffer[1024];
	int parent = 0;

	if (sscanf(proc_stat(pid, buffer, sizeof(buffer)), " %*c %d",
		&parent) != 1)
		return 0;
	return (pid_t)parent;
}

bool
proc_descends(pid_t pid, pid_t ancestor)
{
	unsigned depth;

	for (depth = 0; depth < PROC_DEPTH && pid > 1; depth++) {
		if (pid == ancestor)
			return true;
		pid = proc_parent(pid);
	}
	return false;
}

char
proc_state(pid_t pid)
{
	struct task t = task_read(pid);
	pid_t tid[2];
	int n;

	if (t.state != 'Z' && t.state != 'X')
		return t.state;
	/* The first thread may have ended while others run. */
	n = proc_threads(pid, tid, 2);
	return n == 2 || n == -E2BIG ? task_read(tid[1]).state : t.state;
}

/* True if a group of version 2 is frozen, by itself or with one above it. */
static bool
group_is_frozen(const char *mount, const char *group)
{
	char path[PATH_MAX], line[32];
	bool frozen = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s/cgroup.events", mount, group);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		frozen |= strcmp(line, "frozen 1\n") == 0;
	if (f != NULL)
		fclose(f);
	return frozen;
}

/* The same of a line of /proc/PID/cgroup, "id:controllers:path", which it cuts
 * up. */
static bool
line_is_frozen(char *line)
{
	char *controllers = strchr(line, ':'), *group, state[16];

	line[strcspn(line, "\n")] = '\0';
	group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (group == NULL)
		return false;
	*group++ = '\0';
	if (controllers[1] == '\0') /* version 2, alone or beside version 1 */
		return group_is_frozen("/sys/fs/cgroup", group) ||
		       group_is_frozen("/sys/fs/cgroup/unified", group);
	return strcmp(controllers + 1, "freezer") == 0 &&
	       file_read_line(state, sizeof(state),
		   "/sys/fs/cgroup/freezer%s/freezer.state", group) &&
	       strcmp(state, "THAWED") != 0;
}

bool
proc_is_stopped(pid_t pid)
{
	char path[32], line[PATH_MAX], state = proc_state(pid);
	bool stopped = state == 'T' || state == 't';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = stopped ? NULL : fopen(path, "re");
	while (f != NULL && !stopped && fgets(line, sizeof(line), f) != NULL)
		stopped = line_is_frozen(line);
	if (f != NULL)
		fclose(f);
	return stopped;
}

int64_t
proc_age_ns(pid_t pid)
{
	char buffer[1024];
	unsigned long long start;
	struct timespec now;
	long hz = sysconf(_SC_CLK_TCK);

	/* Field 22 of proc(5); the name was field 2. */
	if (hz <= 0 ||
	    sscanf(proc_stat(pid, buffer, sizeof(buffer)),
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
		" %*d %*d %*d %*d %llu",
		&start) != 1)
		return -ESRCH;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec -
	       (int64_t)(start * (unsigned long long)NS_PER_S /
			 (unsigned long long)hz);
}

bool
proc_has_argument(pid_t pid, const char *text)
{
	char path[32], *argument = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (!found && getdelim(&argument, &size, '\0', f) > 0)
		found = strcmp(argument, text) == 0;
	free(argument);
	fclose(f);
	return found;
}

bool
proc_maps(pid_t pid, const char *text, bool deleted)
{
	char path[32], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strstr(line, text) != NULL &&
			(!deleted || strstr(line, " (deleted)") != NULL);
	fclose(f);
	return found;
}

int
proc_threads(pid_t pid, pid_t *tid, int max)
{
	DIR *d = proc_tasks(pid);
	struct dirent *e;
	int n = 0;

	if (d == NULL)
		return -errno;
	while (n >= 0 && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		if (n == max)
			n = -E2BIG;
		else
			tid[n++] = (pid_t)atoi(e->d_name);
	}
	closedir(d);
	return n;
}

pid_t
proc_thread_named(pid_t pid, const char *name)
{
	DIR *d = proc_tasks(pid);
	char found[PROC_NAME_BYTES];
	struct dirent *e;
	pid_t tid = 0;

	while (d != NULL && tid == 0 && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		proc_name((pid_t)atoi(e->d_name), found);
		if (strcmp(found, name) == 0)
			tid = (pid_t)atoi(e->d_name);
	}
	if (d != NULL)
		closedir(d);
	return tid;
}
