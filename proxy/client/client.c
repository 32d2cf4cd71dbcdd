/* client.c: client connections: opened, written to, ended.
 *
 * client_input.c reads their requests. */
#include "proxy/client/client.h"

#include "proxy/client/client_input.h"

#include <assert.h>
#include <netinet/tcp.h>

#include "proxy/client/arrival.h"
#include "proxy/client/client_spool.h"
#include "proxy/client/delivery.h"
#include "proxy/client/listeners.h"
#include "proxy/net/socket.h"

/* After a connection's last response further input is read and dropped, so that
 * the client gets the response and not a reset.  That ends when nothing has
 * come for LINGER_SILENT_NS, or at LINGER_MAX_NS or LINGER_MAX_BYTES. */
#define LINGER_SILENT_NS (5 * NS_PER_S)
#define LINGER_MAX_NS (30 * NS_PER_S)
#define LINGER_MAX_BYTES ((uint64_t)1 << 30)
#define SHED_LOOKS 16 /* clients that client_shed checks at most */
/* Connections that one address may have, if all is the limit for all. */
#define ADDRESS_SHARE(all) (((all)*3 + 3) / 4)

void
client_want_read(struct client *c, bool want)
{
	loop_want(c->clients->loop, &c->readable, &c->timer, &c->reading, want);
}

static void
want_write(struct client *c, bool want)
{
	loop_want(c->clients->loop, &c->writable, &c->timer, &c->writing, want);
}

void
client_arm(struct client *c, int64_t timeout_ns)
{
	timer_arm(&c->clients->loop->timers, &c->timer, timeout_ns);
}

void
client_pause(struct client *c)
{
	client_want_read(c, false);
}

void
client_resume(struct client *c)
{
	if (!c->closed && !c->ended)
		client_want_read(c, true);
}

void
client_push(struct client *c)
{
	int one = 1;

	if (!c->corked)
		return;
	c->corked = false;
	/* A Unix socket never holds bytes back. */
	if (c->tcp)
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void
client_is_spare(struct client *c)
{
	if (!c->spare)
		TAILQ_INSERT_TAIL(&c->clients->spare, c, spare_link);
	c->spare = true;
}

void
client_is_needed(struct client *c)
{
	if (c->spare)
		TAILQ_REMOVE(&c->clients->spare, c, spare_link);
	c->spare = false;
}

bool
client_shed(struct clients *all)
{
	struct client *c;

	for (unsigned i = 0; i < SHED_LOOKS; i++) {
		c = TAILQ_FIRST(&all->spare);
		if (c == NULL)
			return false;
		if (c->state != CLIENT_IDLE ||
		    socket_unread_bytes(c->fd) == 0) {
			all->metrics->shed++;
			client_close(c);
			return true;
		}
		/* This client has sent a request, which is not read yet. */
		TAILQ_REMOVE(&all->spare, c, spare_link);
		TAILQ_INSERT_TAIL(&all->spare, c, spare_link);
	}
	return false;
}

void
client_close(struct client *c)
{
	struct clients *all = c->clients;
	const struct client_ops *ops = c->ops;

	if (c->closed)
		return;
	client_push(c);
	client_is_needed(c);
	c->closed = true;
	client_want_read(c, false);
	want_write(c, false);
	timer_clear(&all->loop->timers, &c->timer);
	loop_drop(all->loop, &c->write);
	loop_drop(all->loop, &c->input);
	delivery_forget(c);
	/* An orderly close marks such a response as whole: send a reset. */
	if (c->delimited && c->response != CLIENT_RESPONSE_NONE)
		socket_reset_on_close(c->fd);
	close(c->fd);
	c->fd = -1;
	block_give(all->blocks, c->in);
	c->in = NULL;
	client_is_whole(c);
	peer_leave(&all->peers, c->count);
	c->count = NULL;
	TAILQ_REMOVE(&all->open, c, link);
	TAILQ_INSERT_TAIL(&all->closed, c, link);
	all->count--;
	c->ops = NULL;
	if (ops != NULL)
		ops->gone(c);
	if (c->own != NULL)
		all->events->left(c);
	client_drop_output(c);
}

void
client_cut(struct client *c, const char *why)
{
	c->cut = why;
	client_close(c);
}

/* End a connection after its last response: at once if the client has ended its
 * side, else after LINGER.  A close with unread input makes the kernel send a
 * reset, which may overtake the response (RFC 9112, 9.6). */
static void
client_end(struct client *c)
{
	if (client_has_more(c)) {
		c->state = CLIENT_LINGER; /* client_flush comes back here */
		return;
	}
	if (c->ended) {
		client_close(c);
		return;
	}
	shutdown(c->fd, SHUT_WR);
	c->state = CLIENT_LINGER;
	c->linger_end = instant_plus(instant_now(), LINGER_MAX_NS);
	client_is_spare(c);
	client_want_read(c, true);
	client_arm(c, LINGER_SILENT_NS);
	/* Drop the input block's bytes: a full block has no room to read. */
	if (c->in != NULL)
		loop_put_off(c->clients->loop, &c->input);
}

bool
client_has_all(const struct client *c)
{
	return c->state == CLIENT_LINGER && c->whole &&
	       instant_is_set(c->linger_end) && c->lingered_bytes == 0 &&
	       socket_queued_bytes(c->fd) == 0;
}

void
client_linger(struct client *c, uint64_t bytes)
{
	c->lingered_bytes += bytes;
	if (!instant_is_set(c->linger_end))
		return; /* the response is not written yet */
	if (c->lingered_bytes > LINGER_MAX_BYTES ||
	    !instant_before(instant_now(), c->linger_end)) {
		c->clients->metrics->timeouts_linger++;
		client_close(c);
	} else {
		client_want_read(c, true);
		client_arm(c, LINGER_SILENT_NS);
	}
}

/* Make a client idle: read on, and put the parsing of input that is here off: a
 * request that gets its response at once must not recurse into the next. */
static void
client_rest(struct client *c)
{
	client_is_spare(c);
	if (!c->ended)
		client_want_read(c, true);
	client_arm(c, c->clients->config->proxy.idle_timeout_ns);
	if (c->in != NULL || c->ended)
		loop_put_off(c->clients->loop, &c->input);
}

void
client_next(struct client *c)
{
	bool whole = c->state == CLIENT_WAITING;

	if (c->closed)
		return;
	c->requests++;
	c->ops = NULL;
	c->user = NULL;
	c->response = CLIENT_RESPONSE_NONE;
	c->delimited = false;
	/* After a head without Connection: close the connection is kept, even
	 * when stopping: the next request may be on its way. */
	if (c->close || !whole || (c->ended && c->in == NULL)) {
		c->whole = whole;
		client_end(c);
		return;
	}
	c->state = CLIENT_IDLE;
	c->scanned = 0;
	c->rested = instant_now();
	client_rest(c);
}

/* How many bytes the client has taken so far.  Only the difference of two
 * values means something. */
static uint64_t
taken_bytes(const struct client *c)
{
	return c->sent_bytes - socket_queued_bytes(c->fd);
}

void
client_write_later(struct client *c)
{
	want_write(c, true);
	c->taken_bytes = taken_bytes(c);
	client_arm(c, c->clients->config->proxy.client_timeout_ns);
}

/* All output of a client has been written. */
static void
client_written(struct client *c)
{
	chain_clear(&c->out, c->clients->blocks);
	want_write(c, false);
	if (c->state == CLIENT_TUNNEL)
		client_arm(c, c->clients->config->proxy.tunnel_timeout_ns);
	if (c->ops != NULL && c->ops->written != NULL)
		c->ops->written(c);
	else if (c->state == CLIENT_LINGER)
		client_end(c);
	else if (c->state == CLIENT_IDLE)
		client_rest(c); /* pipelined requests waited for this */
}

void
client_flush(struct client *c)
{
	int flags = c->more ? MSG_MORE : 0;

	if (c->closed)
		return;
	loop_drop(c->clients->loop, &c->write);
	c->more = false;
	while (client_has_more(c)) {
		ssize_t n = client_write(c, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			client_write_later(c);
			return;
		}
		if (n < 0) {
			client_close(c);
			return;
		}
		c->clients->metrics->response_bytes += (uint64_t)n;
		c->sent_bytes += (uint64_t)n;
		if (client_in_file(c)) {
			client_write_later(c);
			return;
		}
	}
	client_written(c);
}

void
client_flush_later(struct client *c)
{
	if (!c->writing && !c->closed)
		loop_put_off(c->clients->loop, &c->write);
}

void
client_tunnel(struct client *c)
{
	c->state = CLIENT_TUNNEL;
	client_arm(c, c->clients->config->proxy.tunnel_timeout_ns);
	if (c->in != NULL) /* bytes that came before the 101 */
		loop_put_off(c->clients->loop, &c->input);
}

void
client_respond(struct client *c, const struct client_reply *r)
{
	struct block_pool *pool = c->clients->blocks;
	const char *connection = "", *id = r->request_id;
	char head[1024];
	int n;

	c->clients->metrics->local[r->status < 600 ? r->status : 0]++;
	if (c->clients->stopping)
		c->close = true;
	if (c->close)
		connection = "Connection: close\r\n";
	else if (c->minor_zero)
		connection = "Connection: keep-alive\r\n";
	n = snprintf(head, sizeof(head),
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "%s%s%s%s%s\r\n",
	    r->status, http_reason(r->status), r->type, r->length, connection,
	    id != NULL ? "x-request-id: " : "", id != NULL ? id : "",
	    id != NULL ? "\r\n" : "", r->extra != NULL ? r->extra : "");
	assert(n > 0 && (size_t)n < sizeof(head));
	if (chain_add(&c->out, pool, head, (size_t)n) < 0 ||
	    (!r->head_only &&
		chain_add(&c->out, pool, r->text, r->length) < 0)) {
		client_cut(c, "no_memory");
		return;
	}
	client_flush(c);
}

static void
on_client_readable(evutil_socket_t fd, short what, void *user)
{
	struct client *c = user;

	(void)fd;
	(void)what;
	client_read(c);
	loop_event_end(c->clients->loop);
}

static void
on_client_writable(evutil_socket_t fd, short what, void *user)
{
	struct client *c = user;

	(void)fd;
	(void)what;
	client_flush(c);
	loop_event_end(c->clients->loop);
}

static void
on_client_turn(void *user)
{
	client_flush(user);
}

static void
on_client_input(void *user)
{
	client_process(user);
}

static void
on_client_timer(void *user, bool forced)
{
	struct client *c = user;
	struct metrics *m = c->clients->metrics;
	struct http_refusal refusal = {408, "timeout"};

	(void)forced;
	if (c->write.waits ||
	    (client_has_more(c) && taken_bytes(c) != c->taken_bytes)) {
		/* The client reads, but too little for another write; or the
		 * write waits for the turn's end. */
		c->taken_bytes = taken_bytes(c);
		client_arm(c, c->clients->config->proxy.client_timeout_ns);
		return;
	}
	if (client_has_more(c)) {
		m->timeouts_write++;
		client_cut(c, "write_timeout");
		return;
	}
	switch (c->state) {
	case CLIENT_IDLE:
	case CLIENT_LINGER:
		client_close(c);
		return;
	case CLIENT_PROXY_HEADER:
		m->timeouts_head++;
		client_close(c);
		return;
	case CLIENT_HEAD:
		m->timeouts_head++;
		client_refuse(c, &refusal);
		return;
	case CLIENT_BODY:
		/* After its response a client need not send the rest. */
		if (c->response != CLIENT_RESPONSE_NONE)
			return;
		m->timeouts_body++;
		client_refuse(c, &refusal);
		return;
	case CLIENT_TUNNEL:
		m->timeouts_tunnel++;
		client_cut(c, "tunnel_timeout");
		return;
	case CLIENT_WAITING:
		return;
	}
}

int
client_belongs(struct client *c, const struct peer *peer)
{
	struct clients *all = c->clients;
	unsigned max = all->config->proxy.connections_per_address_max;

	if (max > ADDRESS_SHARE(all->connections_max))
		max = ADDRESS_SHARE(all->connections_max);
	c->peer = *peer;
	client_is_whole(c);
	peer_leave(&all->peers, c->count);
	c->count = peer_enter(&all->peers, peer);
	if (max == 0 || c->peer.exempt || c->count == NULL ||
	    c->count->connections <= max)
		return 0;
	all->metrics->rejected_address++;
	return -EUSERS;
}

int
client_open(
    struct listener *l, int fd, const struct peer *peer, bool proxy_header)
{
	struct clients *all = l->clients;
	struct client *c = TAILQ_FIRST(&all->unused);

	if (c != NULL)
		TAILQ_REMOVE(&all->unused, c, link);
	else
		c = malloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->clients = all;
	c->fd = fd;
	c->cookie = socket_cookie(fd);
	c->tcp = !l->unix_socket;
	c->rested = instant_now();
	arrival_read(l, fd, c->rested, &c->arrival);
	work_init(&c->write, LOOP_CLIENTS, on_client_turn, c);
	work_init(&c->input, LOOP_INPUT, on_client_input, c);
	/* With a PROXY header, the address in that is counted, later. */
	if (!proxy_header && client_belongs(c, peer) < 0) {
		peer_leave(&all->peers, c->count);
		TAILQ_INSERT_HEAD(&all->unused, c, link);
		return -EUSERS;
	}
	c->state = proxy_header ? CLIENT_PROXY_HEADER : CLIENT_IDLE;
	event_assign(&c->readable, all->loop->base, fd, EV_READ | EV_PERSIST,
	    on_client_readable, c);
	event_assign(&c->writable, all->loop->base, fd, EV_WRITE | EV_PERSIST,
	    on_client_writable, c);
	timer_init(&c->timer, on_client_timer, c);
	TAILQ_INSERT_TAIL(&all->open, c, link);
	all->count++;
	all->metrics->connections++;
	client_is_spare(c);
	client_want_read(c, true);
	client_arm(c, all->config->proxy.header_timeout_ns);
	return 0;
}

void
clients_reap(struct clients *all)
{
	TAILQ_CONCAT(&all->unused, &all->closed, link);
}
