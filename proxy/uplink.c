/*
 * uplink.c: connections to the servers.
 *
 * Reading: the socket is read into a block of the pool; a head is scanned,
 * parsed and handed up; payload is moved to the user's chain block by block.
 * Writing: head, the attempt's own lines and body go out in one writev.
 * A callback may detach or close the uplink, and the struct may even carry
 * another exchange when it returns, so the code compares the exchange's serial
 * number after each callback before it goes on.
 */
#include "proxy/uplink.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/bodies.h"
#include "proxy/proxy.h"
#include "proxy/server.h"
#include "proxy/socket.h"

static void on_uplink_readable(evutil_socket_t fd, short what, void *user);
static void on_uplink_writable(evutil_socket_t fd, short what, void *user);
static void on_uplink_timer(evutil_socket_t fd, short what, void *user);

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

static void
want_read(struct uplink *u, bool want)
{
	if (u->reading == want)
		return;
	u->reading = want;
	if (want)
		event_add(&u->readable, NULL);
	else
		event_del(&u->readable);
}

static void
want_write(struct uplink *u, bool want)
{
	if (u->writing == want)
		return;
	u->writing = want;
	if (want)
		event_add(&u->writable, NULL);
	else
		event_del(&u->writable);
}

static void
uplink_forget_exchange(struct uplink *u)
{
	u->serial++;
	u->ops = NULL;
	u->user = NULL;
	outgoing_fini(&u->out);
	u->sent_all = false;
	u->written_first = u->written_last = u->first_byte = INSTANT_NONE;
	u->scanned = 0;
	u->head_seen = false;
	u->received_bytes = 0;
	u->drained_bytes = 0;
	u->loser_of = 0;
	u->raced = INSTANT_NONE;
	u->client_left = false;
}

/* Undo the connection and keep the struct for another. */
static void
uplink_discard(struct uplink *u)
{
	struct server *s = u->server;

	uplink_leave(u);
	want_read(u, false);
	want_write(u, false);
	event_del(&u->timer);
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
	event_add(&u->timer, proxy_timeout(u->proxy, timeout_ns));
}

/* Back to the idle ones, or closed. */
static void
uplink_settle(struct uplink *u, enum uplink_end end)
{
	struct server *s = u->server;
	bool reuse = end == UPLINK_COMPLETE && u->keep_alive && u->sent_all &&
		     !s->proxy->stopping;

	if (reuse && u->in != NULL && block_bytes(u->in) > 0) {
		/* Bytes behind a response are never the next response. */
		s->extra_bytes += block_bytes(u->in);
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
	want_read(u, true);
	want_write(u, false);
	uplink_arm(u, s->proxy->config->proxy.upstream_idle_timeout_ns);
}

void
uplink_release(struct uplink *u)
{
	u->keep_alive = u->sent_all = true;
	uplink_settle(u, UPLINK_COMPLETE);
}

/* The exchange is over: release the connection, then tell the user. */
static void
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
	u->open = true;
	u->exchanges = 0;
	u->server->connects++;
	event_assign(&u->readable, u->proxy->base, u->fd, EV_READ | EV_PERSIST,
	    on_uplink_readable, u);
	event_assign(&u->writable, u->proxy->base, u->fd, EV_WRITE | EV_PERSIST,
	    on_uplink_writable, u);
	evtimer_assign(&u->timer, u->proxy->base, on_uplink_timer, u);
	uplink_enter(u, UPLINK_CONNECTING);
	want_write(u, true);
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
		event_del(&u->timer);
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

static void
uplink_all_sent(struct uplink *u)
{
	int one = 1;

	u->sent_all = true;
	u->written_last = instant_now();
	want_write(u, false);
	/* Acknowledge the response's first segment at once: a server that has
	 * Nagle on holds its second one back until then.  The kernel forgets
	 * this mode whenever we send, so it is asked for after each request. */
	if (u->server->config->address.address.ss_family != AF_UNIX)
		setsockopt(u->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
	if (u->ops != NULL && u->ops->sent != NULL)
		u->ops->sent(u);
}

static void
uplink_write(struct uplink *u)
{
	struct iovec iov[CHAIN_IOV];
	unsigned serial = u->serial;
	int n;

	while ((n = outgoing_iov(&u->out, iov)) > 0) {
		struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
		ssize_t sent = sendmsg(u->fd, &m, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			/* A lost connection shows on the reading side too,
			 * where an early response may still be waiting. */
			want_write(u, errno == EAGAIN);
			return;
		}
		if (!instant_is_set(u->written_first))
			u->written_first = instant_now();
		outgoing_advance(&u->out, &u->proxy->blocks, (size_t)sent);
		if (!u->out.keep_body && u->out.body != NULL &&
		    u->ops != NULL && u->ops->wrote != NULL)
			u->ops->wrote(u);
		if (u->serial != serial)
			return;
	}
	if (outgoing_done(&u->out))
		uplink_all_sent(u);
	else
		want_write(u, false);
}

void
uplink_send(
    struct uplink *u, const struct outgoing *message, enum http_method method)
{
	u->out = *message;
	u->method = method;
	u->exchanges++;
	u->server->attempts++;
	if (u->state == UPLINK_CONNECTING)
		return;
	want_read(u, true);
	uplink_write(u);
}

void
uplink_more(struct uplink *u, bool body_whole)
{
	u->out.body_whole = body_whole;
	if (u->state == UPLINK_BUSY && !u->writing && !u->sent_all)
		uplink_write(u);
}

bool
uplink_written(const struct uplink *u)
{
	return u->out.sent_bytes > 0;
}

void
uplink_pause(struct uplink *u)
{
	want_read(u, false);
}

void
uplink_resume(struct uplink *u)
{
	if (u->state == UPLINK_BUSY || u->state == UPLINK_DRAINING)
		want_read(u, true);
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
	want_read(u, true);
	uplink_arm(u, c->hedging.drain_timeout_ns);
}

/* Move payload on: to the user, or nowhere. */
static void
uplink_deliver(struct uplink *u, struct chain *data)
{
	if (data->bytes == 0)
		return;
	if (u->ops != NULL && u->ops->data != NULL)
		u->ops->data(u, data);
	else
		u->drained_bytes += data->bytes;
}

/* One response head.  False when the uplink must not be touched any more or
 * needs more input. */
static bool
uplink_take_head(struct uplink *u)
{
	struct http_head *head = &u->proxy->scratch_response;
	struct http_refusal refusal = {0};
	const char *text = u->in->data + u->in->begin;
	unsigned serial = u->serial;
	size_t length = 0;

	switch (http_scan(&u->proxy->response_limits, false, text,
	    block_bytes(u->in), &u->scanned, &length, &refusal)) {
	case HTTP_SCAN_MORE:
		return false;
	case HTTP_SCAN_BAD:
		uplink_over(u, UPLINK_MALFORMED, refusal.reason);
		return false;
	case HTTP_SCAN_HEAD:
		break;
	}
	if (http_parse_response(&u->proxy->response_limits, u->method, text,
		length, head, &refusal) < 0) {
		uplink_over(u, UPLINK_MALFORMED, refusal.reason);
		return false;
	}
	u->scanned = 0;
	if (head->status == 101) {
		uplink_over(u, UPLINK_MALFORMED, "unasked_upgrade");
		return false;
	}
	if (head->status >= 200) {
		u->head_seen = true;
		u->keep_alive =
		    head->keep_alive && head->framing != HTTP_FRAMING_CLOSE;
		http_body_init(
		    &u->body, head->framing, head->content_length, UINT64_MAX);
		if (u->ops != NULL)
			u->ops->head(u, head);
	}
	if (u->serial != serial)
		return false;
	u->in->begin += (uint32_t)length;
	return true;
}

/* Body bytes.  False as above. */
static bool
uplink_take_body(struct uplink *u)
{
	struct http_refusal refusal = {0};
	struct chain data = {0};
	enum http_body_event event;
	unsigned serial = u->serial;

	event = body_pull(&u->body, &u->in, &data, &u->proxy->blocks, &refusal);
	uplink_deliver(u, &data);
	chain_clear(&data, &u->proxy->blocks);
	if (u->serial != serial)
		return false;
	switch (event) {
	case HTTP_BODY_MORE:
	case HTTP_BODY_DATA:
		if (u->drained_bytes >
		    u->proxy->config->hedging.drain_max_bytes)
			uplink_over(u, UPLINK_CUT, "drain_limit");
		return false;
	case HTTP_BODY_DONE:
		return true;
	case HTTP_BODY_BAD:
		uplink_over(u, UPLINK_MALFORMED, refusal.reason);
		return false;
	}
	return false;
}

static void
uplink_process(struct uplink *u)
{
	while (u->in != NULL && block_bytes(u->in) > 0) {
		if (!u->head_seen) {
			if (!uplink_take_head(u))
				return;
		} else if (!uplink_take_body(u)) {
			return;
		}
		if (u->head_seen && u->body.done) {
			uplink_over(u, UPLINK_COMPLETE, "complete");
			return;
		}
	}
}

static void
uplink_lost(struct uplink *u, const char *why)
{
	if (u->state == UPLINK_IDLE) {
		uplink_close(u);
		return;
	}
	if (u->received_bytes == 0) {
		uplink_over(u, UPLINK_UNANSWERED, why);
	} else if (u->head_seen && http_body_eof(&u->body)) {
		u->keep_alive = false;
		uplink_over(u, UPLINK_COMPLETE, "complete");
	} else {
		uplink_over(u, UPLINK_CUT, why);
	}
}

static void
on_uplink_readable(evutil_socket_t fd, short what, void *user)
{
	struct uplink *u = user;
	struct block *b;
	ssize_t n;

	(void)what;
	if (u->in == NULL)
		u->in = block_take(&u->proxy->blocks);
	b = u->in;
	if (b == NULL || block_room(b) == 0) {
		/* No memory: this exchange fails, the others go on.  A full
		 * block holds a head larger than any limit. */
		uplink_lost(u, b == NULL ? "no_memory" : "head_too_large");
		return;
	}
	n = recv(fd, b->data + b->end, block_room(b), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		uplink_lost(u, n == 0 ? "closed" : "reset");
		return;
	}
	b->end += (uint32_t)n;
	if (u->state == UPLINK_IDLE) {
		u->server->extra_bytes += (uint64_t)n;
		uplink_close(u);
		return;
	}
	if (u->received_bytes == 0)
		u->first_byte = instant_now();
	u->received_bytes += (uint64_t)n;
	uplink_process(u);
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
		event_del(&u->timer);
		uplink_move(u, UPLINK_BUSY);
		want_read(u, true);
		if (u->ops != NULL && u->ops->connected != NULL)
			u->ops->connected(u);
		if (u->serial != serial)
			return;
	}
	uplink_write(u);
}

static void
on_uplink_timer(evutil_socket_t fd, short what, void *user)
{
	struct uplink *u = user;

	(void)fd;
	(void)what;
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
		break;
	}
}
