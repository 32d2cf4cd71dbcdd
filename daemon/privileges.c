/* privileges.c: gives up user, groups and capabilities.
 *
 * The process becomes the user before it starts a thread, because the bounding
 * set and no_new_privs belong to a thread and are inherited by the threads that
 * it creates.  So every file, socket and directory is opened with the user's
 * rights.  The remaining capabilities are given up when the ports are bound. */
#include "daemon/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/file.h"
#include "config/config.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* Capabilities that are kept until the ports are bound: for ports below 1024,
 * and for more descriptors.  None of them opens files. */
static const uint64_t for_the_start =
    BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_RESOURCE);

/* The user of process.user. */
static struct user {
	char name[256]; /* longer than any name */
	uid_t uid;
	gid_t gid;
	bool other; /* true: another user than ours */
} become;

static int
complain(const char *what, const char *name, int err)
{
	log_event(LOG_LEVEL_ERROR, "not_dropped",
	    "what=\"%s\" name=\"%s\" error=\"%s\" advice=\"start as root, or "
	    "as the user of process.user, or remove that key\"",
	    what, name, strerror(-err));
	return -ECANCELED; /* logged */
}

static int
complain_unknown(const char *what, const char *name)
{
	log_event(LOG_LEVEL_ERROR, "not_dropped",
	    "what=\"there is no such %s\" name=\"%s\" advice=\"create it, or "
	    "correct process.user\"",
	    what, name);
	return -ECANCELED; /* logged */
}

/* Find the user of process.user: "name", or "name:group" as in chown. */
static int
identity_find(const char *wanted, struct user *u)
{
	const char *colon = strchr(wanted, ':');
	const struct passwd *user;
	const struct group *group;

	snprintf(u->name, sizeof(u->name), "%.*s", (int)strcspn(wanted, ":"),
	    wanted);
	user = getpwnam(u->name);
	if (user == NULL)
		return complain_unknown("user", u->name);
	u->uid = user->pw_uid;
	u->gid = user->pw_gid;
	if (colon == NULL)
		return 0;
	group = getgrnam(colon + 1);
	if (group == NULL)
		return complain_unknown("group", colon + 1);
	u->gid = group->gr_gid;
	return 0;
}

static void
make_for(const char *path, const struct user *u)
{
	int err = *path != '\0' ? rundir_make_for(path, u->uid, u->gid) : 0;

	if (err < 0)
		log_event(LOG_LEVEL_WARNING, "not_made",
		    "path=\"%s\" error=\"%s\"", path, strerror(-err));
}

/* Make the directory of a file, for the user. */
static void
make_for_file(const char *path, const struct user *u)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];

	if (slash == NULL || (size_t)(slash - path) >= sizeof(directory))
		return;
	snprintf(
	    directory, sizeof(directory), "%.*s", (int)(slash - path), path);
	make_for(directory, u);
}

static void
make_for_socket(const struct config_address *a, const struct user *u)
{
	if (a->length > 0 && a->address.ss_family == AF_UNIX)
		make_for_file(
		    ((const struct sockaddr_un *)(const void *)&a->address)
			->sun_path,
		    u);
}

/* Make directories that only root can make, in /run for example. */
static void
make_directories(const struct config *c, const struct user *u)
{
	make_for_socket(&c->admin, u);
	make_for_socket(&c->metrics.listen, u);
	make_for_file(c->profiler.channel_socket, u);
	make_for(c->proxy.spool_directory, u);
	make_for(c->slow.store, u);
}

/* Drop the capabilities that an executed program could get back.  0 or
 * -errno. */
static int
bounding_clear(void)
{
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
			return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* Drop all capabilities but keep, in this thread and those that it creates. */
static int
capabilities_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* Change to the user, but keep root as the saved user: only then a later
 * setresuid(), which the C library does in every thread, ends all capabilities
 * of all threads. */
static int
identity_change(const struct user *u)
{
	if (initgroups(u->name, u->gid) < 0 ||
	    setresgid(u->gid, u->gid, u->gid) < 0 ||
	    setresuid(u->uid, u->uid, 0) < 0)
		return -errno;
	/* Without this, /proc/self belongs to root.  While root is the saved
	 * user, no other process may examine this one. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return capabilities_keep(for_the_start);
}

/* Refuse a configuration file that root can read but the user cannot: the next
 * reload would fail. */
static int
config_check_readable(const char *file, const struct user *u)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err = errno;
	struct stat st;

	if (fd >= 0)
		close(fd);
	/* A reload does not read a pipe again. */
	if (fd >= 0 || (stat(file, &st) == 0 && !S_ISREG(st.st_mode)))
		return 0;
	log_event(LOG_LEVEL_ERROR, "config_unreadable",
	    "path=\"%s\" user=%s error=\"%s\" advice=\"process.user=%s must "
	    "be able to read it, or a reload would fail: chgrp %u %s; "
	    "chmod g+r %s\"",
	    file, u->name, strerror(err), u->name, (unsigned)u->gid, file,
	    file);
	return -ECANCELED; /* logged */
}

/* Resource limits before our start, which launched programs get. */
static struct {
	int resource;
	struct rlimit before;
	bool known;
} limits[] = {{.resource = RLIMIT_CORE}, {.resource = RLIMIT_NOFILE},
    {.resource = RLIMIT_NICE}};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

void
privileges_core_off(const struct config *c)
{
	struct rlimit none;

	for (size_t i = 0; i < LIMITS; i++)
		limits[i].known =
		    getrlimit((__rlimit_resource_t)limits[i].resource,
			&limits[i].before) == 0;
	if (c->process.core_dumps || !limits[0].known)
		return;
	none = (struct rlimit){0, limits[0].before.rlim_max};
	setrlimit(RLIMIT_CORE, &none);
}

void
privileges_limits_restore(void)
{
	for (size_t i = 0; i < LIMITS; i++)
		if (limits[i].known)
			setrlimit((__rlimit_resource_t)limits[i].resource,
			    &limits[i].before);
}

int
privileges_find(const struct config *c)
{
	int err;

	if (*c->process.user == '\0')
		return 0;
	err = identity_find(c->process.user, &become);
	if (err < 0)
		return err;
	if (become.uid == 0)
		return complain("process.user cannot be root", "root", -EINVAL);
	become.other = geteuid() != become.uid || getegid() != become.gid;
	return 0;
}

int
privileges_become(const struct config *c, const char *file)
{
	int err;

	if (!become.other)
		return 0;
	err = bounding_clear();
	if (err == 0 && c != NULL)
		make_directories(c, &become);
	if (err == 0)
		err = identity_change(&become);
	if (err < 0)
		return complain("cannot become", become.name, err);
	return file != NULL ? config_check_readable(file, &become) : 0;
}

int
privileges_drop(void)
{
	uid_t uid = become.uid;

	/* A start may fail before privileges_become(). */
	if (!become.other || geteuid() != uid)
		return 0;
	if (setresuid(uid, uid, uid) < 0)
		return complain("cannot become", become.name, -errno);
	/* Check that the change is complete and cannot be undone. */
	if (setuid(0) == 0 || getuid() != uid || getegid() != become.gid)
		return complain("cannot become", become.name, -EPERM);
	become.other = false;
	log_event(LOG_LEVEL_NOTICE, "privileges_dropped",
	    "user=%s uid=%u gid=%u", become.name, (unsigned)uid,
	    (unsigned)become.gid);
	return 0;
}
