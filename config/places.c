/* places.c: where a tailor's files are by default: in places of the user that
 * it runs as, apart from those of other users' tailors and root's.
 *
 * Directories in /run and /var/lib are named after process.user, as those of
 * tailor@USER.service are.  A reload, after root has become that user, must
 * find the same places: so root_at_start() and is_foreign() keep their first
 * results. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/keys.h"

#define DIRECTORY_MAX 80 /* short enough for the addresses of sockets */

static bool
root_at_start(void)
{
	static int root = -1;

	if (root < 0)
		root = geteuid() == 0;
	return root != 0;
}

/* The user that root becomes, without its group; "": no other user. */
static const char *
user_of(const struct config *c, char out[64])
{
	const char *wanted = root_at_start() ? c->process.user : "";

	snprintf(out, 64, "%.*s", (int)strcspn(wanted, ":"), wanted);
	return out;
}

/* True if another user made the directory first; known keeps the result. */
static bool
is_foreign(const char *path, int *known)
{
	struct stat st;

	if (*known < 0)
		*known = lstat(path, &st) == 0 && st.st_uid != geteuid();
	return *known != 0;
}

/* Make a user's directory: below the service manager's, or else beside the
 * system's; that of root is beside it, too, if a unit's user has the system's.
 */
static void
root_directory(const char *service, const char *system, const char *user,
    int *known, char *out, size_t size)
{
	const char *mark = service != NULL ? "/" : "-";

	if (service == NULL && *user == '\0' && is_foreign(system, known))
		user = "root";
	snprintf(out, size, "%.*s%s%s",
	    service != NULL ? (int)strcspn(service, ":") : 90,
	    service != NULL ? service : system, *user != '\0' ? mark : "",
	    user);
}

/* The first directory in a variable that may list several with colons; or
 * NULL. */
static const char *
service_directory(const char *name, size_t max)
{
	const char *text = getenv(name);

	return text != NULL && text[0] == '/' && strcspn(text, ":") < max
		   ? text
		   : NULL;
}

/* {state}: a directory that survives a restart. */
static void
state_directory(const char *user, char *out, size_t size)
{
	const char *service = service_directory("STATE_DIRECTORY", size);
	const char *session = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	static int foreign = -1;

	if (service != NULL || root_at_start())
		root_directory(
		    service, "/var/lib/tailor", user, &foreign, out, size);
	else if (session != NULL && session[0] == '/')
		snprintf(out, size, "%s/tailor", session);
	else if (home != NULL && home[0] == '/')
		snprintf(out, size, "%s/.local/state/tailor", home);
	else
		snprintf(out, size, "/tmp/tailor-%u", (unsigned)geteuid());
}

/* {run}: a directory of sockets. */
static void
run_directory(const char *user, char *out, size_t size)
{
	const char *service =
	    service_directory("RUNTIME_DIRECTORY", DIRECTORY_MAX);
	const char *session = getenv("XDG_RUNTIME_DIR");
	static int foreign = -1;

	if (service != NULL || root_at_start()) {
		root_directory(
		    service, "/run/tailor", user, &foreign, out, size);
		return;
	}
	if (session != NULL && session[0] == '/' &&
	    strlen(session) < DIRECTORY_MAX - 8) {
		snprintf(out, size, "%s/tailor", session);
		return;
	}
	snprintf(out, size, "/tmp/tailor-%u", (unsigned)geteuid());
	if (is_foreign(out, &foreign))
		state_directory(user, out, size);
}

static void
user_mark(const char *user, char *out, size_t size)
{
	const struct passwd *pw = *user != '\0' ? getpwnam(user) : NULL;
	unsigned uid = (unsigned)(pw != NULL ? pw->pw_uid : geteuid());

	out[0] = '\0';
	if (uid != 0)
		snprintf(out, size, "-%u", uid);
}

bool
place_begins(const char *path)
{
	return strncmp(path, "{run}/", 6) == 0 ||
	       strncmp(path, "{state}/", 8) == 0;
}

bool
place_find(const struct config *c, const char *name, char *out, size_t size)
{
	char user[64];

	user_of(c, user);
	if (strncmp(name, "{instance}", 10) == 0)
		snprintf(out, size, "%s", c->instance);
	else if (strncmp(name, "{run}", 5) == 0)
		run_directory(user, out, size);
	else if (strncmp(name, "{state}", 7) == 0)
		state_directory(user, out, size);
	else if (strncmp(name, "{user}", 6) == 0)
		user_mark(user, out, size);
	else
		return false;
	return true;
}
