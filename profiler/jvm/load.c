/* load.c: a client of the JVM's attach protocol that never waits. */
#include "profiler/jvm/load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "profiler/processes/proc.h"

#define LOAD_MAX_NS (10 * NS_PER_S)
#define LOAD_PERIOD_NS (20 * NS_PER_MS)

void
load_init(struct load *l)
{
	memset(l, 0, sizeof(*l));
	l->fd = -1;
}

/* Open a process's /tmp as the process sees it: links are followed from its
 * root, so that none leads out of a container.  Returns a descriptor, or -1
 * with errno. */
static int
tmp_open(pid_t pid)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_IN_ROOT};
	char path[32];
	int root, fd, err;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
	err = errno;
	close(root);
	errno = err;
	return fd;
}

/* Close the connection and remove the knock's file.  If SIGQUIT was sent and
 * the JVM did not open its socket, keep the file: a JVM that could not run may
 * handle the signal later. */
static void
load_close(struct load *l)
{
	bool open = l->fd >= 0;
	int tmp;

	if (open)
		close(l->fd);
	l->fd = -1;
	if (l->knock[0] == '\0' || (!open && l->knocked == l->pid))
		return;
	tmp = tmp_open(l->pid);
	if (tmp >= 0) {
		unlinkat(tmp, l->knock, 0);
		close(tmp);
	}
	l->knock[0] = '\0';
}

void
load_fini(struct load *l)
{
	load_close(l);
	l->state = LOAD_IDLE;
}

static void
load_fail(struct load *l, const char *what, int err)
{
	load_close(l);
	l->state = LOAD_FAILED;
	snprintf(l->why, sizeof(l->why), "%s%s%s", what, err != 0 ? ": " : "",
	    err != 0 ? strerror(err) : "");
}

/* True if the process sees the same file at a path as we do. */
static bool
sees(pid_t pid, const char *path)
{
	char inside[600];
	struct stat ours, its;

	snprintf(inside, sizeof(inside), "/proc/%d/root%s", (int)pid, path);
	return stat(path, &ours) == 0 && stat(inside, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/* True if a process handles SIGQUIT; if not, SIGQUIT ends the process. */
static bool
handles_quit(pid_t pid)
{
	unsigned long long caught = 0;
	char path[40], line[200];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	fclose(f);
	return (caught & 1ULL << (SIGQUIT - 1)) != 0;
}

static bool
same_users(pid_t pid)
{
	char path[40];
	struct stat ours, its;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &ours) == 0 &&
	       stat(path, &its) == 0 && ours.st_ino == its.st_ino;
}

/* Returns 1 if the JVM takes its file in a directory as a knock, 0 if not;
 * -ENOENT: there is no such file. */
static int
knock_is_taken(const struct load *l, int directory)
{
	struct stat st;
	uid_t user;

	if (fstatat(directory, l->knock, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ENOENT : 0;
	if (!S_ISREG(st.st_mode) || proc_uid(l->pid, &user) < 0)
		return 0;
	return st.st_uid == user ||
	       (st.st_uid == 0 && l->java >= 11 && same_users(l->pid));
}

/* Make the knock's file, in place of one that the JVM does not take.  False:
 * failed, with errno. */
static bool
knock_make(const struct load *l, int tmp)
{
	uid_t owner;
	int fd;

	if (knock_is_taken(l, tmp) == 0)
		unlinkat(tmp, l->knock, 0);
	fd = openat(
	    tmp, l->knock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && proc_uid(l->pid, &owner) == 0 && owner != geteuid() &&
	    fchown(fd, owner, (gid_t)-1) < 0)
		errno = 0; /* the file remains root's */
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EEXIST;
}

/* Make sure that the JVM finds a file that it takes as a knock.  False: the
 * load has failed. */
static bool
knock_prepare(struct load *l)
{
	char path[32];
	int tmp = tmp_open(l->pid), cwd;
	bool made;

	snprintf(l->knock, sizeof(l->knock), ".attach_pid%d",
	    (int)proc_inner_pid(l->pid));
	made = tmp >= 0 && knock_make(l, tmp);
	if (!made) {
		int err = errno;

		if (tmp >= 0)
			close(tmp);
		l->knock[0] = '\0';
		load_fail(l, "cannot create .attach_pid in its /tmp", err);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)l->pid);
	cwd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (knock_is_taken(l, tmp) <= 0)
		load_fail(l,
		    "it would ignore .attach_pid in its /tmp, which is "
		    "another user's: remove it, or run tailor as its user",
		    0);
	else if (cwd < 0 || knock_is_taken(l, cwd) == 0)
		load_fail(l,
		    "there is an .attach_pid of another user in its working "
		    "directory: remove it",
		    0);
	close(tmp);
	if (cwd >= 0)
		close(cwd);
	return l->state != LOAD_FAILED;
}

/* Have the JVM open its socket. */
static void
load_knock(struct load *l)
{
	if (l->knocked == l->pid)
		return; /* the JVM may still handle the signal */
	if (!handles_quit(l->pid))
		load_fail(l, "it does not handle SIGQUIT (-Xrs?)", 0);
	else if (l->no_attach != NULL)
		load_fail(l, l->no_attach, 0);
	else if (l->java < 14 && proc_thread_named(l->pid, "Attach Listener"))
		load_fail(l,
		    "its socket was removed from /tmp, and it makes no other "
		    "one (before JDK 14)",
		    0);
	else if (knock_prepare(l)) {
		if (kill(l->pid, SIGQUIT) < 0)
			load_fail(l, "cannot signal it", errno);
		else
			l->knocked = l->pid;
	}
}

/* Make the request: "1", the command and its three arguments, each ended by a
 * zero byte. */
static void
load_want(struct load *l, const char *command, const char *a, const char *b,
    const char *c)
{
	int n = snprintf(l->request, sizeof(l->request), "1%c%s%c%s%c%s%c%s%c",
	    0, command, 0, a, 0, b, 0, c, 0);

	l->returns = l->map = false;
	l->request_bytes =
	    n > 0 && (size_t)n < sizeof(l->request) ? (size_t)n : 0;
}

static void
load_reach(struct load *l, pid_t pid, struct instant now)
{
	struct stat st;
	int tmp, err;

	load_close(l);
	l->pid = pid;
	l->length = 0;
	l->state = LOAD_CONNECT;
	l->deadline = instant_plus(now, LOAD_MAX_NS);
	snprintf(l->socket, sizeof(l->socket), ".java_pid%d",
	    (int)proc_inner_pid(pid));
	tmp = tmp_open(pid);
	err = tmp < 0 || fstatat(tmp, l->socket, &st, 0) < 0 ? errno : 0;
	if (tmp >= 0)
		close(tmp);
	if (tmp < 0 || (err != 0 && err != ENOENT))
		load_fail(l, "cannot look into its /tmp", err);
	else if (err == ENOENT)
		load_knock(l);
}

void
load_begin(struct load *l, pid_t pid, const char *library, const char *options,
    struct instant now)
{
	load_want(l, "load", library, "true", options);
	l->returns = true;
	if (sees(pid, library) && sees(pid, options)) {
		load_reach(l, pid, now);
		return;
	}
	l->pid = pid;
	load_fail(l,
	    "it does not see the agent's file, or the socket of channels "
	    "(another file system, as in a container)",
	    0);
}

void
load_flag(struct load *l, pid_t pid, const char *flag, const char *value,
    struct instant now)
{
	load_want(l, value != NULL ? "setflag" : "printflag", flag,
	    value != NULL ? value : "", "");
	load_reach(l, pid, now);
}

void
load_code_map(struct load *l, pid_t pid, struct instant now)
{
	load_want(l, "jcmd", "Compiler.perfmap", "", "");
	l->map = true;
	load_reach(l, pid, now);
}

bool
load_flag_value(const struct load *l, uint64_t *value)
{
	const char *at = strchr(l->reply, '=');
	char *end;

	if (l->state != LOAD_DONE || at == NULL || at[1] < '0' || at[1] > '9')
		return false;
	errno = 0;
	*value = strtoull(at + 1, &end, 10);
	return errno == 0 && *end == '\n';
}

/* Make a file for a user; false: failed, with errno. */
static bool
file_make(int directory, const char *name, uid_t user)
{
	int fd = openat(directory, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool made =
	    fd >= 0 && (user == geteuid() || fchown(fd, user, (gid_t)-1) == 0);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !made)
		unlinkat(directory, name, 0);
	return made;
}

/* Make sure that a file in the JVM's /tmp is a plain one of its user's, which
 * no other user can replace.  Returns why that fails, or NULL. */
static const char *
map_check(int tmp, const char *name, uid_t user)
{
	struct stat st;

	if (fstat(tmp, &st) < 0 || (st.st_uid != 0 && st.st_uid != user) ||
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
		(st.st_mode & S_ISVTX) == 0))
		return "others can replace files in its /tmp: chmod +t";
	if (fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && file_make(tmp, name, user)
			   ? NULL
			   : "cannot create perf-PID.map in its /tmp";
	return S_ISREG(st.st_mode) && st.st_uid == user && st.st_nlink == 1
		   ? NULL
		   : "perf-PID.map in its /tmp is a link, or another user's: "
		     "remove it";
}

/* Prepare the file of the map.  Returns as map_check. */
static const char *
map_prepare(pid_t pid)
{
	const char *why = "cannot look into its /tmp";
	int tmp = tmp_open(pid);
	char name[32];
	uid_t user;

	snprintf(name, sizeof(name), "perf-%d.map", (int)proc_inner_pid(pid));
	if (tmp >= 0 && proc_uid(pid, &user) == 0)
		why = map_check(tmp, name, user);
	if (tmp >= 0)
		close(tmp);
	return why;
}

static bool
load_ask(struct load *l)
{
	return l->request_bytes > 0 &&
	       send(l->fd, l->request, l->request_bytes, MSG_NOSIGNAL) ==
		   (ssize_t)l->request_bytes;
}

static void
load_connect(struct load *l)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int tmp = tmp_open(l->pid), fd, r, err;
	const char *why;

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", tmp,
	    l->socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = tmp < 0 || fd < 0
		? -1
		: connect(fd, (struct sockaddr *)(void *)&a, sizeof(a));
	err = r < 0 ? errno : 0;
	if (tmp >= 0)
		close(tmp);
	if (r < 0) {
		if (fd >= 0)
			close(fd);
		/* Left by a JVM that had its number; a new one removes it, but
		 * not one that does not attach.  Else: not yet. */
		if (err == ECONNREFUSED)
			load_knock(l);
		return;
	}
	l->fd = fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
	    peer.pid != l->pid)
		load_fail(l, "another process has its socket", 0);
	else if (l->map && (why = map_prepare(l->pid)) != NULL)
		load_fail(l, why, 0);
	else if (!load_ask(l))
		load_fail(l, "it does not take the request", errno);
	else
		l->state = LOAD_REPLY;
}

/* True if the reply is "0" and, if an agent was loaded, the agent returned
 * 0. */
static bool
is_good(const struct load *l)
{
	const char *code = strchr(l->reply, '\n');

	return l->length >= 2 && l->reply[0] == '0' && code == l->reply + 1 &&
	       (!l->returns ||
		   code[1 + strcspn(code + 1, "0123456789-")] == '0');
}

static void
load_reply(struct load *l)
{
	ssize_t n = recv(
	    l->fd, l->reply + l->length, sizeof(l->reply) - 1 - l->length, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		l->length += (size_t)n;
		if (l->length < sizeof(l->reply) - 1)
			return;
	}
	l->reply[l->length] = '\0';
	if (is_good(l)) {
		load_close(l);
		l->state = LOAD_DONE;
		return;
	}
	for (size_t i = 0; i < l->length; i++)
		if (l->reply[i] < ' ' || l->reply[i] > '~')
			l->reply[i] = ' ';
	load_fail(l, l->length > 0 ? l->reply : "it closed the socket", 0);
}

int64_t
load_turn(struct load *l, struct instant now)
{
	if (l->state == LOAD_CONNECT)
		load_connect(l);
	else if (l->state == LOAD_REPLY)
		load_reply(l);
	else
		return -1;
	if (l->state != LOAD_CONNECT && l->state != LOAD_REPLY)
		return -1;
	if (!instant_before(now, l->deadline)) {
		load_fail(l, "it does not answer within 10 s", 0);
		return -1;
	}
	return LOAD_PERIOD_NS;
}
