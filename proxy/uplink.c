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

static struct uplink_list *
list_of(struct server *s, enum uplink_state state, unsigned **count)
{
	switch (state) {
	case UPLINK_CONNECTING:
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

/* Undo the connection and keep the struct for another. */
static void
uplink_discard(struct uplink *u)
{
	struct server *s = u->server;

	uplink_leave(u);
	uplink_want_read(u, false);
	uplink_want_write(u, false);
	timer_clear(&u->proxy->timers, &u->timer);
	close(u->fd);
	u->fd = -1;
	u->open = false;
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
	s->proxy->consequences |=
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

	assert(TAILQ_EMPTY(&server->idle) && TAILQ_EMPTY(&server->busy) &&
	       TAILQ_EMPTY(&server->draining));
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

/* Back to the idle ones, or closed. */
static void
uplink_settle(struct uplink *u, enum uplink_end end)
{
	struct server *s = u->server;
	bool reuse = end == UPLINK_COMPLETE && u->keep_alive && u->sent_all &&
		     !s->proxy->stopping;
	uint64_t unread;

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
	uplink_move(u, UPLINK_IDLE);
	uplink_want_read(u, true);
	uplink_want_write(u, false);
	uplink_arm(u, s->proxy->config->proxy.upstream_idle_timeout_ns);
}

void
uplink_release(struct uplink *u)
{
	u->keep_alive = u->sent_all = true;
	uplink_settle(u, UPLINK_COMPLETE);
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
uplink_cut_all(struct server *server, const char *why)
{
	unsigned most = server->busy_count + server->draining_count, n = 0;
	struct uplink *u;

	/* What follows may begin another here, which is not waited for. */
	while (n < most && ((u = TAILQ_FIRST(&server->busy)) != NULL ||
			       (u = TAILQ_FIRST(&server->draining)) != NULL)) {
		uplink_over(u, UPLINK_TIMEOUT, why);
		n++;
	}
	return n;
}

static int
uplink_open(struct uplink *u)
{
	const struct config_address *a = &u->server->config->address;
	int one = 1, err;

	u->fd = socket(a->address.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (u->fd < 0)
		return -errno;
	if (a->address.ss_family != AF_UNIX)
		setsockopt(u->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(u->fd, (const struct sockaddr *)&a->address, a->length) <
		0 &&
	    errno != EINPROGRESS) {
		err = -errno;
		close(u->fd);
		u->fd = -1;
		return err;
	}
	u->cookie = socket_cookie(u->fd);
	u->opened = instant_now();
	u->open = true;
	u->exchanges = 0;
	u->server->connects++;
	event_assign(&u->readable, u->proxy->base, u->fd, EV_READ | EV_PERSIST,
	    on_uplink_readable, u);
	event_assign(&u->writable, u->proxy->base, u->fd, EV_WRITE | EV_PERSIST,
	    on_uplink_writable, u);
	timer_init(&u->timer, on_uplink_timer, u);
	uplink_enter(u, UPLINK_CONNECTING);
	uplink_want_write(u, true);
	uplink_arm(u, u->proxy->config->proxy.connect_timeout_ns);
	return 0;
}

int
uplink_get(struct server *server, const struct uplink_ops *ops, void *user,
    bool fresh, struct uplink **out)
{
	struct uplink *u = fresh ? NULL : TAILQ_FIRST(&server->idle);
	int err;

	if (u != NULL) {
		uplink_move(u, UPLINK_BUSY);
		timer_clear(&u->proxy->timers, &u->timer);
		server->reuses++;
	} else {
		u = TAILQ_FIRST(&server->unused);
		if (u != NULL) {
			TAILQ_REMOVE(&server->unused, u, link);
		} else {
			u = calloc(1, sizeof(*u));
			if (u == NULL)
				return -ENOMEM;
			u->proxy = server->proxy;
			u->server = server;
			u->fd = -1;
			server->uplinks++;
		}
		err = uplink_open(u);
		if (err < 0) {
			TAILQ_INSERT_HEAD(&server->unused, u, link);
			return err;
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
	if (!uplink_written(u) || !drain ||
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
	int err = 0;
	socklen_t size = sizeof(err);
	unsigned serial = u->serial;

	(void)what;
	if (u->state == UPLINK_CONNECTING) {
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0)
			err = errno;
		if (err != 0) {
			uplink_over(u, UPLINK_REFUSED, "refused");
			return;
		}
		timer_clear(&u->proxy->timers, &u->timer);
		distribution_record(&u->server->connect_length,
		    instant_since(instant_now(), u->opened));
		uplink_move(u, UPLINK_BUSY);
		if (u->limit_ns > 0)
			uplink_arm(u, u->limit_ns);
		uplink_want_read(u, true);
		if (u->ops != NULL && u->ops->connected != NULL)
			u->ops->connected(u);
		if (u->serial != serial)
			return;
	}
	exchange_write(u);
}

static void
on_uplink_timer(void *user, bool forced)
{
	struct uplink *u = user;

	switch (u->state) {
	case UPLINK_CONNECTING:
		uplink_over(u, UPLINK_REFUSED, "connect_timeout");
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
