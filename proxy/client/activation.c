/* activation.c: listening sockets that systemd hands over (sd_listen_fds(3):
 * LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES): of a socket unit, or those that the
 * Tailor before this one opened and systemd kept (LISTENER_KEPT).
 *
 * Such a socket outlives the process: while Tailor restarts, connections
 * wait in its queue.  A socket is used for the configured address that it is
 * bound to; where none is configured, those of a socket unit named "admin" are
 * the admin listener and all others of it are for clients.  Main thread
 * only. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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
		int fd; /* owned; -1: given away */
		char name[64];
		char address[160];
	} socket[SOCKETS_MAX];
} inherited;

/* A listening stream socket, or it is none of ours to touch. */
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

	/* After the start their addresses are known by the sockets that
	 * activation_take has given away. */
	for (unsigned i = 0; i < inherited.count; i++) {
		const char *address = inherited.socket[i].address;

		/* Where it listened, not where it is to. */
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

static bool
is_any(const struct sockaddr_storage *a, in_port_t *port)
{
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)a;

		*port = in->sin_port;
		return in->sin_addr.s_addr == htonl(INADDR_ANY);
	}
	if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)a;

		*port = in6->sin6_port;
		return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
	}
	return false;
}

static bool
same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	in_port_t pa = 0, pb = 0;

	bool any = is_any(a, &pa), too = is_any(b, &pb);

	if (any && too)
		return pa == pb;
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_UNIX)
		return strncmp(((const struct sockaddr_un *)(const void *)a)
				   ->sun_path,
			   ((const struct sockaddr_un *)(const void *)b)
			       ->sun_path,
			   sizeof(((struct sockaddr_un *)0)->sun_path)) == 0;
	if (a->ss_family == AF_INET)
		return memcmp(a, b, offsetof(struct sockaddr_in, sin_zero)) ==
		       0;
	return pa == pb &&
	       memcmp(
		   &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		   &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
		   sizeof(struct in6_addr)) == 0;
}

int
activation_take(const struct config_address *a, bool *kept)
{
	for (unsigned i = 0; i < inherited.count; i++) {
		struct sockaddr_storage bound = {0};
		socklen_t length = sizeof(bound);
		int fd = inherited.socket[i].fd;

		if (fd < 0 ||
		    getsockname(fd, (struct sockaddr *)&bound, &length) < 0 ||
		    !same_address(&bound, &a->address))
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
