/* inspect.c: asks the system for what a configuration names.
 *
 * For tailor -t and for reloads, which nothing is lost by refusing.  A start
 * does without what it can do without, and logs it. */
#include "daemon/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/topology.h"
#include "config/config.h"

/* --- users ---------------------------------------------------------------- */

int
inspect_user(const struct config *c, struct config_errors *errors)
{
	const char *wanted = c->process.user;
	const char *colon = strchr(wanted, ':');
	const struct passwd *user;
	char name[256];
	unsigned before = errors->count;

	if (*wanted == '\0')
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(wanted, ":"), wanted);
	user = getpwnam(name);
	if (user == NULL)
		config_errors_add(errors,
		    "process.user: there is no user %s; create it (useradd "
		    "--system %s), or correct the key",
		    name, name);
	else if (user->pw_uid == 0)
		config_errors_add(errors,
		    "process.user: cannot be root; name another user, or "
		    "leave the key out to stay root");
	else if (geteuid() != 0 && geteuid() != user->pw_uid)
		config_errors_add(errors,
		    "process.user: only root can become %s; start tailor as "
		    "root, or leave the key out",
		    name);
	if (colon != NULL && getgrnam(colon + 1) == NULL)
		config_errors_add(errors,
		    "process.user: there is no group %s; create it (groupadd "
		    "--system %s), or correct the key",
		    colon + 1, colon + 1);
	return errors->count == before ? 0 : -EINVAL;
}

/* --- CPUs ----------------------------------------------------------------- */

struct pinned {
	cpu_set_t set;
	int err;
};

static void *
pin(void *arg)
{
	struct pinned *p = arg;

	if (sched_setaffinity(0, sizeof(p->set), &p->set) < 0)
		p->err = -errno;
	return NULL;
}

int
inspect_cpus(const cpu_set_t *set)
{
	struct pinned tried = {.set = *set};
	pthread_t thread;
	int err;

	/* In a thread of its own, so that ours stays where it is. */
	err = pthread_create(&thread, NULL, pin, &tried);
	if (err != 0)
		return -err;
	pthread_join(thread, NULL);
	return tried.err;
}

static void
check_cpus(const char *key, const char *text, struct config_errors *errors)
{
	cpu_set_t set, ours;
	char have[128] = "?";
	int err;

	if (topology_parse_cpus(text, &set) < 0) /* auto, none, "" */
		return;
	err = inspect_cpus(&set);
	if (err < 0 && err != -EINVAL)
		config_errors_add(errors, "%s: no thread can be put on %s: %s",
		    key, text, strerror(-err));
	if (err != -EINVAL)
		return;
	if (sched_getaffinity(0, sizeof(ours), &ours) == 0)
		topology_format_cpus(&ours, have, sizeof(have));
	config_errors_add(errors,
	    "%s: this machine, or Tailor's cgroup, has no CPU %s; it runs on "
	    "%s: choose of these, or auto",
	    key, text, have);
}

/* --- files ---------------------------------------------------------------- */

/* 0 if a file may be run; or -errno, -ENOENT also for a directory. */
static int
runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* The value of PATH that a program is searched in. */
static const char *
search_path(const struct config_server *s)
{
	const char *ours = getenv("PATH");

	for (unsigned i = 0; i < s->envc; i++)
		if (strncmp(s->env[i], "PATH=", 5) == 0)
			return s->env[i] + 5;
	return ours != NULL ? ours : "/bin:/usr/bin";
}

/* As execvp() searches a name without a slash. */
static int
search(const char *name, const char *path)
{
	char one[PATH_MAX];
	int err = -ENOENT, now;

	while (err != 0 && *path != '\0') {
		size_t n = strcspn(path, ":");

		snprintf(one, sizeof(one), "%.*s/%s", (int)n, path, name);
		now = runnable(one);
		if (now == 0 || now == -EACCES)
			err = now;
		path += n + (path[n] == ':');
	}
	return err;
}

static void
check_program(
    const struct config_server *s, unsigned i, struct config_errors *errors)
{
	const char *name = s->argv[0], *path = search_path(s);
	bool inside = strchr(name, '/') != NULL;
	char full[PATH_MAX];
	int err;

	/* Relative to the directory that it starts in. */
	snprintf(full, sizeof(full), "%s%s%s",
	    inside && name[0] != '/' ? s->directory : "",
	    inside && name[0] != '/' && *s->directory != '\0' ? "/" : "", name);
	err = inside ? runnable(full) : search(name, path);
	if (err == -ENOENT && !inside)
		config_errors_add(errors,
		    "servers[%u].launch.command: no program %s in PATH (%s); "
		    "write its whole path, or set PATH in launch.environment",
		    i, name, path);
	else if (err < 0)
		config_errors_add(errors,
		    "servers[%u].launch.command: %s cannot be run: %s; "
		    "correct the path, or let Tailor's user execute it",
		    i, full, err == -EISDIR ? "not a file" : strerror(-err));
}

static void
check_directory(
    const struct config_server *s, unsigned i, struct config_errors *errors)
{
	struct stat st;
	int err = 0;

	if (*s->directory == '\0')
		return;
	if (stat(s->directory, &st) < 0)
		err = errno;
	else if (!S_ISDIR(st.st_mode))
		err = ENOTDIR;
	else if (faccessat(AT_FDCWD, s->directory, X_OK, AT_EACCESS) < 0)
		err = errno;
	if (err != 0)
		config_errors_add(errors,
		    "servers[%u].launch.directory: %s: %s; make it, and let "
		    "Tailor's user enter it",
		    i, s->directory, strerror(err));
}

/* Check a file that is appended to. */
static void
check_output(const char *key, const char *path, struct config_errors *errors)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	int err = 0;

	/* Those in /dev are ours already. */
	if (*path == '\0' || strncmp(path, "/dev/", 5) == 0)
		return;
	snprintf(directory, sizeof(directory), "%.*s",
	    slash == NULL ? 1 : (int)(slash - path + 1),
	    slash == NULL ? "." : path);
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
		err = errno;
	if (err == ENOENT)
		err =
		    faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0
			? errno
			: 0;
	if (err != 0)
		config_errors_add(errors,
		    "%s: %s: %s; make its directory, and let Tailor's user "
		    "write there",
		    key, path, strerror(err));
}

static void
check_probed(
    const struct config_server *s, unsigned i, struct config_errors *errors)
{
	if (*s->libjvm != '\0' &&
	    faccessat(AT_FDCWD, s->libjvm, R_OK, AT_EACCESS) < 0)
		config_errors_add(errors,
		    "servers[%u].jvm: usdt:%s: %s; name the libjvm.so, "
		    "libnode.so, node or python3 that the server runs",
		    i, s->libjvm, strerror(errno));
}

int
inspect_machine(const struct config *c, struct config_errors *errors)
{
	unsigned before = errors->count;
	char key[64];

	check_cpus("proxy.cpu", c->proxy.cpu, errors);
	check_cpus("profiler.cpu", c->profiler.cpu, errors);
	check_output("access_log.path", c->access_log.path, errors);
	for (unsigned i = 0; i < c->servers; i++) {
		const struct config_server *s = &c->server[i];

		check_probed(s, i, errors);
		if (s->argc == 0)
			continue;
		check_program(s, i, errors);
		check_directory(s, i, errors);
		snprintf(key, sizeof(key), "servers[%u].launch.cpus", i);
		check_cpus(key, s->cpus, errors);
		snprintf(key, sizeof(key), "servers[%u].launch.output", i);
		check_output(key, s->output, errors);
	}
	return errors->count == before ? 0 : -EINVAL;
}
