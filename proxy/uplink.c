/*
 * uplink.c: connections to the servers: opened, pooled, drained, closed.
 *
 * Each uplink is in the list of its state at its server; a closed one keeps
 * its memory for the next connection.  What travels on a connection is in
 * exchange.c.
 */
#include "proxy/exchange.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/compare.h"
#include "proxy/proxy.h"
#include "proxy/server.h"
#include "proxy/socket.h"

static void on_uplink_readable(evutil_socket_t fd, short what, void *user);
static void on_uplink_writable(evutil_socket_t fd, short what, void *user);
static void on_uplink_timer(void *user, bool forced);

#define CONNECT_AGAIN_NS NS_PER_MS /* doubled for each try, up to */
#define CONNECT_AGAIN_MAX_NS (64 * NS_PER_MS)
#define RECENT_NS NS_PER_S  /* no server closes what was used since */
#define STARVED_NS NS_PER_S /* after a sign of it nothing is kept */
#define CLOSES_EARLY_NS (300 * NS_PER_S) /* but one that lately did */

static struct uplink_list *
list_of(struct server *s, enum uplink_state state, unsigned **count)
{
	switch (state) {
	case UPLINK_WAITING:
		*count = &s->waiting_count;
		return &s->waiting;
	case UPLINK_CONNECTING:
		*count = &s->connecting_count;
		return &s->connecting;
	case UPLINK_BUSY:
		*count = &s->busy_count;
		return &s->busy;
	case UPLINK_DRAINING:
		*count = &s->draining_count;
		return &s->draining;
	case UPLINK_IDLE:
		*count = &s->idle_count;
		return &s->idle;
	}
	abort();
}

static void
uplink_enter(struct uplink *u, enum uplink_state state)
{
	unsigned *count;
	struct uplink_list *list = list_of(u->server, state, &count);

	u->state = state;
	if (state == UPLINK_WAITING)
		TAILQ_INSERT_TAIL(list, u, link);
	else
		TAILQ_INSERT_HEAD(list, u, link);
	++*count;
}

static void
uplink_leave(struct uplink *u)
{
	unsigned *count;
	struct uplink_list *list = list_of(u->server, u->state, &count);

	TAILQ_REMOVE(list, u, link);
	--*count;
}

static void
uplink_move(struct uplink *u, enum uplink_state state)
{
	uplink_leave(u);
	uplink_enter(u, state);
}

/* As of a client: if the kernel cannot watch the socket, its timer comes. */
static bool
watch(struct uplink *u, struct event *e)
{
	if (event_add(e, NULL) == 0)
		return true;
	u->proxy->metrics.events_failed++;
	timer_force(&u->proxy->timers, &u->timer);
	return false;
}

void
uplink_want_read(struct uplink *u, bool want)
{
	if (u->reading == want)
		return;
	if (!want)
		event_del(&u->readable);
	u->reading = want && watch(u, &u->readable);
}

void
uplink_want_write(struct uplink *u, bool want)
{
	if (u->writing == want)
		return;
	if (!want)
		event_del(&u->writable);
	u->writing = want && watch(u, &u->writable);
}

static void
uplink_forget_exchange(struct uplink *u)
{
	u->serial++;
	sending_drop_uplink(u);
	u->ops = NULL;
	u->user = NULL;
	u->limit_ns = 0;
	outgoing_fini(&u->out);
	u->sent_all = false;
	u->written_first = u->written_last = u->first_byte = INSTANT_NONE;
	u->scanned = 0;
	u->head_seen = u->wide = u->reads_on = false;
	block_give(&u->proxy->blocks, u->trailers);
	u->trailers = NULL;
	u->interims = 0;
	u->received_bytes = 0;
	u->drained_bytes = 0;
	u->loser_of = 0;
	u->raced = INSTANT_NONE;
	u->client_left = false;
	compare_leave(&u->compared);
}

static void
uplink_shut(struct uplink *u)
{
	uplink_want_read(u, false);
	uplink_want_write(u, false);
	timer_clear(&u->proxy->timers, &u->timer);
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
	u->cookie = 0;
}

/* Undo the connection and keep the struct for another. */
static void
uplink_discard(struct uplink *u)
{
	struct server *s = u->server;

	uplink_leave(u);
	uplink_shut(u);
	if (u->in != NULL)
		block_give(&u->proxy->blocks, u->in);
	u->in = NULL;
	uplink_forget_exchange(u);
	TAILQ_INSERT_HEAD(&s->unused, u, link);
}

/* What follows from a loser's end is carried out when the turn ends: we may
 * be in the middle of changing a request. */
static void
uplink_drained(struct server *s)
{
	s->proxy->actions |=
	    hedging_drain_end(&s->proxy->hedging, s->index, instant_now());
}

void
uplink_close(struct uplink *u)
{
	bool draining = u->state == UPLINK_DRAINING;
	struct server *s = u->server;

	uplink_discard(u);
	if (draining) {
		s->losers_closed++;
		uplink_drained(s);
	}
}

void
uplink_close_idle(struct server *server)
{
	struct uplink *u;

	while ((u = TAILQ_FIRST(&server->idle)) != NULL)
		uplink_close(u);
}

void
uplink_pool_fini(struct server *server)
{
	struct uplink *u;

	assert(TAILQ_EMPTY(&server->waiting) &&
	       TAILQ_EMPTY(&server->connecting) && TAILQ_EMPTY(&server->idle) &&
	       TAILQ_EMPTY(&server->busy) && TAILQ_EMPTY(&server->draining));
	while ((u = TAILQ_FIRST(&server->unused)) != NULL) {
		TAILQ_REMOVE(&server->unused, u, link);
		free(u);
	}
}

static void
uplink_arm(struct uplink *u, int64_t timeout_ns)
{
	timer_arm(&u->proxy->timers, &u->timer, timeout_ns);
}

bool
uplink_starves(const struct server *s, struct instant now)
{
	return instant_is_set(s->starved) &&
	       instant_since(now, s->starved) < STARVED_NS;
}

/* Back to the idle ones, or closed. */
static void
uplink_settle(struct uplink *u, enum uplink_end end)
{
	struct server *s = u->server;
	bool reuse = end == UPLINK_COMPLETE && u->keep_alive && u->sent_all &&
		     !s->proxy->stopping;
	uint64_t unread;

	if (end == UPLINK_COMPLETE)
		s->keeps_alive = u->keep_alive;
	if (reuse && uplink_starves(s, instant_now()))
		reuse = false;
	if (reuse && u->in != NULL && block_bytes(u->in) > 0) {
		/* Bytes behind a response are never the next response. */
		s->extra_bytes += block_bytes(u->in);
		reuse = false;
	}
	if (reuse && u->filled && (unread = socket_unread_bytes(u->fd)) > 0) {
		/* Nor are those that have not been read yet, which the next
		 * request on this connection would take for its own. */
		s->extra_bytes += unread;
		reuse = false;
	}
	if (!reuse) {
		uplink_discard(u);
		return;
	}
	if (u->in != NULL)
		block_give(&u->proxy->blocks, u->in);
	u->in = NULL;
	uplink_forget_exchange(u);
	u->rested = instant_now();
	uplink_move(u, UPLINK_IDLE);
	if (s->idle_count > s->config->connections_max)
		uplink_close(TAILQ_LAST(&s->idle, uplink_list));
	uplink_want_read(u, true);
	uplink_want_write(u, false);
	uplink_arm(u, s->proxy->config->proxy.upstream_idle_timeout_ns);
}

/* The exchange is over: release the connection, then tell the user. */
void
uplink_over(struct uplink *u, enum uplink_end end, const char *why)
{
	const struct uplink_ops *ops = u->ops;
	struct server *s = u->server;
	struct uplink_result result = {
	    .user = u->user,
	    .server = s,
	    .end = end,
	    .why = why,
	    .written = uplink_written(u),
	    .reused = u->exchanges > 1,
	    .written_first = u->written_first,
	};

	if (u->compared != NULL && end == UPLINK_COMPLETE)
		compare_whole(u->compared, u->side);
	if (u->state == UPLINK_DRAINING) {
		if (end == UPLINK_COMPLETE)
			s->losers_drained++;
		else
			s->losers_closed++;
		proxy_loser_done(u, end);
		uplink_settle(u, end);
		uplink_drained(s);
		return;
	}
	uplink_settle(u, end);
	if (ops != NULL && ops->end != NULL)
		ops->end(&result);
}

unsigned
uplink_cut_all(struct server *s, const char *why)
{
	unsigned n = 0, most = s->waiting_count + s->connecting_count +
			       s->busy_count + s->draining_count;
	struct uplink *u;

	/* What follows may begin another here, which is not waited for. */
	while (n < most && ((u = TAILQ_FIRST(&s->waiting)) != NULL ||
			       (u = TAILQ_FIRST(&s->connecting)) != NULL ||
			       (u = TAILQ_FIRST(&s->busy)) != NULL ||
			       (u = TAILQ_FIRST(&s->draining)) != NULL)) {
		uplink_over(u, UPLINK_TIMEOUT, why);
		n++;
	}
	return n;
}

/* Whether connect() failed for a reason that passes: a full backlog, or none
 * of ours left of what a socket needs. */
static bool
error_passes(int err)
{
	return err == EAGAIN || err == EMFILE || err == ENFILE ||
	       err == ENOBUFS || err == EADDRNOTAVAIL || err == EINTR;
}

/* Give up an idle connection, of the server that has more of them.  False:
 * there is none. */
static bool
idle_close_one(struct proxy *p)
{
	struct server *s = &p->server[0];

	if (p->config->servers > 1 && p->server[1].idle_count > s->idle_count)
		s = &p->server[1];
	if (s->idle_count == 0)
		return false;
	uplink_close(TAILQ_LAST(&s->idle, uplink_list));
	return true;
}

/* A new socket and the begin of its connection.  0: connected; otherwise an
 * errno, EINPROGRESS if it is under way. */
static int
uplink_connect(struct uplink *u)
{
	const struct config_address *a = &u->server->config->address;
	int one = 1;

	u->fd = socket(a->address.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (u->fd < 0)
		return errno;
	if (a->address.ss_family != AF_UNIX)
		setsockopt(u->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(u->fd, (const struct sockaddr *)&a->address, a->length) ==
	    0)
		return 0;
	return errno == EINPROGRESS ? socket_connected(u->fd) : errno;
}

static void
uplink_connected(struct uplink *u)
{
	struct server *s = u->server;

	s->connects++;
	s->refusals = 0;
	distribution_record(
	    &s->connect_length, instant_since(instant_now(), u->opened));
	uplink_move(u, UPLINK_BUSY);
}

/* Try to connect, once.  0: connected, or to be tried again; else the errno
 * with which it was refused. */
static int
uplink_try(struct uplink *u)
{
	int err = uplink_connect(u);
	int64_t again_ns = CONNECT_AGAIN_NS << (u->tries < 6 ? u->tries : 6);

	if (err != 0 && err != EINPROGRESS) {
		uplink_shut(u);
		if (!error_passes(err))
			return err;
		if (err != EAGAIN && idle_close_one(u->proxy))
			return uplink_try(u); /* with what that one had */
	}
	u->tries++;
	if (u->fd >= 0) {
		u->cookie = socket_cookie(u->fd);
		event_assign(&u->readable, u->proxy->base, u->fd,
		    EV_READ | EV_PERSIST, on_uplink_readable, u);
		event_assign(&u->writable, u->proxy->base, u->fd,
		    EV_WRITE | EV_PERSIST, on_uplink_writable, u);
	}
	if (err == 0) {
		uplink_connected(u);
		return 0;
	}
	if (u->fd >= 0)
		uplink_want_write(u, true);
	u->server->connects_again += u->tries > 1;
	timer_set_odd(&u->proxy->timers, &u->timer, instant_now(),
	    again_ns < CONNECT_AGAIN_MAX_NS ? again_ns : CONNECT_AGAIN_MAX_NS);
	return 0;
}

/* It is connected: do what waited for that. */
static void
uplink_go(struct uplink *u)
{
	unsigned serial = u->serial;

	if (u->limit_ns > 0)
		uplink_arm(u, u->limit_ns);
	uplink_want_read(u, true);
	if (u->ops != NULL && u->ops->connected != NULL)
		u->ops->connected(u);
	if (u->serial == serial)
		exchange_write(u);
}

/* Try, with the user waiting for what comes of it. */
static void
uplink_try_on(struct uplink *u)
{
	if (uplink_try(u) != 0)
		uplink_over(u, UPLINK_REFUSED, "refused");
	else if (u->state == UPLINK_BUSY)
		uplink_go(u);
}

void
uplink_turns(struct server *s)
{
	struct uplink *u;

	while (s->connecting_count == 0 &&
	       (u = TAILQ_FIRST(&s->waiting)) != NULL) {
		uplink_move(u, UPLINK_CONNECTING);
		uplink_try_on(u);
	}
}

/* Whether neither a byte nor the end has arrived on an idle connection. */
static bool
is_quiet(const struct uplink *u)
{
	char byte;

	return recv(u->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN;
}

/* Whether a server closes connections that were hardly idle. */
static bool
closes_early(const struct server *s, struct instant now)
{
	return instant_is_set(s->closed_early) &&
	       instant_since(now, s->closed_early) < CLOSES_EARLY_NS;
}

static bool
is_proven(const struct uplink *u, struct instant now)
{
	struct instant soon = u->server->closed_soon;

	/* A pause that nothing announces makes a rest longer than it looks. */
	return instant_since(now, u->rested) < RECENT_NS &&
	       !closes_early(u->server, now) &&
	       (!instant_is_set(soon) ||
		   instant_since(now, soon) >= CLOSES_EARLY_NS);
}

/* The idle connection to be used next, or NULL. */
static struct uplink *
idle_pick(struct server *s, enum uplink_reuse reuse)
{
	struct instant now = instant_now();
	struct uplink *u = NULL;

	while (
	    reuse != UPLINK_REUSE_NONE && (u = TAILQ_FIRST(&s->idle)) != NULL) {
		if (reuse == UPLINK_REUSE_ANY && !closes_early(s, now))
			return u;
		if (reuse == UPLINK_REUSE_PROVEN && !is_proven(u, now))
			return NULL; /* the others have rested longer */
		if (is_quiet(u))
			return u;
		s->extra_bytes += socket_unread_bytes(u->fd);
		if (instant_since(now, u->rested) < RECENT_NS)
			s->closed_early = now;
		uplink_close(u);
	}
	return NULL;
}

static struct uplink *
unused_take(struct server *s)
{
	struct uplink *u = TAILQ_FIRST(&s->unused);

	if (u != NULL) {
		TAILQ_REMOVE(&s->unused, u, link);
		return u;
	}
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->proxy = s->proxy;
	u->server = s;
	u->fd = -1;
	timer_init(&u->timer, on_uplink_timer, u);
	s->uplinks++;
	return u;
}

int
uplink_get(struct server *server, const struct uplink_ops *ops, void *user,
    enum uplink_reuse reuse, struct uplink **out)
{
	struct uplink *u = idle_pick(server, reuse);
	int err;

	if (u != NULL) {
		uplink_move(u, UPLINK_BUSY);
		timer_clear(&u->proxy->timers, &u->timer);
		server->reuses++;
	} else {
		bool waits =
		    server->connecting_count > 0 || server->waiting_count > 0;

		u = unused_take(server);
		if (u == NULL)
			return -ENOMEM;
		/* In place of the one that would not do: a server may have a
		 * worker for each connection, and few of them. */
		if (reuse == UPLINK_REUSE_PROVEN && server->idle_count > 0)
			uplink_close(TAILQ_FIRST(&server->idle));
		u->opened = instant_now();
		u->tries = 0;
		u->exchanges = 0;
		uplink_enter(u, waits ? UPLINK_WAITING : UPLINK_CONNECTING);
		err = waits ? 0 : uplink_try(u);
		if (err != 0) {
			uplink_discard(u);
			return -err;
		}
	}
	u->ops = ops;
	u->user = user;
	*out = u;
	return 0;
}

void
uplink_limit(struct uplink *u, int64_t limit_ns)
{
	u->limit_ns = limit_ns;
	if (u->state == UPLINK_BUSY)
		uplink_arm(u, limit_ns);
}

void
uplink_compare(struct uplink *u, struct comparison *with, unsigned side)
{
	u->compared = compare_join(with, side);
	u->side = side;
}

void
uplink_pause(struct uplink *u)
{
	uplink_want_read(u, false);
}

void
uplink_resume(struct uplink *u)
{
	if (u->state == UPLINK_BUSY || u->state == UPLINK_DRAINING)
		uplink_want_read(u, true);
}

void
uplink_detach(struct uplink *u, uint64_t request_id, bool client_left)
{
	struct server *s = u->server;
	const struct config *c = u->proxy->config;
	bool drain = s->config->loser != CONFIG_LOSER_CLOSE;

	u->ops = NULL;
	u->user = NULL;
	if (!uplink_written(u) || !drain || c->hedging.drain_connections == 0 ||
	    (!u->sent_all && !outgoing_keep_rest(&u->out))) {
		/* Never written: free to cancel.  Half written and long, or
		 * not to be drained: the connection is of no more use. */
		if (uplink_written(u))
			s->losers_closed++;
		uplink_discard(u);
		return;
	}
	if (u->sent_all)
		u->out = (struct outgoing){.sent_bytes = u->out.sent_bytes};
	if (s->draining_count >= c->hedging.drain_connections)
		uplink_close(TAILQ_LAST(&s->draining, uplink_list));
	if (s->config->loser == CONFIG_LOSER_HALF_CLOSE && u->sent_all)
		shutdown(u->fd, SHUT_WR);
	u->loser_of = request_id;
	u->raced = instant_now();
	u->client_left = client_left;
	uplink_move(u, UPLINK_DRAINING);
	hedging_drain_begin(&u->proxy->hedging, s->index);
	uplink_want_read(u, true);
	uplink_arm(u, c->hedging.drain_timeout_ns);
}

static void
on_uplink_readable(evutil_socket_t fd, short what, void *user)
{
	struct uplink *u = user;

	(void)fd;
	(void)what;
	exchange_read(u);
	sending_bound(u->proxy);
}

static void
on_uplink_writable(evutil_socket_t fd, short what, void *user)
{
	struct uplink *u = user;
	int err;

	(void)what;
	if (u->state != UPLINK_CONNECTING) {
		exchange_write(u);
		return;
	}
	err = socket_connected(fd);
	if (err == EINPROGRESS)
		return;
	if (err != 0) {
		uplink_over(u, UPLINK_REFUSED, "refused");
		return;
	}
	timer_clear(&u->proxy->timers, &u->timer);
	uplink_connected(u);
	uplink_go(u);
}

static void
on_uplink_timer(void *user, bool forced)
{
	struct uplink *u = user;

	switch (u->state) {
	case UPLINK_WAITING:
		break;
	case UPLINK_CONNECTING:
		uplink_shut(u);
		if (forced) { /* the kernel cannot watch it: not at once */
			timer_set_odd(&u->proxy->timers, &u->timer,
			    instant_now(), CONNECT_AGAIN_MAX_NS);
			break;
		}
		if (instant_since(instant_now(), u->opened) >=
		    u->proxy->config->proxy.connect_timeout_ns)
			uplink_over(u, UPLINK_TIMEOUT, "connect_timeout");
		else
			uplink_try_on(u);
		break;
	case UPLINK_DRAINING:
		uplink_over(u, UPLINK_TIMEOUT, "drain_timeout");
		break;
	case UPLINK_IDLE:
		uplink_close(u);
		break;
	case UPLINK_BUSY:
		if (forced) /* see watch() */
			exchange_lost(u, false, "no_event");
		else
			uplink_over(u, UPLINK_TIMEOUT, "no_answer");
		break;
	}
}
