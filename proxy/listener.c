/*
 * listener.c: accepting clients.
 *
 * Out of descriptors, accepting pauses for a tenth of a second rather than
 * spinning on the readable listener; the clients wait in the kernel's queue.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/client.h"
#include "proxy/proxy.h"

#define ACCEPT_BATCH 64
#define ACCEPT_PAUSE_NS (100 * NS_PER_MS)
#define LISTEN_BACKLOG 4096

/* Whether an address lies in one of the networks. */
static bool
network_holds(const struct config_network *networks, unsigned n,
    const struct sockaddr_storage *address)
{
	const uint8_t *bytes;
	int family = address->ss_family;

	if (family == AF_INET6) {
		const struct sockaddr_in6 *a6 = (const void *)address;

		bytes = a6->sin6_addr.s6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&a6->sin6_addr)) {
			bytes += 12;
			family = AF_INET;
		}
	} else if (family == AF_INET) {
		bytes = (const void *)&(
		    (const struct sockaddr_in *)(const void *)address)
			    ->sin_addr;
	} else {
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned whole = networks[i].bits / 8;
		unsigned rest = networks[i].bits % 8;
		uint8_t mask = (uint8_t)(0xff00 >> rest);

		if (networks[i].family != family ||
		    memcmp(networks[i].address, bytes, whole) != 0)
			continue;
		if (rest == 0 ||
		    ((networks[i].address[whole] ^ bytes[whole]) & mask) == 0)
			return true;
	}
	return false;
}

static void
peer_describe(const struct proxy *p, const struct sockaddr_storage *address,
    struct client_peer *out)
{
	const struct config *c = p->config;
	const void *bytes = NULL;

	memset(out, 0, sizeof(*out));
	if (address->ss_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)address)
			     ->sin_addr;
	else if (address->ss_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)address)
			     ->sin6_addr;
	if (bytes == NULL) {
		/* A peer on this machine, let in by the socket's mode. */
		snprintf(out->address, sizeof(out->address), "unix");
		out->tale_allowed = true;
		return;
	}
	inet_ntop(
	    address->ss_family, bytes, out->address, sizeof(out->address));
	if (strncmp(out->address, "::ffff:", 7) == 0)
		memmove(out->address, out->address + 7,
		    strlen(out->address + 7) + 1);
	out->trusted =
	    network_holds(c->proxy.trust, c->proxy.networks, address);
	out->tale_allowed =
	    network_holds(c->talechain.allow, c->talechain.networks, address);
}

/* O(clients), and only where the limit is configured. */
static bool
address_full(const struct proxy *p, const char *address)
{
	unsigned max = p->config->proxy.connections_per_address_max, n = 0;
	const struct client *c;

	if (max == 0)
		return false;
	TAILQ_FOREACH(c, &p->clients, link)
	if (strcmp(c->address, address) == 0 && ++n >= max)
		return true;
	return false;
}

static void
accept_one(struct listener *l, int fd, const struct sockaddr_storage *address)
{
	struct proxy *p = l->proxy;
	struct client_peer peer;
	int one = 1;

	peer_describe(p, address, &peer);
	if (p->client_count >= p->config->proxy.connections_max) {
		p->metrics.rejected_limit++;
	} else if (address_full(p, peer.address)) {
		p->metrics.rejected_address++;
	} else {
		if (!l->unix_socket)
			setsockopt(
			    fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (client_open(p, fd, &peer) == 0)
			return;
		p->metrics.rejected_memory++;
	}
	close(fd);
}

static void
on_accept_again(evutil_socket_t fd, short what, void *user)
{
	struct proxy *p = user;

	(void)fd;
	(void)what;
	p->accept_paused = false;
	for (unsigned i = 0; i < p->listeners; i++)
		event_add(&p->listener[i].event, NULL);
}

static void
accept_pause(struct proxy *p, int err)
{
	struct timeval pause = {0, (int)(ACCEPT_PAUSE_NS / NS_PER_US)};

	p->metrics.rejected_descriptors++;
	if (p->accept_paused)
		return;
	log_event(LOG_LEVEL_ERROR, "accept_failed",
	    "error=\"%s\" clients=%u advice=\"raise the limit on open files "
	    "(ulimit -n) or lower proxy.connections_max\"",
	    strerror(err), p->client_count);
	p->accept_paused = true;
	for (unsigned i = 0; i < p->listeners; i++)
		event_del(&p->listener[i].event);
	event_base_once(p->base, -1, EV_TIMEOUT, on_accept_again, p, &pause);
}

static void
on_accept(evutil_socket_t fd, short what, void *user)
{
	struct listener *l = user;
	struct sockaddr_storage address;

	(void)what;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		socklen_t length = sizeof(address);
		int s;

		memset(&address, 0, sizeof(address));
		s = accept4(fd, (struct sockaddr *)&address, &length,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (s >= 0) {
			accept_one(l, s, &address);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS)
			accept_pause(l->proxy, errno);
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* A socket file left by a process that is gone may be replaced; one that
 * somebody listens on may not. */
static int
unix_clear(const struct config_address *a)
{
	const struct sockaddr_un *un = (const void *)&a->address;
	struct stat st;
	int s, err = 0;

	if (lstat(un->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	if (connect(s, (const struct sockaddr *)&a->address, a->length) == 0)
		err = -EADDRINUSE;
	else if (unlink(un->sun_path) < 0)
		err = -errno;
	close(s);
	return err;
}

int
listener_bind(const struct config_address *a)
{
	int family = a->address.ss_family, one = 1, zero = 0, fd, err;

	if (family == AF_UNIX) {
		err = unix_clear(a);
		if (err < 0)
			return err;
	}
	fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, (const struct sockaddr *)&a->address, a->length) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static const char *
bind_advice(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "another program listens there: stop it (ss -ltnp "
		       "shows it) or choose another listen address";
	case -EACCES:
		return "not allowed: ports below 1024 need "
		       "CAP_NET_BIND_SERVICE, a socket file a directory that "
		       "we may write to";
	case -EADDRNOTAVAIL:
		return "this machine has no such address";
	case -ENOENT:
		return "the directory of the socket does not exist: make it";
	case -EEXIST:
		return "there is a file that is not a socket: remove it or "
		       "choose another path";
	default:
		return "choose another listen address";
	}
}

void
listener_complain(const char *what, const char *address, int err)
{
	log_event(LOG_LEVEL_ERROR, "listen_failed",
	    "what=%s address=\"%s\" error=\"%s\" advice=\"%s\"", what, address,
	    strerror(-err), bind_advice(err));
}

/* The address as bound, with the port that the kernel chose for port 0. */
void
listener_name(int fd, char *out, size_t size)
{
	struct sockaddr_storage a = {0};
	socklen_t length = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "";

	getsockname(fd, (struct sockaddr *)&a, &length);
	if (a.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)&a;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(out, size, "%s:%u", host, ntohs(in->sin_port));
	} else if (a.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)&a;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(out, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_un *un = (const void *)&a;

		snprintf(out, size, "unix:%s", un->sun_path);
	}
}

int
listeners_open(struct proxy *p)
{
	const struct config *c = p->config;
	char name[160];

	for (unsigned i = 0; i < c->listeners; i++) {
		struct listener *l = &p->listener[i];
		int fd = listener_bind(&c->listen[i]);

		if (fd < 0) {
			listener_complain("listen", c->listen[i].text, fd);
			listeners_close(p);
			return fd;
		}
		l->proxy = p;
		l->fd = fd;
		l->unix_socket = c->listen[i].address.ss_family == AF_UNIX;
		event_assign(
		    &l->event, p->base, fd, EV_READ | EV_PERSIST, on_accept, l);
		event_add(&l->event, NULL);
		p->listeners++;
		listener_name(fd, name, sizeof(name));
		log_event(LOG_LEVEL_NOTICE, "listening", "address=%s", name);
	}
	return 0;
}

void
listeners_close(struct proxy *p)
{
	for (unsigned i = 0; i < p->listeners; i++) {
		const struct config_address *a = &p->config->listen[i];

		event_del(&p->listener[i].event);
		close(p->listener[i].fd);
		if (a->address.ss_family == AF_UNIX)
			unlink(((const struct sockaddr_un *)(const void *)&a
				    ->address)
				   ->sun_path);
	}
	p->listeners = 0;
}
