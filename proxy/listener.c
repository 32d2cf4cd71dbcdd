/*
 * listener.c: accepting clients.
 *
 * Out of descriptors, accepting pauses for a tenth of a second rather than
 * spinning on the readable listener; the clients wait in the kernel's queue.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/client.h"
#include "proxy/listening.h"
#include "proxy/proxy.h"

#define ACCEPT_BATCH 64
#define ACCEPT_PAUSE_NS (100 * NS_PER_MS)

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
	if (p->client_count >= p->connections_max) {
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
	listeners_pause(p, false);
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
	listeners_pause(p, true);
	event_base_once(p->base, -1, EV_TIMEOUT, on_accept_again, p, &pause);
}

void
listener_accept(evutil_socket_t fd, short what, void *user)
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
