/* activation.c: listening sockets that systemd passes to Tailor
 * (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES).  They belong to a
 * socket unit, or an earlier Tailor process opened them and systemd kept them
 * (LISTENER_KEPT).
 *
 * Such a socket outlives the process: while Tailor restarts, connections wait
 * in its backlog.  A socket is used for the configured address that it is bound
 * to.  A socket of a unit that is named "admin" sets the admin address; the
 * unit's others are for clients, if no listen address is configured.  Main
 * thread only. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/client/listeners.h"

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */
#define SOCKETS_MAX 16

static struct {
	unsigned count;
	struct {
		int fd; /* owned; -1: taken by activation_take */
		char name[64];
		char address[160];
	} socket[SOCKETS_MAX];
} inherited;

/* True for a listening stream socket; others are left alone. */
static bool
usable(int fd)
{
	int type = 0, listens = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) ==
		   0 &&
	       listens;
}

static void
socket_add(int fd, const char *name, size_t length)
{
	unsigned i = inherited.count;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (!usable(fd)) {
		/* There is no log yet. */
		fprintf(stderr,
		    "tailor: systemd's socket \"%.*s\" is not used: it needs "
		    "ListenStream= and Accept=no\n",
		    (int)length, name);
		return;
	}
	if (i == SOCKETS_MAX)
		return;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	inherited.socket[i].fd = fd;
	snprintf(inherited.socket[i].name, sizeof(inherited.socket[i].name),
	    "%.*s", (int)length, name);
	listener_name(fd, inherited.socket[i].address,
	    sizeof(inherited.socket[i].address));
	inherited.count++;
}

static bool
was_kept(unsigned i)
{
	return strcmp(inherited.socket[i].name, LISTENER_KEPT) == 0;
}

void
activation_init(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	long n = fds != NULL ? strtol(fds, NULL, 10) : 0;

	if (pid != NULL && strtol(pid, NULL, 10) == (long)getpid()) {
		for (long i = 0; i < n && i < SOCKETS_MAX; i++) {
			size_t length = names != NULL ? strcspn(names, ":") : 0;

			socket_add(FIRST_FD + (int)i,
			    names != NULL ? names : "", length);
			if (names != NULL && names[length] == ':')
				names += length + 1;
			else
				names = NULL;
		}
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

int
activation_configure(struct config *c, struct config_errors *errors)
{
	char list[SOCKETS_MAX * 160] = "";
	size_t n = 0;

	/* This also runs after activation_take: the entries stay. */
	for (unsigned i = 0; i < inherited.count; i++) {
		const char *address = inherited.socket[i].address;

		/* The address of the earlier process, which may be outdated. */
		if (was_kept(i))
			continue;
		if (strcmp(inherited.socket[i].name, "admin") == 0) {
			if (config_set(c, "admin", address, errors) < 0)
				return -EINVAL;
			continue;
		}
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
		    n > 0 ? "," : "", address);
	}
	if (n == 0 || c->listeners > 0)
		return 0;
	return config_set(c, "listen", list, errors) < 0 ? -EINVAL : 0;
}

static const char *
path_of(const struct config_address *a)
{
	return ((const struct sockaddr_un *)(const void *)&a->address)
	    ->sun_path;
}

static bool
same_address(const struct config_address *a, const struct config_address *b)
{
	if (config_address_is_any(a) && config_address_is_any(b))
		return config_address_port(a) == config_address_port(b);
	if (a->address.ss_family != b->address.ss_family)
		return false;
	/* The kernel may omit the path's final zero byte. */
	if (a->address.ss_family == AF_UNIX)
		return strncmp(path_of(a), path_of(b),
			   sizeof(((struct sockaddr_un *)0)->sun_path)) == 0;
	return config_address_equal(a, b);
}

int
activation_take(const struct config_address *a, bool *kept)
{
	for (unsigned i = 0; i < inherited.count; i++) {
		struct config_address bound = {.length = sizeof(bound.address)};
		int fd = inherited.socket[i].fd;

		if (fd < 0 ||
		    getsockname(fd, (struct sockaddr *)&bound.address,
			&bound.length) < 0 ||
		    !same_address(&bound, a))
			continue;
		inherited.socket[i].fd = -1;
		*kept = was_kept(i);
		return fd;
	}
	return -ENOENT;
}

void
activation_fini(void)
{
	for (unsigned i = 0; i < inherited.count; i++) {
		if (inherited.socket[i].fd < 0)
			continue;
		if (was_kept(i))
			shutdown(inherited.socket[i].fd, SHUT_RDWR);
		else
			log_event(LOG_LEVEL_WARNING, "socket_unused",
			    "address=%s name=\"%s\" advice=\"systemd handed it "
			    "over, but no listen or admin address is the "
			    "same\"",
			    inherited.socket[i].address,
			    inherited.socket[i].name);
		close(inherited.socket[i].fd);
		inherited.socket[i].fd = -1;
	}
}
