/* accept.c: accepting clients.
 *
 * Without free descriptors, accepting pauses for 100 ms: a listener that stays
 * readable makes the loop spin.  Clients wait in the backlog.
 *
 * A listener that was not readable in the turn before most likely has one
 * connection: a second accept4() would only find that. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/client/arrival.h"
#include "proxy/client/client.h"
#include "proxy/client/clients.h"
#include "proxy/client/listeners.h"

#define ACCEPT_BATCH 64
#define ACCEPT_PAUSE_NS (100 * NS_PER_MS)

/* True if a listener's connections begin with a PROXY header. */
static bool
awaits_proxy_header(const struct config *c, const struct listener *l)
{
	for (unsigned i = 0; i < c->listeners; i++)
		if (c->listen[i].length == l->length &&
		    memcmp(&c->listen[i].address, &l->address, l->length) == 0)
			return c->listen[i].proxied;
	return false;
}

static void
accept_one(struct listener *l, int fd, const struct sockaddr_storage *address)
{
	struct clients *all = l->clients;
	struct peer peer;
	bool proxy_header = awaits_proxy_header(all->config, l);
	int one = 1, err;

	peer_describe(all->config, address, &peer);
	/* A client that may request nothing here displaces no other. */
	if (all->count >= all->connections_max &&
	    ((all->known_only && !peer.tale_allowed) || !client_shed(all))) {
		all->metrics->rejected_limit++;
	} else if (proxy_header && !peer.trusted) {
		all->metrics->rejected_untrusted++;
	} else {
		/* Connections from before listener_open set it. */
		if (l->inherited && !l->unix_socket)
			setsockopt(
			    fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		err = client_open(l, fd, &peer, proxy_header);
		if (err == 0)
			return;
		all->metrics->rejected_memory += err == -ENOMEM;
	}
	close(fd);
}

static void
accept_pause(struct clients *all, int err)
{
	all->metrics->rejected_descriptors++;
	if (all->accepting == ACCEPT_PAUSED)
		return;
	log_event(LOG_LEVEL_ERROR, "accept_failed",
	    "error=\"%s\" clients=%u advice=\"raise the limit on open files "
	    "(ulimit -n) or lower proxy.connections_max\"",
	    strerror(err), all->count);
	all->accepting = ACCEPT_PAUSED;
	all->accept_due = instant_plus(instant_now(), ACCEPT_PAUSE_NS);
	listeners_pause(all, true);
}

/* Accept at most that many connections from the backlog. */
static void
accept_some(struct listener *l, unsigned most)
{
	struct sockaddr_storage address;

	for (unsigned i = 0; i < most; i++) {
		socklen_t length = sizeof(address);
		int s;

		memset(&address, 0, sizeof(address));
		s = accept4(l->fd, (struct sockaddr *)&address, &length,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (s >= 0) {
			l->queue.drained++;
			accept_one(l, s, &address);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS)
			accept_pause(l->clients, errno);
		if (errno == EAGAIN)
			arrival_queue_empty(l);
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

void
listener_accept(evutil_socket_t fd, short what, void *user)
{
	struct listener *l = user;
	uint64_t turn = l->clients->loop->turns;
	bool again = turn - l->turn <= 1;

	(void)fd;
	(void)what;
	if (!again)
		arrival_queue_empty(l);
	accept_some(l, again ? ACCEPT_BATCH : 1);
	l->turn = turn;
}

void
listener_empty(struct listener *l)
{
	/* Stop after twice the backlog, as new connections keep coming. */
	accept_some(l, 2 * LISTEN_BACKLOG);
}
