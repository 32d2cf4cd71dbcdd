/*
 * client.c: client connections: opened, written to, ended.
 *
 * What clients send is read in intake.c.
 */
#include "proxy/intake.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/client_spool.h"
#include "proxy/proxy.h"
#include "proxy/socket.h"
#include "proxy/tale_api.h"

/* How long the rest of a refused request is read and dropped, so that the
 * client gets to see the response and not a reset. */
#define LINGERING_NS (2 * NS_PER_S)

/* Watch its socket.  False if the kernel cannot: then what its timer would do
 * is done when this turn is over. */
static bool
watch(struct client *c, struct event *e)
{
	if (event_add(e, NULL) == 0)
		return true;
	c->proxy->metrics.events_failed++;
	timer_force(&c->proxy->timers, &c->timer);
	return false;
}

void
client_want_read(struct client *c, bool want)
{
	if (c->reading == want)
		return;
	if (!want)
		event_del(&c->readable);
	c->reading = want && watch(c, &c->readable);
}

static void
want_write(struct client *c, bool want)
{
	if (c->writing == want)
		return;
	if (!want)
		event_del(&c->writable);
	c->writing = want && watch(c, &c->writable);
}

void
client_arm(struct client *c, int64_t timeout_ns)
{
	timer_arm(&c->proxy->timers, &c->timer, timeout_ns);
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
	/* Of no use to a Unix socket, which never waits. */
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void
client_close(struct client *c)
{
	struct proxy *p = c->proxy;
	struct request *r = c->request;

	if (c->closed)
		return;
	client_push(c);
	c->closed = true;
	client_want_read(c, false);
	want_write(c, false);
	timer_clear(&c->proxy->timers, &c->timer);
	sending_drop_client(c);
	if (r != NULL && request_is_cut(r))
		socket_reset_on_close(c->fd);
	close(c->fd);
	c->fd = -1;
	block_give(&p->blocks, c->in);
	c->in = NULL;
	if (c->call != NULL)
		tale_call_abandon(c);
	intake_whole(c);
	peer_leave(&p->peers, c->count);
	c->count = NULL;
	TAILQ_REMOVE(&p->clients, c, link);
	TAILQ_INSERT_TAIL(&p->clients_closed, c, link);
	p->client_count--;
	c->request = NULL;
	if (r != NULL)
		request_client_gone(r);
	client_drop_output(c);
}

void
clients_reap(struct proxy *p)
{
	TAILQ_CONCAT(&p->clients_unused, &p->clients_closed, link);
}

void
clients_fini(struct proxy *p)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&p->clients)) != NULL)
		client_close(c);
	clients_reap(p);
	while ((c = TAILQ_FIRST(&p->clients_unused)) != NULL) {
		TAILQ_REMOVE(&p->clients_unused, c, link);
		free(c);
	}
}

/* The answer is out.  Close so that the client is sure to have seen it: a
 * close with unread input makes the kernel send a reset, which may overtake
 * the answer (RFC 9112, 9.6). */
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
	client_want_read(c, true);
	client_arm(c, LINGERING_NS);
}

/* Idle: read, and look at what has been read. */
static void
client_rest(struct client *c)
{
	if (!c->ended)
		client_want_read(c, true);
	client_arm(c, c->proxy->config->proxy.idle_timeout_ns);
	intake_process(c);
}

void
client_next(struct client *c)
{
	bool whole = c->state == CLIENT_WAITING;

	if (c->closed)
		return;
	c->requests++;
	if (c->close || !whole || c->proxy->stopping ||
	    (c->ended && c->in == NULL)) {
		client_end(c);
		return;
	}
	c->state = CLIENT_IDLE;
	c->scanned = 0;
	client_rest(c);
}

/* What has left for the client so far; only differences mean something. */
static uint64_t
taken_bytes(const struct client *c)
{
	return c->sent_bytes - socket_queued_bytes(c->fd);
}

static void
client_write_later(struct client *c)
{
	want_write(c, true);
	c->taken_bytes = taken_bytes(c);
	client_arm(c, c->proxy->config->proxy.client_timeout_ns);
}

void
client_flush(struct client *c)
{
	struct proxy *p = c->proxy;
	int flags = c->more ? MSG_MORE : 0;

	if (c->closed)
		return;
	sending_drop_client(c);
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
		p->metrics.response_bytes += (uint64_t)n;
		c->sent_bytes += (uint64_t)n;
		if (c->request != NULL)
			c->request->response_bytes += (uint64_t)n;
		if (client_in_file(c)) {
			client_write_later(c);
			return;
		}
	}
	chain_clear(&c->out, &p->blocks);
	want_write(c, false);
	if (c->state == CLIENT_TUNNEL)
		client_arm(c, p->config->proxy.tunnel_timeout_ns);
	if (c->request != NULL && c->request->response_done)
		request_finish(c->request);
	else if (c->request != NULL)
		request_resume(c->request);
	else if (c->state == CLIENT_LINGER)
		client_end(c);
	else if (c->state == CLIENT_IDLE)
		client_rest(c); /* pipelined ones waited for this */
}

bool
client_is_last(const struct client *c)
{
	unsigned max = c->proxy->config->proxy.keep_alive_requests;

	return max > 0 && c->requests + 1 >= max;
}

void
client_reply(struct client *c, unsigned status, const char *type,
    const char *extra, const char *text, size_t length)
{
	struct proxy *p = c->proxy;
	const struct request *r = c->request;
	char head[1024];
	bool bodiless =
	    text == NULL || (r != NULL && r->method == HTTP_METHOD_HEAD);
	const char *connection = "";
	int n;

	p->metrics.local[status < 600 ? status : 0]++;
	if (p->stopping || client_is_last(c) || (r != NULL && !r->keep_alive))
		c->close = true;
	if (c->close)
		connection = "Connection: close\r\n";
	else if (r != NULL && r->minor_zero)
		connection = "Connection: keep-alive\r\n";
	n = snprintf(head, sizeof(head),
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "%s%s%s%s%s\r\n",
	    status, http_reason(status), type, length, connection,
	    r != NULL ? "x-request-id: " : "", r != NULL ? r->external_id : "",
	    r != NULL ? "\r\n" : "", extra != NULL ? extra : "");
	assert(n > 0 && (size_t)n < sizeof(head));
	if (chain_add(&c->out, &p->blocks, head, (size_t)n) < 0 ||
	    (!bodiless && chain_add(&c->out, &p->blocks, text, length) < 0)) {
		client_close(c);
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
	intake_read(c);
	sending_bound(c->proxy);
}

static void
on_client_writable(evutil_socket_t fd, short what, void *user)
{
	(void)fd;
	(void)what;
	client_flush(user);
}

static void
on_client_timer(void *user, bool forced)
{
	struct client *c = user;
	struct metrics *m = &c->proxy->metrics;
	struct http_refusal refusal = {408, "timeout"};

	(void)forced;
	if (c->unsent ||
	    (client_has_more(c) && taken_bytes(c) != c->taken_bytes)) {
		/* It reads, though not enough for us to write; or we have not
		 * tried yet. */
		c->taken_bytes = taken_bytes(c);
		client_arm(c, c->proxy->config->proxy.client_timeout_ns);
		return;
	}
	if (client_has_more(c)) {
		m->timeouts_write++;
		client_close(c);
		return;
	}
	switch (c->state) {
	case CLIENT_IDLE:
	case CLIENT_LINGER:
		client_close(c);
		return;
	case CLIENT_PREFACE:
		m->timeouts_head++;
		client_close(c);
		return;
	case CLIENT_HEAD:
		m->timeouts_head++;
		intake_refuse(c, &refusal);
		return;
	case CLIENT_BODY:
		/* Who has its answer need not send the rest. */
		if (c->request != NULL && request_is_answered(c->request))
			return;
		m->timeouts_body++;
		intake_refuse(c, &refusal);
		return;
	case CLIENT_TUNNEL:
		m->timeouts_tunnel++;
		client_close(c);
		return;
	case CLIENT_WAITING:
		return;
	}
}

int
client_belongs(struct client *c, const struct peer *peer)
{
	struct proxy *p = c->proxy;
	unsigned max = p->config->proxy.connections_per_address_max;

	c->peer = *peer;
	intake_whole(c);
	peer_leave(&p->peers, c->count);
	c->count = peer_enter(&p->peers, peer);
	if (max == 0 || c->peer.exempt || c->count == NULL ||
	    c->count->connections <= max)
		return 0;
	p->metrics.rejected_address++;
	return -EUSERS;
}

int
client_open(struct proxy *p, int fd, const struct peer *peer, bool preface)
{
	const struct config *config = p->config;
	struct client *c = TAILQ_FIRST(&p->clients_unused);

	if (c != NULL)
		TAILQ_REMOVE(&p->clients_unused, c, link);
	else
		c = malloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->proxy = p;
	c->fd = fd;
	c->cookie = socket_cookie(fd);
	c->accepted = instant_now();
	/* Those behind a PROXY header are counted by what it says. */
	if (!preface && client_belongs(c, peer) < 0) {
		peer_leave(&p->peers, c->count);
		TAILQ_INSERT_HEAD(&p->clients_unused, c, link);
		return -EUSERS;
	}
	c->state = preface ? CLIENT_PREFACE : CLIENT_IDLE;
	event_assign(&c->readable, p->base, fd, EV_READ | EV_PERSIST,
	    on_client_readable, c);
	event_assign(&c->writable, p->base, fd, EV_WRITE | EV_PERSIST,
	    on_client_writable, c);
	timer_init(&c->timer, on_client_timer, c);
	TAILQ_INSERT_TAIL(&p->clients, c, link);
	p->client_count++;
	p->metrics.connections++;
	client_want_read(c, true);
	client_arm(c, preface ? config->proxy.header_timeout_ns
			      : config->proxy.idle_timeout_ns);
	return 0;
}
