/* find.c: finds running tailors by their admin sockets, admin-NAME.sock.
 *
 * The default directories are /run/tailor, /run/tailor-USER (of
 * tailor@USER.service, or of process.user), and those of this user
 * (config/places.c).  A socket counts only if it accepts a connection: a file
 * may be left from a tailor that was killed, or be another user's; and in a
 * systemd unit, which sets $MAINPID, only if that process listens there. */
#include "tailorctl/admin_request.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/client/client.h"
#include "base/terminal.h"

#define PLACES 16
#define SOCKETS_MAX 1024
#define LEFT_SHOWN 32 /* sockets left by killed tailors, in a message */
#define PLACE_BYTES 96
#define NAME_BYTES 40
#define PREFIX "admin"
#define SUFFIX ".sock"

struct admin_socket {
	char path[PLACE_BYTES + NAME_BYTES + 16];
	char name[NAME_BYTES]; /* "" for admin.sock */
	int err;	       /* of connecting; 0: a Tailor runs there */
	dev_t device;
	ino_t inode;
};

/* The sockets in the default directories. */
struct search {
	unsigned places;
	char place[PLACES][PLACE_BYTES];
	int err[PLACES]; /* of reading it */
	unsigned sockets, running;
	struct admin_socket socket[SOCKETS_MAX];
};

/* Connect to a socket's path.  Returns the socket, -EINVAL (not a path of a
 * socket) or another negative errno. */
static int
connect_path(const char *path, struct instant deadline)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(to.sun_path))
		return -EINVAL;
	memcpy(to.sun_path, path, length + 1);
	return http_client_connect(
	    (const struct sockaddr *)&to, sizeof(to), deadline);
}

/* The same for "host:port" or "[v6]:port"; a name may stand for several
 * addresses: localhost for ::1 and 127.0.0.1. */
static int
connect_tcp(const char *text, struct instant deadline)
{
	struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found;
	const char *colon = strrchr(text, ':');
	char host[256];
	int fd = -EINVAL, length;

	if (colon == NULL || colon == text || colon - text >= 256)
		return -EINVAL;
	length = (int)(colon - text);
	if (text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	snprintf(host, sizeof(host), "%.*s", length, text);
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -EINVAL;
	for (const struct addrinfo *a = found; a != NULL && fd < 0;
	     a = a->ai_next)
		fd = http_client_connect(a->ai_addr, a->ai_addrlen, deadline);
	freeaddrinfo(found);
	return fd;
}

static struct instant
deadline_of(const struct ctl_options *o)
{
	return instant_plus(instant_now(), o->timeout_ns);
}

/* Get a tailor's name from its file: "admin-8080.sock" is 8080, "admin.sock"
 * has no name.  False: not an admin socket. */
static bool
name_of_file(const char *file, char out[NAME_BYTES])
{
	size_t n = strlen(file), before = strlen(PREFIX);
	size_t after = strlen(SUFFIX);

	if (n < before + after || strncmp(file, PREFIX, before) != 0 ||
	    strcmp(file + n - after, SUFFIX) != 0)
		return false;
	n -= before + after;
	out[0] = '\0';
	if (n == 0)
		return true;
	if (file[before] != '-' || n < 2 || n > NAME_BYTES)
		return false;
	snprintf(out, NAME_BYTES, "%.*s", (int)(n - 1), file + before + 1);
	return true;
}

/* Connect to a socket in a default directory.  /tmp is writable by all: a
 * socket of another user there is not used. */
static int
connect_found(const char *path, const struct ctl_options *o)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (strncmp(path, "/tmp/", 5) == 0 && st.st_uid != geteuid())
		return -EPERM;
	return connect_path(path, deadline_of(o));
}

/* True if the tailor of this unit listens at the other end, or if there is no
 * unit. */
static bool
is_of_unit(int fd)
{
	const char *pid = getenv("MAINPID");
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return pid == NULL ||
	       (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
		   peer.pid == atol(pid));
}

/* True if a socket is in the list, as two directories may be the same. */
static bool
seen(const struct search *s, const struct stat *st)
{
	for (unsigned i = 0; i < s->sockets; i++)
		if (s->socket[i].device == st->st_dev &&
		    s->socket[i].inode == st->st_ino)
			return true;
	return false;
}

static void
add_socket(struct search *s, const char *place, const char *file,
    const struct ctl_options *o)
{
	struct admin_socket *one = &s->socket[s->sockets];
	struct stat st;
	int fd;

	if (s->sockets == SOCKETS_MAX || !name_of_file(file, one->name))
		return;
	snprintf(one->path, sizeof(one->path), "%s/%.*s", place,
	    NAME_BYTES + 10, file);
	if (lstat(one->path, &st) < 0 || !S_ISSOCK(st.st_mode) || seen(s, &st))
		return;
	one->device = st.st_dev;
	one->inode = st.st_ino;
	fd = connect_found(one->path, o);
	one->err = fd < 0 ? fd : 0;
	/* A tailor of another unit is none that could be meant. */
	if (fd < 0 || is_of_unit(fd)) {
		s->running += fd >= 0;
		s->sockets++;
	}
	if (fd >= 0)
		close(fd);
}

/* True if a directory may be searched: another user may have made the one in
 * /tmp. */
static bool
may_look_into(DIR *d, const char *place)
{
	struct stat st;

	return strncmp(place, "/tmp/", 5) != 0 ||
	       (fstat(dirfd(d), &st) == 0 && st.st_uid == geteuid());
}

static int
search_place(struct search *s, const char *place, const struct ctl_options *o)
{
	DIR *d = opendir(place);
	const struct dirent *e;

	if (d == NULL)
		return -errno;
	if (!may_look_into(d, place)) {
		closedir(d);
		return -EPERM;
	}
	while ((e = readdir(d)) != NULL)
		add_socket(s, place, e->d_name, o);
	closedir(d);
	return 0;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct admin_socket *)a)->path,
	    ((const struct admin_socket *)b)->path);
}

/* Add /run/tailor-USER; no owner is checked, as only root writes to /run. */
static void
add_units(struct search *s)
{
	glob_t units;

	if (glob("/run/tailor-*", GLOB_ONLYDIR, NULL, &units) != 0)
		return;
	for (size_t i = 0; i < units.gl_pathc && s->places < PLACES - 3; i++)
		snprintf(s->place[s->places++], PLACE_BYTES, "%.90s",
		    units.gl_pathv[i]);
	globfree(&units);
}

/* Add this user's state directory: sockets are there if another user has the
 * directory in /tmp. */
static void
add_state(struct search *s)
{
	const char *session = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (session != NULL && session[0] == '/')
		snprintf(s->place[s->places++], PLACE_BYTES, "%.80s/tailor",
		    session);
	else if (home != NULL && home[0] == '/')
		snprintf(s->place[s->places++], PLACE_BYTES,
		    "%.70s/.local/state/tailor", home);
}

/* Find all admin sockets; the result is static, until the next call. */
static const struct search *
search(const struct ctl_options *o)
{
	static struct search all;
	struct search *s = &all;
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	s->places = s->sockets = s->running = 0;
	snprintf(s->place[s->places++], PLACE_BYTES, "/run/tailor");
	add_units(s);
	if (runtime != NULL && runtime[0] == '/')
		snprintf(s->place[s->places++], PLACE_BYTES, "%.80s/tailor",
		    runtime);
	snprintf(s->place[s->places++], PLACE_BYTES, "/tmp/tailor-%u",
	    (unsigned)geteuid());
	add_state(s);
	for (unsigned i = 0; i < s->places; i++) {
		char place[PLACE_BYTES];

		memcpy(place, s->place[i], sizeof(place));
		s->err[i] = search_place(s, place, o);
	}
	qsort(s->socket, s->sockets, sizeof(s->socket[0]), by_path);
	return s;
}

/* Return the --admin argument for a socket: its name, if unique, else its path.
 */
static const char *
handle_of(const struct search *s, const struct admin_socket *one)
{
	unsigned same = 0;

	for (unsigned i = 0; i < s->sockets; i++)
		same += s->socket[i].err == 0 &&
			strcmp(s->socket[i].name, one->name) == 0;
	return one->name[0] != '\0' && same == 1 ? one->name : one->path;
}

static void
list_running(const struct search *s)
{
	for (unsigned i = 0; i < s->sockets; i++)
		if (s->socket[i].err == 0)
			fprintf(stderr, "    --admin %s\n",
			    plain_cell(handle_of(s, &s->socket[i]), 66));
}

void
find_print_names(const struct ctl_options *options, const char *typed)
{
	const struct search *s = search(options);

	for (unsigned i = 0; i < s->sockets; i++)
		if (s->socket[i].err == 0)
			line_offer(plain_cell(handle_of(s, &s->socket[i]), 100),
			    typed);
}

static const char permission[] =
    "Run it as root, as tailor's user, or as a member of its group.\n";

/* If a name is a number, explain that it means the port for clients. */
static void
complain_port(const char *name)
{
	if (name != NULL && strspn(name, "0123456789") == strlen(name))
		fprintf(stderr,
		    "For an admin listener on TCP: -a 127.0.0.1:%s\n", name);
}

static void
complain_none(const struct search *s, const char *name)
{
	bool refused = false;

	fprintf(stderr, "tailorctl: no running tailor was found\n");
	for (unsigned i = 0; i < s->places; i++)
		fprintf(stderr, "    %s: %s\n", s->place[i],
		    s->err[i] < 0 ? strerror(-s->err[i])
				  : "no admin socket accepts a connection");
	for (unsigned i = 0; i < s->sockets && i < LEFT_SHOWN; i++)
		fprintf(stderr, "    %s: %s\n",
		    plain_cell(s->socket[i].path, sizeof(s->socket[i].path)),
		    strerror(-s->socket[i].err));
	for (unsigned i = 0; i < s->places; i++)
		refused |= s->err[i] == -EACCES;
	for (unsigned i = 0; i < s->sockets; i++)
		refused |= s->socket[i].err == -EACCES;
	if (refused)
		fputs(permission, stderr);
	if (getenv("MAINPID") != NULL)
		fprintf(stderr,
		    "No admin socket there belongs to process %s: set "
		    "TAILOR_ADMIN in its unit.\n",
		    plain_cell(getenv("MAINPID"), 10));
	fprintf(stderr,
	    "Start one, or give its admin socket: --admin or $TAILOR_ADMIN.\n");
	complain_port(name);
}

/* Connect to the only running tailor of that name, or of any (NULL). */
static int
connect_only(const char *name, const struct ctl_options *o)
{
	const struct search *s = search(o);
	const struct admin_socket *found = NULL;
	unsigned matches = 0;

	for (unsigned i = 0; i < s->sockets; i++) {
		if (s->socket[i].err < 0 ||
		    (name != NULL && strcmp(s->socket[i].name, name) != 0))
			continue;
		found = &s->socket[i];
		matches++;
	}
	if (matches == 1)
		return connect_found(found->path, o);
	if (s->running == 0) {
		complain_none(s, name);
		return -1;
	}
	if (matches == 0)
		fprintf(
		    stderr, "tailorctl: no tailor named \"%s\" runs; ", name);
	else
		fprintf(stderr, "tailorctl: %u tailors run; ", s->running);
	fprintf(stderr, "choose one:\n");
	list_running(s);
	if (matches == 0)
		complain_port(name);
	return -1;
}

static int
connect_address(const char *text, const struct ctl_options *o)
{
	int fd;

	if (strstr(text, "://") != NULL) {
		fprintf(stderr,
		    "tailorctl: \"%s\" is a URL;\n-a takes a tailor's name or "
		    "port, or its admin socket: a path or HOST:PORT\n",
		    text);
		return -1;
	}
	if (strncmp(text, "unix:", 5) == 0)
		fd = connect_path(text + 5, deadline_of(o));
	else if (strchr(text, '/') != NULL)
		fd = connect_path(text, deadline_of(o));
	else
		fd = connect_tcp(text, deadline_of(o));
	if (fd >= 0)
		return fd;
	if (fd == -EINVAL) {
		fprintf(stderr,
		    "tailorctl: \"%s\" is not a path, HOST:PORT or name\n",
		    text);
		return -1;
	}
	fprintf(
	    stderr, "tailorctl: no tailor at %s: %s\n", text, strerror(-fd));
	if (fd == -EACCES)
		fputs(permission, stderr);
	else
		fprintf(stderr, "Is it running? Without -a and $TAILOR_ADMIN, "
				"tailorctl uses the only tailor that runs.\n");
	return -1;
}

/* Return the name in text (":8080" or "8080"), or NULL for an address: text
 * with a host or a slash. */
static const char *
as_name(const char *text)
{
	if (text[0] == ':')
		text++;
	return strpbrk(text, "/:") == NULL ? text : NULL;
}

/* Return the text of an environment variable, or NULL if unset or "". */
static const char *
variable(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

int
find_tailor(const struct ctl_options *o)
{
	const char *address = variable("TAILOR_ADMIN");

	if (o->admin != NULL && as_name(o->admin) != NULL)
		return connect_only(as_name(o->admin), o);
	if (o->admin != NULL)
		return connect_address(o->admin, o);
	if (address != NULL)
		return connect_address(address, o);
	return connect_only(variable("TAILOR_INSTANCE"), o);
}

bool
find_any(const struct ctl_options *o)
{
	if (o->admin != NULL || variable("TAILOR_ADMIN") != NULL ||
	    variable("TAILOR_INSTANCE") != NULL)
		return true;
	return search(o)->running > 0;
}
