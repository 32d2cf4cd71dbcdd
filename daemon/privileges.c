/* privileges.c: user, groups and capabilities given up in an order that works.
 *
 * Identity belongs to the process (the C library changes every thread), but
 * bounding set and no_new_privs belong to a thread.  They matter when a
 * program is executed, and only the proxy thread, the caller, does that. */
#include "daemon/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/file.h"
#include "config/config.h"

#define USER_NAME_MAX 256 /* more than any has */

static int
complain(const char *what, const char *name, int err)
{
	log_event(LOG_LEVEL_ERROR, "not_dropped",
	    "what=\"%s\" name=\"%s\" error=\"%s\" advice=\"start as root, or "
	    "as the user of process.user, or remove that key\"",
	    what, name, strerror(-err));
	return err;
}

static int
complain_unknown(const char *what, const char *name)
{
	log_event(LOG_LEVEL_ERROR, "not_dropped",
	    "what=\"there is no such %s\" name=\"%s\" advice=\"create it, or "
	    "correct process.user\"",
	    what, name);
	return -ECANCELED; /* this line says all */
}

/* process.user: "name", or as chown has it "name:group". */
static int
identity_find(
    const char *wanted, char name[USER_NAME_MAX], uid_t *uid, gid_t *gid)
{
	const char *colon = strchr(wanted, ':');
	const struct passwd *user;
	const struct group *group;

	snprintf(
	    name, USER_NAME_MAX, "%.*s", (int)strcspn(wanted, ":"), wanted);
	user = getpwnam(name);
	if (user == NULL)
		return complain_unknown("user", name);
	*uid = user->pw_uid;
	*gid = user->pw_gid;
	if (colon == NULL)
		return 0;
	group = getgrnam(colon + 1);
	if (group == NULL)
		return complain_unknown("group", colon + 1);
	*gid = group->gr_gid;
	return 0;
}

static void
give(const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	/* Devices (/dev/stdout) and links are not ours to give. */
	if (path == NULL || *path != '/' || lstat(path, &st) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return;
	if (lchown(path, uid, gid) < 0)
		log_event(LOG_LEVEL_WARNING, "not_given",
		    "path=\"%s\" error=\"%s\"", path, strerror(errno));
}

static void
give_socket(const struct config_address *a, uid_t uid, gid_t gid)
{
	if (a->length > 0 && a->address.ss_family == AF_UNIX)
		give(((const struct sockaddr_un *)(const void *)&a->address)
			 ->sun_path,
		    uid, gid);
}

static void
give_files(const struct config *c, uid_t uid, gid_t gid)
{
	rundir_give(uid, gid);
	for (unsigned i = 0; i < c->listeners; i++)
		give_socket(&c->listen[i], uid, gid);
	give_socket(&c->admin, uid, gid);
	give_socket(&c->metrics.listen, uid, gid);
	give(c->profiler.channel_socket, uid, gid);
	give(c->profiler.stream, uid, gid);
	give(c->access_log.path, uid, gid);
}

/* What an executed program could get back. */
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

static int
identity_change(const char *name, uid_t uid, gid_t gid)
{
	if (initgroups(name, gid) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -errno;
	/* A kernel that let us go half-way would let us go back. */
	if (setuid(0) == 0 || getuid() != uid || getegid() != gid)
		return -EPERM;
	/* So that /proc/self is ours, as for any process of the user. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return 0;
}

static struct rlimit core_before = {RLIM_INFINITY, RLIM_INFINITY};
static bool core_changed;

void
privileges_core_off(const struct config *c)
{
	struct rlimit none;

	if (c->process.core_dumps || getrlimit(RLIMIT_CORE, &core_before) < 0)
		return;
	none = (struct rlimit){0, core_before.rlim_max};
	core_changed = setrlimit(RLIMIT_CORE, &none) == 0;
}

void
privileges_core_restore(void)
{
	if (core_changed)
		setrlimit(RLIMIT_CORE, &core_before);
}

uid_t
privileges_user(const struct config *c)
{
	const char *wanted = c->process.user;
	char name[USER_NAME_MAX];
	const struct passwd *user;

	snprintf(
	    name, USER_NAME_MAX, "%.*s", (int)strcspn(wanted, ":"), wanted);
	user = *name != '\0' ? getpwnam(name) : NULL;
	return user != NULL ? user->pw_uid : geteuid();
}

int
privileges_drop(const struct config *c)
{
	char name[USER_NAME_MAX];
	uid_t uid = 0;
	gid_t gid = 0;
	int err;

	if (*c->process.user == '\0')
		return 0;
	err = identity_find(c->process.user, name, &uid, &gid);
	if (err < 0)
		return err;
	if (geteuid() == uid && getegid() == gid && uid != 0)
		return 0;
	if (uid == 0)
		return complain("process.user cannot be root", "root", -EINVAL);
	/* Only root may make it where it is by default. */
	if (*c->proxy.spool_directory != '\0')
		rundir_make(c->proxy.spool_directory, 0700);
	give_files(c, uid, gid);
	err = bounding_clear();
	if (err == 0)
		err = identity_change(name, uid, gid);
	if (err < 0)
		return complain("cannot become", name, err);
	log_event(LOG_LEVEL_NOTICE, "privileges_dropped",
	    "user=%s uid=%u gid=%u", name, (unsigned)uid, (unsigned)gid);
	return 0;
}
