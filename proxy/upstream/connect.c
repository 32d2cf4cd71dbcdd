/* connect.c: making a connection to a server; only connection.c calls it.
 *
 * After a temporary failure (a full backlog, no free descriptor) a connection
 * is tried again until proxy.connect_timeout; connection.h describes how often,
 * and why only one per server at a time.  Proxy thread only. */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "proxy/net/socket.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/exchange.h"

#define AGAIN_NS NS_PER_MS /* doubled for each try, up to AGAIN_MAX_NS */
#define AGAIN_MAX_NS (64 * NS_PER_MS)

/* True if an error of connect() is temporary: a full backlog, or too few
 * descriptors, ports or memory on this machine. */
static bool
error_passes(int err)
{
	return err == EAGAIN || err == EMFILE || err == ENFILE ||
	       err == ENOBUFS || err == EADDRNOTAVAIL || err == EINTR;
}

/* Close an idle connection of the server that has most of them.  False: there
 * is none. */
static bool
idle_close_one(struct upstream *up)
{
	struct server *s = NULL;

	UPSTREAM_EACH(up, i)
	if (s == NULL || up->server[i].idle.count > s->idle.count)
		s = &up->server[i];
	if (s == NULL || s->idle.count == 0)
		return false;
	connection_close(TAILQ_LAST(&s->idle.list, connection_list));
	return true;
}

/* Returns err, or ECONNREFUSED if the socket is connected to itself, so that no
 * server listens.  A reset then leaves the port free for the server. */
static int
check_peer(int fd, int err)
{
	if (err != 0 || !socket_is_own_peer(fd))
		return err;
	socket_reset_on_close(fd);
	return ECONNREFUSED;
}

/* Make a socket and begin to connect it.  0: connected; EINPROGRESS: under way;
 * else the errno. */
static int
dial(struct connection *u)
{
	const struct config_address *a = &u->server->config->address;
	/* After a reload there may be no other address. */
	bool other = u->server->at_other && a->other.ss_family != AF_UNSPEC;
	const struct sockaddr_storage *to = other ? &a->other : &a->address;
	int one = 1;

	u->fd = socket(
	    to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (u->fd < 0)
		return errno;
	if (to->ss_family != AF_UNIX)
		setsockopt(u->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(u->fd, (const struct sockaddr *)to,
		other ? sizeof(*to) : a->length) == 0)
		return check_peer(u->fd, 0);
	return errno == EINPROGRESS ? check_peer(u->fd, socket_connected(u->fd))
				    : errno;
}

/* Switch to the other address of localhost, for this and later connections, if
 * no process listens at the first; once per connection.  True if done. */
static bool
turn(struct connection *u, int err)
{
	struct server *s = u->server;

	/* EADDRNOTAVAIL: there is no ::1, or no port of ours is left. */
	if ((err != ECONNREFUSED && err != EAFNOSUPPORT &&
		!(err == EADDRNOTAVAIL && s->at_other)) ||
	    u->turned || s->config->address.other.ss_family == AF_UNSPEC)
		return false;
	u->turned = true;
	s->at_other = !s->at_other;
	connection_shut(u);
	return true;
}

static void
established(struct connection *u)
{
	struct server *s = u->server;

	s->connects++;
	s->refusals = 0;
	distribution_record(
	    &s->connect_length, instant_since(instant_now(), u->opened));
	connection_move(u, CONNECTION_BUSY);
}

int
connect_try(struct connection *u)
{
	int err = dial(u);
	int64_t again_ns = AGAIN_NS << (u->tries < 6 ? u->tries : 6);

	if (turn(u, err))
		err = dial(u);
	if (u->turned && u->server->at_other &&
	    (err == EADDRNOTAVAIL || err == EAFNOSUPPORT)) {
		u->server->at_other = false; /* there is no IPv6 */
		err = ECONNREFUSED;
	}
	if (err != 0 && err != EINPROGRESS) {
		connection_shut(u);
		if (!error_passes(err))
			return err;
		if (err != EAGAIN && idle_close_one(u->upstream))
			return connect_try(u); /* a descriptor is free */
	}
	u->tries++;
	if (u->fd >= 0)
		connection_watch(u);
	if (err == 0) {
		established(u);
		return 0;
	}
	if (u->fd >= 0)
		connection_want_write(u, true);
	u->server->connects_again += u->tries > 1;
	timer_set_unsorted(&u->upstream->loop->timers, &u->timer, instant_now(),
	    again_ns < AGAIN_MAX_NS ? again_ns : AGAIN_MAX_NS);
	return 0;
}

/* The connection is established: start its exchange. */
static void
go_on(struct connection *u)
{
	unsigned serial = u->serial;

	if (u->limit_ns > 0)
		connection_arm(u, u->limit_ns);
	connection_want_read(u, true);
	if (u->ops != NULL && u->ops->connected != NULL)
		u->ops->connected(u);
	if (u->serial == serial)
		exchange_write(u);
}

/* Try to connect for an exchange; its callbacks get the result. */
static void
try_on(struct connection *u)
{
	if (connect_try(u) != 0)
		exchange_over(u, EXCHANGE_REFUSED, "refused");
	else if (u->state == CONNECTION_BUSY)
		go_on(u);
}

void
connect_next(void *user)
{
	struct server *s = user;
	struct connection *u;

	while (s->connecting.count == 0 &&
	       (u = TAILQ_FIRST(&s->waiting.list)) != NULL) {
		connection_move(u, CONNECTION_CONNECTING);
		try_on(u);
	}
}

void
connect_writable(struct connection *u)
{
	int err = check_peer(u->fd, socket_connected(u->fd));

	if (err == 0) {
		timer_clear(&u->upstream->loop->timers, &u->timer);
		established(u);
		go_on(u);
	} else if (err != EINPROGRESS && turn(u, err)) {
		try_on(u);
	} else if (err != EINPROGRESS) {
		exchange_over(u, EXCHANGE_REFUSED, "refused");
	}
}

void
connect_timer(struct connection *u, bool forced)
{
	connection_shut(u);
	if (forced) /* the socket cannot be watched: try later */
		timer_set_unsorted(&u->upstream->loop->timers, &u->timer,
		    instant_now(), AGAIN_MAX_NS);
	else if (instant_since(instant_now(), u->opened) >=
		 u->upstream->config->proxy.connect_timeout_ns)
		exchange_over(u, EXCHANGE_TIMEOUT, "connect_timeout");
	else
		try_on(u);
}
