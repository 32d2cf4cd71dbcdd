/* listeners.c: listening sockets opened, changed and closed.
 *
 * A reload opens new listeners before it closes old ones, so that a failed bind
 * changes nothing.  Before Tailor closes a socket of its own, it accepts the
 * connections in the backlog, because a close resets them. */
#include "proxy/client/listeners.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "base/log.h"
#include "proxy/client/arrival.h"
#include "proxy/client/client.h"
#include "proxy/client/delivery.h"

/* Remove a socket file on which no process listens any more.  0, also if there
 * is no file, or -errno: -EADDRINUSE if a process listens on it. */
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
	/* Non-blocking: a process that hangs may have a full backlog. */
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	if (connect(s, (const struct sockaddr *)&a->address, a->length) == 0 ||
	    errno != ECONNREFUSED)
		err = -EADDRINUSE;
	else if (unlink(un->sun_path) < 0)
		err = -errno;
	close(s);
	return err;
}

static int
bind_to(const struct sockaddr_storage *address, socklen_t length)
{
	int family = address->ss_family, one = 1, zero = 0, err;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, (const struct sockaddr *)address, length) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int
listener_bind(const struct config_address *a)
{
	int err = a->address.ss_family == AF_UNIX ? unix_clear(a) : 0;
	int fd;

	if (err < 0)
		return err;
	fd = bind_to(&a->address, a->length);
	if (fd == -EAFNOSUPPORT && a->other.ss_family != AF_UNSPEC)
		return bind_to(&a->other, sizeof(a->other));
	return fd;
}

static const char *
bind_advice(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "another program listens there: stop it (ss -ltnp or "
		       "ss -lxp shows it) or choose another address";
	case -EACCES:
	case -EROFS:
		return "not allowed: a port below 1024 needs "
		       "CAP_NET_BIND_SERVICE; a socket file needs a directory "
		       "to which Tailor's user may write";
	case -EPERM:
		return "the directory of the socket belongs to another user "
		       "or others may write to it: remove it, or choose "
		       "another path";
	case -EADDRNOTAVAIL:
		return "this machine has no such address";
	case -ENOENT:
		return "the directory of the socket does not exist: make it";
	case -EEXIST:
		return "there is a file that is not a socket: remove it or "
		       "choose another path";
	default:
		return "choose another address";
	}
}

void
listener_complain(const char *what, const char *address, int err)
{
	/* The admin listener can be switched off. */
	const char *else_what =
	    strcmp(what, "admin") == 0 ? ", or --admin '' for none" : "";

	log_event(LOG_LEVEL_ERROR, "listen_failed",
	    "what=%s address=\"%s\" error=\"%s\" advice=\"%s%s\"", what,
	    address, strerror(-err), bind_advice(err), else_what);
}

/* Port 0 becomes the port that the kernel chose. */
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

static bool
same(const struct listener *l, const struct config_address *a)
{
	return l->fd >= 0 && l->length == a->length &&
	       memcmp(&l->address, &a->address, a->length) == 0;
}

static struct listener *
listener_of(struct clients *all, const struct config_address *a)
{
	for (unsigned i = 0; i < LISTENERS; i++)
		if (same(&all->listener[i], a))
			return &all->listener[i];
	return NULL;
}

int
listener_open(
    struct clients *all, const struct config_address *a, struct listener **out)
{
	struct listener *l = all->listener;
	bool kept = false;
	int fd = activation_take(a, &kept), one = 1;
	bool taken = fd >= 0;

	if (!taken)
		fd = listener_bind(a);
	if (fd < 0)
		return fd;
	while (l->fd >= 0)
		l++;
	*l = (struct listener){.clients = all,
	    .fd = fd,
	    .address = a->address,
	    .length = a->length,
	    .inherited = taken && !kept,
	    .kept = kept,
	    .fresh = true,
	    .unix_socket = a->address.ss_family == AF_UNIX};
	/* Accepted sockets inherit this; a Unix socket refuses it. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	event_assign(&l->event, all->loop->base, fd, EV_READ | EV_PERSIST,
	    listener_accept, l);
	listener_name(fd, l->name, sizeof(l->name));
	arrival_check_queue(l, instant_now());
	*out = l;
	return 0;
}

/* Open a listener for clients of the service; the profiler watches its port. */
static int
service_listen(struct clients *all, const struct config_address *a)
{
	struct config_address bound = {.text = NULL};
	struct listener *l;
	int err = listener_open(all, a, &l), port;

	if (err < 0) {
		listener_complain("listen", a->text, err);
		return err;
	}
	bound.length = sizeof(bound.address);
	getsockname(l->fd, (struct sockaddr *)&bound.address, &bound.length);
	port = config_address_port(&bound);
	profiler_watch_port(all->profiler, port > 0 ? (uint16_t)port : 0);
	log_event(LOG_LEVEL_NOTICE, "listening", "address=%s inherited=%d",
	    l->name, listener_outlives(l));
	return 0;
}

bool
listener_outlives(const struct listener *l)
{
	return l->inherited || l->kept;
}

/* outlives: the service manager has the socket, too, and keeps it open. */
static void
listener_close(struct listener *l, bool outlives)
{
	if (l->fd < 0)
		return;
	event_del(&l->event);
	/* A forked child that has not exec'ed yet has the socket open, too:
	 * without shutdown() clients wait in its backlog. */
	if (!outlives)
		shutdown(l->fd, SHUT_RDWR);
	close(l->fd);
	l->fd = -1;
	if (l->unix_socket && !outlives)
		unlink(((const struct sockaddr_un *)(const void *)&l->address)
			   ->sun_path);
}

/* Watch a listener; if the kernel cannot, the next tick tries all again. */
static void
listener_watch(struct listener *l)
{
	if (event_add(&l->event, NULL) == 0)
		return;
	l->clients->loop->events_failed++;
	l->clients->accepting = ACCEPT_PAUSED;
	l->clients->accept_due = instant_now();
}

static bool
configured(const struct listener *l, const struct config *c)
{
	for (unsigned i = 0; i < c->listeners; i++)
		if (same(l, &c->listen[i]))
			return true;
	return false;
}

int
listeners_change(
    struct clients *all, const struct config *next, const char **failed)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && i < next->listeners; i++)
		if (listener_of(all, &next->listen[i]) == NULL) {
			*failed = next->listen[i].text;
			err = service_listen(all, &next->listen[i]);
		}
	for (unsigned i = 0; i < LISTENERS; i++) {
		struct listener *l = &all->listener[i];

		if (l->fd < 0)
			continue;
		if (err < 0 && l->fresh) {
			listener_close(l, l->inherited);
		} else if (err == 0 && !configured(l, next)) {
			listener_empty(l);
			listener_close(l, l->inherited);
			log_event(LOG_LEVEL_NOTICE, "listener_closed",
			    "address=%s", l->name);
		} else if (l->fresh && all->accepting == ACCEPT_ON) {
			listener_watch(l);
		}
		l->fresh = false;
	}
	return err;
}

void
listeners_pause(struct clients *all, bool pause)
{
	for (unsigned i = 0; i < LISTENERS; i++) {
		struct listener *l = &all->listener[i];

		if (l->fd < 0)
			continue;
		if (pause)
			event_del(&l->event);
		else
			listener_watch(l);
	}
}

void
listeners_close(struct clients *all, bool end)
{
	for (unsigned i = 0; i < LISTENERS; i++) {
		struct listener *l = &all->listener[i];
		bool outlives = listener_outlives(l);

		if (l->fd < 0 || (outlives && !end))
			continue;
		if (!outlives)
			listener_empty(l);
		listener_close(l, outlives);
	}
}

int
clients_init(struct clients *all)
{
	TAILQ_INIT(&all->open);
	TAILQ_INIT(&all->closed);
	TAILQ_INIT(&all->unused);
	TAILQ_INIT(&all->spare);
	delivery_init(all);
	for (unsigned i = 0; i < LISTENERS; i++)
		all->listener[i].fd = -1;
	return peer_table_init(&all->peers, all->config->proxy.connections_max);
}

void
clients_fini(struct clients *all)
{
	struct client *c;

	if (all->loop == NULL)
		return;
	for (unsigned i = 0; i < LISTENERS; i++)
		listener_close(
		    &all->listener[i], listener_outlives(&all->listener[i]));
	while ((c = TAILQ_FIRST(&all->open)) != NULL)
		client_close(c);
	delivery_fini(all);
	clients_reap(all);
	while ((c = TAILQ_FIRST(&all->unused)) != NULL) {
		TAILQ_REMOVE(&all->unused, c, link);
		free(c);
	}
	peer_table_fini(&all->peers);
}

void
clients_accept(struct clients *all)
{
	all->accepting = ACCEPT_ON;
	listeners_pause(all, false);
}

void
clients_tick(struct clients *all, struct instant now)
{
	if (all->accepting == ACCEPT_PAUSED &&
	    !instant_before(now, all->accept_due))
		clients_accept(all);
	if (all->metrics->connections == all->checked_connections ||
	    instant_since(now, all->checked) < NS_PER_S)
		return;
	all->checked = now;
	all->checked_connections = all->metrics->connections;
	for (unsigned i = 0; i < LISTENERS; i++)
		if (all->listener[i].fd >= 0)
			arrival_check_queue(&all->listener[i], now);
}
