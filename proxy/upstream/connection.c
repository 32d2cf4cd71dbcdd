/* connection.c: connections to the servers: pooled, drained, closed.
 *
 * Each connection is in its server's list for its state; the memory of a closed
 * one is kept for the next connection.  connect.c makes connections, reuse.c
 * decides which idle ones may be used, exchange.c writes and reads. */
#include "proxy/upstream/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "proxy/net/socket.h"
#include "proxy/upstream/exchange.h"
#include "proxy/upstream/response_diff.h"

static void on_connection_readable(evutil_socket_t fd, short what, void *user);
static void on_connection_writable(evutil_socket_t fd, short what, void *user);
static void on_connection_timer(void *user, bool forced);
static void on_connection_turn(void *user);

/* Time to read a loser's response: longer than most garbage collections.  Its
 * end counts as tailor_losers_total{result="timeout"}. */
#define LOSER_TIMEOUT_NS (5 * NS_PER_S)

static struct pool *
pool_of(struct server *s, enum connection_state state)
{
	switch (state) {
	case CONNECTION_WAITING:
		return &s->waiting;
	case CONNECTION_CONNECTING:
		return &s->connecting;
	case CONNECTION_BUSY:
		return &s->busy;
	case CONNECTION_DRAINING:
		return &s->draining;
	case CONNECTION_IDLE:
		return &s->idle;
	case CONNECTION_PRIVATE:
		return &s->private;
	}
	abort();
}

static void
connection_enter(struct connection *u, enum connection_state state)
{
	struct pool *pool = pool_of(u->server, state);

	u->state = state;
	if (state == CONNECTION_WAITING)
		TAILQ_INSERT_TAIL(&pool->list, u, link);
	else
		TAILQ_INSERT_HEAD(&pool->list, u, link);
	pool->count++;
}

static void
connection_leave(struct connection *u)
{
	struct server *s = u->server;
	struct pool *pool = pool_of(s, u->state);

	TAILQ_REMOVE(&pool->list, u, link);
	pool->count--;
	if (s->waiting.count > 0 && s->connecting.count == 0)
		loop_put_off(s->upstream->loop, &s->connect);
}

void
connection_move(struct connection *u, enum connection_state state)
{
	connection_leave(u);
	connection_enter(u, state);
}

void
connection_want_read(struct connection *u, bool want)
{
	loop_want(
	    u->upstream->loop, &u->readable, &u->timer, &u->reading, want);
}

void
connection_want_write(struct connection *u, bool want)
{
	loop_want(
	    u->upstream->loop, &u->writable, &u->timer, &u->writing, want);
}

void
connection_watch(struct connection *u)
{
	struct event_base *base = u->upstream->loop->base;

	u->cookie = socket_cookie(u->fd);
	event_assign(&u->readable, base, u->fd, EV_READ | EV_PERSIST,
	    on_connection_readable, u);
	event_assign(&u->writable, base, u->fd, EV_WRITE | EV_PERSIST,
	    on_connection_writable, u);
}

static void
exchange_forget(struct connection *u)
{
	u->serial++;
	loop_drop(u->upstream->loop, &u->write);
	u->ops = NULL;
	u->user = NULL;
	u->limit_ns = 0;
	message_fini(&u->out);
	u->sent_all = false;
	u->written_first = u->written_last = u->first_byte = INSTANT_NONE;
	u->scanned = 0;
	u->head_seen = u->wide = u->reads_on = u->endless = false;
	u->has_body = u->last = false;
	block_give(&u->upstream->loop->blocks, u->trailers);
	u->trailers = NULL;
	u->interims = 0;
	u->received_bytes = 0;
	u->drained_bytes = 0;
	u->loser_of = 0;
	u->raced = INSTANT_NONE;
	u->unawaited = false;
	compare_leave(&u->compared);
}

void
connection_shut(struct connection *u)
{
	connection_want_read(u, false);
	connection_want_write(u, false);
	timer_clear(&u->upstream->loop->timers, &u->timer);
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
	u->cookie = 0;
}

static void
connection_disown(struct connection *u)
{
	if (u->owner != NULL)
		*u->owner = NULL;
	u->owner = NULL;
}

/* Close a connection and keep the struct for another. */
static void
connection_discard(struct connection *u)
{
	struct server *s = u->server;

	connection_leave(u);
	connection_shut(u);
	connection_disown(u);
	u->private = false;
	if (u->in != NULL)
		block_give(&u->upstream->loop->blocks, u->in);
	u->in = NULL;
	exchange_forget(u);
	TAILQ_INSERT_HEAD(&s->unused, u, link);
}

static void
connection_drained(struct server *s)
{
	struct upstream *up = s->upstream;

	upstream_want(
	    up, hedging_drain_end(up->hedging, s->index, instant_now()));
}

void
connection_close(struct connection *u)
{
	bool draining = u->state == CONNECTION_DRAINING;
	struct server *s = u->server;

	connection_discard(u);
	if (draining)
		connection_drained(s);
}

void
connection_pool_init(struct server *s)
{
	TAILQ_INIT(&s->waiting.list);
	TAILQ_INIT(&s->connecting.list);
	TAILQ_INIT(&s->idle.list);
	TAILQ_INIT(&s->busy.list);
	TAILQ_INIT(&s->draining.list);
	TAILQ_INIT(&s->private.list);
	TAILQ_INIT(&s->unused);
	work_init(&s->connect, LOOP_CONNECT, connect_next, s);
}

static void
close_all(struct pool *pool)
{
	struct connection *u;

	while ((u = TAILQ_FIRST(&pool->list)) != NULL)
		connection_close(u);
}

void
connection_close_idle(struct server *s)
{
	close_all(&s->idle);
}

void
connection_close_private(struct server *s)
{
	s->privates_given_up += s->private.count;
	close_all(&s->private);
}

/* Close the private connection that has rested longest. */
static void
private_give_up(struct server *s)
{
	s->privates_given_up++;
	connection_close(TAILQ_LAST(&s->private.list, connection_list));
}

/* Close a private connection at rest if a new connection would exceed
 * connections_max, as a server may have no more workers than that. */
static void
private_make_room(struct server *s)
{
	const struct hedging_server *h = server_policy(s);

	if (s->private.count > 0 &&
	    h->inflight + h->draining + h->warmup_inflight + s->private.count >
		s->config->connections_max)
		private_give_up(s);
}

void
connection_pool_fini(struct server *s)
{
	struct connection *u;

	close_all(&s->waiting);
	close_all(&s->connecting);
	close_all(&s->idle);
	close_all(&s->private);
	close_all(&s->busy);
	close_all(&s->draining);
	loop_drop(s->upstream->loop, &s->connect);
	while ((u = TAILQ_FIRST(&s->unused)) != NULL) {
		TAILQ_REMOVE(&s->unused, u, link);
		free(u);
	}
}

void
connection_arm(struct connection *u, int64_t timeout_ns)
{
	timer_arm(&u->upstream->loop->timers, &u->timer, timeout_ns);
}

/* If more than connections_max rest, close the one that has rested longest. */
static void
rest_bound(struct server *s)
{
	struct connection *idle = TAILQ_LAST(&s->idle.list, connection_list);
	struct connection *own = TAILQ_LAST(&s->private.list, connection_list);

	if (s->idle.count + s->private.count <= s->config->connections_max)
		return;
	if (own == NULL ||
	    (idle != NULL && instant_before(idle->rested, own->rested))) {
		connection_close(idle);
		return;
	}
	private_give_up(s);
}

/* An exchange is over: let u rest and return true, or close it. */
static bool
connection_settle(struct connection *u, enum exchange_end end)
{
	struct server *s = u->server;
	bool reuse = end == EXCHANGE_COMPLETE && u->keep_alive && u->sent_all &&
		     !s->upstream->stopping;
	uint64_t unread;

	if (end == EXCHANGE_COMPLETE && u->last) {
		s->unread_bodies++;
		reuse = false;
	} else if (end == EXCHANGE_COMPLETE) {
		s->reuse.keeps_alive = u->keep_alive;
	}
	if ((u->ops != NULL && u->ops->once) || u->moves != s->moves)
		reuse = false;
	if (u->private ? u->owner == NULL
		       : reuse && connection_starves(s, instant_now()))
		reuse = false;
	if (reuse && u->in != NULL && block_bytes(u->in) > 0) {
		/* Bytes after a response are not the next response. */
		s->extra_bytes += block_bytes(u->in);
		reuse = false;
	}
	if (reuse && u->filled && (unread = socket_unread_bytes(u->fd)) > 0) {
		/* Nor are bytes not read yet; the next request on this
		 * connection must not take them for its response. */
		s->extra_bytes += unread;
		reuse = false;
	}
	if (!reuse) {
		connection_discard(u);
		return false;
	}
	if (u->in != NULL)
		block_give(&u->upstream->loop->blocks, u->in);
	u->in = NULL;
	exchange_forget(u);
	u->rested = instant_now();
	u->rested_served_ns = s->reuse.served_ns;
	connection_want_read(u, true);
	connection_want_write(u, false);
	/* A private connection stays until its owner or its server ends it. */
	if (u->private)
		timer_clear(&s->upstream->loop->timers, &u->timer);
	else
		connection_arm(
		    u, s->upstream->config->proxy.upstream_idle_timeout_ns);
	connection_move(u, u->private ? CONNECTION_PRIVATE : CONNECTION_IDLE);
	rest_bound(s);
	return true;
}

const char *
exchange_end_name(enum exchange_end end)
{
	static const char *const names[] = {
	    [EXCHANGE_COMPLETE] = "complete",
	    [EXCHANGE_LIMITED] = "limited",
	    [EXCHANGE_REFUSED] = "refused",
	    [EXCHANGE_UNANSWERED] = "unanswered",
	    [EXCHANGE_CUT] = "cut",
	    [EXCHANGE_MALFORMED] = "malformed",
	    [EXCHANGE_TIMEOUT] = "timeout",
	};

	return names[end];
}

/* The exchange is over: release the connection, then call the user. */
void
exchange_over(struct connection *u, enum exchange_end end, const char *why)
{
	const struct exchange_ops *ops = u->ops;
	struct server *s = u->server;
	struct upstream *up = s->upstream;
	struct exchange_result result = {
	    .user = u->user,
	    .server = s,
	    .end = end,
	    .why = why,
	    .written = exchange_written(u),
	    .reused = u->exchanges > 1,
	    .written_first = u->written_first,
	};

	if (u->compared != NULL && end == EXCHANGE_COMPLETE)
		compare_whole(u->compared, u->side);
	if (u->state == CONNECTION_DRAINING) {
		up->events.drained(up->user, u, end);
		connection_settle(u, end);
		connection_drained(s);
		return;
	}
	result.kept = connection_settle(u, end);
	if (ops != NULL && ops->end != NULL)
		ops->end(&result);
}

unsigned
connection_cut_all(struct server *s, const char *why)
{
	unsigned n = 0, most = s->waiting.count + s->connecting.count +
			       s->busy.count + s->draining.count;
	struct connection *u;

	/* The end of an exchange may begin another one here: do not cut more
	 * than there were. */
	while (n < most && ((u = TAILQ_FIRST(&s->waiting.list)) != NULL ||
			       (u = TAILQ_FIRST(&s->connecting.list)) != NULL ||
			       (u = TAILQ_FIRST(&s->busy.list)) != NULL ||
			       (u = TAILQ_FIRST(&s->draining.list)) != NULL)) {
		exchange_over(u, EXCHANGE_TIMEOUT, why);
		n++;
	}
	return n;
}

/* True if neither a byte nor the end has arrived on an idle connection. */
static bool
is_quiet(const struct connection *u)
{
	char byte;

	return recv(u->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN;
}

/* The idle connection to be used next, or NULL. */
static struct connection *
idle_pick(struct server *s, enum connection_reuse reuse)
{
	struct instant now = instant_now();
	struct connection *u = NULL;

	while (
	    reuse != REUSE_NONE && (u = TAILQ_FIRST(&s->idle.list)) != NULL) {
		if (reuse == REUSE_ANY && !reuse_closes_early(s, now))
			return u;
		if (reuse == REUSE_PROVEN && !reuse_is_proven(u, now))
			return NULL; /* the others have rested longer */
		if (is_quiet(u))
			return u;
		s->extra_bytes += socket_unread_bytes(u->fd);
		reuse_closed(u, now);
		connection_close(u);
	}
	return NULL;
}

void
connection_make_private(struct connection *u)
{
	u->server->privates += !u->private;
	u->private = true;
}

void
connection_own(struct connection *u, struct connection **owner)
{
	connection_make_private(u);
	if (*owner != NULL)
		return;
	u->owner = owner;
	*owner = u;
}

bool
connection_get_own(struct server *server, struct connection **owner,
    const struct exchange_ops *ops, void *user, struct connection **out)
{
	struct connection *u = *owner;

	if (u == NULL || u->server != server || u->state != CONNECTION_PRIVATE)
		return false;
	if (!is_quiet(u)) {
		u->server->extra_bytes += socket_unread_bytes(u->fd);
		exchange_lost(u, false, "closed");
		return false;
	}
	connection_move(u, CONNECTION_BUSY);
	u->server->reuses++;
	u->ops = ops;
	u->user = user;
	*out = u;
	return true;
}

static struct connection *
unused_take(struct server *s)
{
	struct connection *u = TAILQ_FIRST(&s->unused);

	if (u != NULL) {
		TAILQ_REMOVE(&s->unused, u, link);
		return u;
	}
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->upstream = s->upstream;
	u->server = s;
	u->fd = -1;
	work_init(&u->write, LOOP_SERVERS, on_connection_turn, u);
	timer_init(&u->timer, on_connection_timer, u);
	s->connections++;
	return u;
}

int
connection_get(struct server *server, const struct exchange_ops *ops,
    void *user, enum connection_reuse reuse, struct connection **out)
{
	struct connection *u = idle_pick(server, reuse);
	int err;

	if (u != NULL) {
		connection_move(u, CONNECTION_BUSY);
		timer_clear(&u->upstream->loop->timers, &u->timer);
		server->reuses++;
	} else {
		bool waits =
		    server->connecting.count > 0 || server->waiting.count > 0;

		u = unused_take(server);
		if (u == NULL)
			return -ENOMEM;
		private_make_room(server);
		/* The new connection replaces an idle one that is not proven,
		 * as a server may have one worker per connection;
		 * reuse_may_rest is how many to leave. */
		if (reuse == REUSE_PROVEN &&
		    server->idle.count > reuse_may_rest(server, instant_now()))
			connection_close(TAILQ_FIRST(&server->idle.list));
		u->opened = instant_now();
		u->tries = 0;
		u->turned = false;
		u->exchanges = 0;
		u->moves = server->moves;
		connection_enter(
		    u, waits ? CONNECTION_WAITING : CONNECTION_CONNECTING);
		err = waits ? 0 : connect_try(u);
		if (err != 0) {
			connection_discard(u);
			return -err;
		}
	}
	u->ops = ops;
	u->user = user;
	*out = u;
	return 0;
}

void
exchange_limit(struct connection *u, int64_t limit_ns)
{
	u->limit_ns = limit_ns;
	if (u->state == CONNECTION_BUSY)
		connection_arm(u, limit_ns);
}

void
exchange_compare(
    struct connection *u, struct response_diff *with, unsigned side)
{
	u->compared = compare_join(with, side);
	u->side = side;
}

void
connection_pause(struct connection *u)
{
	connection_want_read(u, false);
}

void
connection_resume(struct connection *u)
{
	if (u->state == CONNECTION_BUSY || u->state == CONNECTION_DRAINING)
		connection_want_read(u, true);
}

void
exchange_detach(struct connection *u, uint64_t request_id, bool unawaited)
{
	struct server *s = u->server;

	u->ops = NULL;
	u->user = NULL;
	connection_disown(u);
	if (!exchange_written(u) || u->endless ||
	    (!u->sent_all && !message_keep_rest(&u->out))) {
		/* Close if nothing was written, the rest of the request is too
		 * long to copy, or the response has no end. */
		connection_discard(u);
		return;
	}
	if (u->sent_all)
		u->out = (struct message){.sent_bytes = u->out.sent_bytes};
	if (s->draining.count > 0 &&
	    s->draining.count >= u->upstream->losers_max)
		connection_close(
		    TAILQ_LAST(&s->draining.list, connection_list));
	u->loser_of = request_id;
	u->raced = instant_now();
	u->unawaited = unawaited;
	connection_move(u, CONNECTION_DRAINING);
	hedging_drain_begin(u->upstream->hedging, s->index);
	connection_want_read(u, true);
	connection_arm(u, LOSER_TIMEOUT_NS);
}

static void
on_connection_readable(evutil_socket_t fd, short what, void *user)
{
	struct connection *u = user;

	(void)fd;
	(void)what;
	exchange_read(u);
	loop_event_end(u->upstream->loop);
}

static void
on_connection_turn(void *user)
{
	exchange_write(user);
}

static void
on_connection_writable(evutil_socket_t fd, short what, void *user)
{
	struct connection *u = user;
	struct loop *loop = u->upstream->loop;

	(void)fd;
	(void)what;
	if (u->state == CONNECTION_CONNECTING)
		connect_writable(u);
	else
		exchange_write(u);
	loop_event_end(loop);
}

static void
on_connection_timer(void *user, bool forced)
{
	struct connection *u = user;

	switch (u->state) {
	case CONNECTION_WAITING:
		break;
	case CONNECTION_CONNECTING:
		connect_timer(u, forced);
		break;
	case CONNECTION_DRAINING:
		exchange_over(u, EXCHANGE_TIMEOUT, "drain_timeout");
		break;
	case CONNECTION_IDLE:
	case CONNECTION_PRIVATE:
		connection_close(u);
		break;
	case CONNECTION_BUSY:
		if (forced) /* see loop_want */
			exchange_lost(u, false, "no_event");
		else
			exchange_over(u, EXCHANGE_TIMEOUT, "no_answer");
		break;
	}
}
