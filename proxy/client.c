/*
 * client.c: reading requests off client connections, writing answers.
 *
 * client_process() is the only place where input is looked at.  It may be
 * reached again from inside itself (a request answered at once leads to the
 * next pipelined one); then it only notes that and the outer call loops, so
 * the stack stays flat however many requests are pipelined.
 */
#include "proxy/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/bodies.h"
#include "proxy/proxy.h"
#include "proxy/socket.h"
#include "proxy/tale_api.h"

static void client_process(struct client *c);

static void
want_read(struct client *c, bool want)
{
	if (c->reading == want)
		return;
	c->reading = want;
	if (want)
		event_add(&c->readable, NULL);
	else
		event_del(&c->readable);
}

static void
want_write(struct client *c, bool want)
{
	if (c->writing == want)
		return;
	c->writing = want;
	if (want)
		event_add(&c->writable, NULL);
	else
		event_del(&c->writable);
}

static void
client_arm(struct client *c, int64_t timeout_ns)
{
	event_add(&c->timer, proxy_timeout(c->proxy, timeout_ns));
}

void
client_pause(struct client *c)
{
	want_read(c, false);
}

void
client_resume(struct client *c)
{
	if (!c->closed && !c->ended)
		want_read(c, true);
}

void
client_close(struct client *c)
{
	struct proxy *p = c->proxy;
	struct request *r = c->request;

	if (c->closed)
		return;
	c->closed = true;
	want_read(c, false);
	want_write(c, false);
	event_del(&c->timer);
	close(c->fd);
	c->fd = -1;
	block_give(&p->blocks, c->in);
	c->in = NULL;
	if (c->call != NULL)
		tale_call_abandon(c);
	TAILQ_REMOVE(&p->clients, c, link);
	TAILQ_INSERT_TAIL(&p->clients_closed, c, link);
	p->client_count--;
	c->request = NULL;
	if (r != NULL)
		request_client_gone(r);
	chain_clear(&c->out, &p->blocks);
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
	if (c->out.bytes > 0) {
		c->state = CLIENT_LINGER; /* client_flush comes back here */
		return;
	}
	if (c->ended) {
		client_close(c);
		return;
	}
	shutdown(c->fd, SHUT_WR);
	c->state = CLIENT_LINGER;
	want_read(c, true);
	client_arm(c, c->proxy->config->proxy.lingering_ns);
}

void
client_next(struct client *c)
{
	const struct config *config = c->proxy->config;
	bool whole = c->state == CLIENT_WAITING;

	if (c->closed)
		return;
	c->requests++;
	if (config->proxy.keep_alive_requests > 0 &&
	    c->requests >= config->proxy.keep_alive_requests)
		c->close = true;
	if (c->close || !whole || c->proxy->stopping ||
	    (c->ended && c->in == NULL)) {
		client_end(c);
		return;
	}
	c->state = CLIENT_IDLE;
	c->scanned = 0;
	if (!c->ended)
		want_read(c, true);
	client_arm(c, config->proxy.idle_timeout_ns);
	client_process(c);
}

void
client_flush(struct client *c)
{
	struct proxy *p = c->proxy;
	struct iovec iov[CHAIN_IOV];

	if (c->closed)
		return;
	while (c->out.bytes > 0) {
		struct msghdr m = {.msg_iov = iov};
		ssize_t n;

		m.msg_iovlen = (size_t)chain_iov(&c->out, iov, CHAIN_IOV);
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			want_write(c, true);
			client_arm(c, p->config->proxy.write_timeout_ns);
			return;
		}
		if (n < 0) {
			client_close(c);
			return;
		}
		p->metrics.response_bytes += (uint64_t)n;
		if (c->request != NULL)
			c->request->response_bytes += (uint64_t)n;
		chain_consume(&c->out, &p->blocks, (size_t)n);
	}
	chain_clear(&c->out, &p->blocks);
	want_write(c, false);
	if (c->request != NULL && c->request->response_done)
		request_finish(c->request);
	else if (c->request != NULL)
		request_resume(c->request);
	else if (c->state == CLIENT_LINGER)
		client_end(c);
}

void
client_reply(struct client *c, unsigned status, const char *type,
    const char *extra, const char *text, size_t length)
{
	struct proxy *p = c->proxy;
	const struct request *r = c->request;
	char head[1024];
	bool bodiless = r != NULL && r->method == HTTP_METHOD_HEAD;
	int n;

	p->metrics.local[status < 600 ? status : 0]++;
	if (p->stopping || (r != NULL && !r->keep_alive))
		c->close = true;
	n = snprintf(head, sizeof(head),
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "%s%s%s%s%s\r\n",
	    status, http_reason(status), type, length,
	    c->close ? "Connection: close\r\n" : "",
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

/* Nothing of this connection can be understood any more: answer, close. */
static void
client_refuse(struct client *c, const struct http_refusal *refusal)
{
	char text[128];
	int n;

	metrics_refusal(&c->proxy->metrics, refusal->reason);
	if (c->request != NULL) {
		request_fail(c->request, refusal->status, refusal->reason);
		return;
	}
	n = snprintf(text, sizeof(text), "%u %s: %s\n", refusal->status,
	    http_reason(refusal->status), refusal->reason);
	c->close = true;
	c->state = CLIENT_LINGER;
	client_reply(c, refusal->status, "text/plain", NULL, text, (size_t)n);
}

/* A whole head lies at the start of c->in. */
static bool
client_take_head(struct client *c, size_t length)
{
	struct proxy *p = c->proxy;
	struct http_head *head = &p->scratch_request;
	struct http_refusal refusal = {0};

	if (http_parse_request(&p->request_limits, c->in->data + c->in->begin,
		length, head, &refusal) < 0) {
		client_refuse(c, &refusal);
		return false;
	}
	p->metrics.keepalive_reuse += c->requests > 0;
	http_body_init(&c->body, head->framing, head->content_length,
	    p->config->proxy.body_max_bytes);
	if (tale_call_wanted(head)) {
		if (tale_call_begin(c, head) < 0)
			return false;
	} else {
		c->request = request_new(c, head);
		if (c->request == NULL) {
			refusal = (struct http_refusal){503, "overloaded"};
			client_refuse(c, &refusal);
			return false;
		}
	}
	if (head->expect_continue && head->minor == 1 && !c->body.done &&
	    block_bytes(c->in) == length &&
	    chain_add(
		&c->out, &p->blocks, "HTTP/1.1 100 Continue\r\n\r\n", 25) == 0)
		client_flush(c);
	if (c->closed)
		return false;
	c->in->begin += (uint32_t)length;
	c->scanned = 0;
	return true;
}

/* Hand over what has arrived of a body. */
static void
client_pass_body(struct client *c, struct chain *data, bool whole)
{
	struct proxy *p = c->proxy;

	p->metrics.request_bytes += data->bytes;
	c->state = whole ? CLIENT_WAITING : CLIENT_BODY;
	if (whole)
		event_del(&c->timer);
	else
		client_arm(c, p->config->proxy.body_timeout_ns);
	if (c->request != NULL)
		request_body(c->request, data, whole);
	else if (c->call != NULL)
		tale_call_body(c, data, whole);
	chain_clear(data, &p->blocks);
}

/* One step; false when no more can be done now. */
static bool
client_step_head(struct client *c)
{
	struct proxy *p = c->proxy;
	struct http_refusal refusal = {0};
	struct chain none = {0};
	size_t length = 0;

	if (c->state == CLIENT_IDLE) {
		c->state = CLIENT_HEAD;
		c->first_byte = instant_now();
		client_arm(c, p->config->proxy.header_timeout_ns);
	}
	switch (http_scan(&p->request_limits, true, c->in->data + c->in->begin,
	    block_bytes(c->in), &c->scanned, &length, &refusal)) {
	case HTTP_SCAN_MORE:
		return false;
	case HTTP_SCAN_BAD:
		client_refuse(c, &refusal);
		return false;
	case HTTP_SCAN_HEAD:
		break;
	}
	if (!client_take_head(c, length))
		return false;
	if (c->body.done) {
		if (block_bytes(c->in) == 0) {
			block_give(&p->blocks, c->in);
			c->in = NULL;
		}
		client_pass_body(c, &none, true);
	} else {
		c->state = CLIENT_BODY;
	}
	return true;
}

static bool
client_step_body(struct client *c)
{
	struct http_refusal refusal = {0};
	struct chain data = {0};

	switch (
	    body_pull(&c->body, &c->in, &data, &c->proxy->blocks, &refusal)) {
	case HTTP_BODY_MORE:
	case HTTP_BODY_DATA:
		client_pass_body(c, &data, false);
		return true;
	case HTTP_BODY_DONE:
		client_pass_body(c, &data, true);
		return true;
	case HTTP_BODY_BAD:
		chain_clear(&data, &c->proxy->blocks);
		client_refuse(c, &refusal);
		return false;
	}
	return false;
}

static bool
client_step(struct client *c)
{
	if (c->closed || c->in == NULL || block_bytes(c->in) == 0)
		return false;
	switch (c->state) {
	case CLIENT_IDLE:
	case CLIENT_HEAD:
		return client_step_head(c);
	case CLIENT_BODY:
		return client_step_body(c);
	case CLIENT_WAITING:
		return false;
	case CLIENT_LINGER:
		block_give(&c->proxy->blocks, c->in);
		c->in = NULL;
		return false;
	}
	return false;
}

static void
client_process(struct client *c)
{
	if (c->processing) {
		c->again = true;
		return;
	}
	c->processing = true;
	do {
		c->again = false;
		while (client_step(c))
			;
	} while (c->again);
	c->processing = false;
	if (!c->closed && c->in != NULL && block_bytes(c->in) == 0) {
		block_give(&c->proxy->blocks, c->in);
		c->in = NULL;
	}
}

/* The client sent FIN.  A half-closed client still wants its answer. */
static void
client_ended(struct client *c)
{
	struct proxy *p = c->proxy;

	c->ended = true;
	want_read(c, false);
	switch (c->state) {
	case CLIENT_HEAD:
		p->metrics.aborts_head++;
		client_close(c);
		return;
	case CLIENT_BODY:
		p->metrics.aborts_body++;
		client_close(c);
		return;
	case CLIENT_IDLE:
	case CLIENT_LINGER:
		client_close(c);
		return;
	case CLIENT_WAITING:
		return;
	}
}

/* Move what is unread to the block's start, so that more fits. */
static void
block_compact(struct block *b)
{
	size_t n = block_bytes(b);

	if (b->begin == BLOCK_HEADROOM)
		return;
	memmove(b->data + BLOCK_HEADROOM, b->data + b->begin, n);
	b->begin = BLOCK_HEADROOM;
	b->end = (uint32_t)(BLOCK_HEADROOM + n);
}

static void
on_client_readable(evutil_socket_t fd, short what, void *user)
{
	struct client *c = user;
	struct block *b;
	ssize_t n;

	(void)what;
	if (c->in == NULL)
		c->in = block_take(&c->proxy->blocks);
	b = c->in;
	if (b == NULL) {
		c->proxy->metrics.rejected_memory++;
		client_close(c);
		return;
	}
	if (block_room(b) == 0)
		block_compact(b);
	if (block_room(b) == 0) {
		/* Pipelined requests wait in the kernel's buffer.  (A head
		 * that fills a block has been refused by its limit.) */
		want_read(c, false);
		return;
	}
	n = recv(fd, b->data + b->end, block_room(b), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		n = -1;
	else if (n < 0)
		client_close(c);
	else if (n == 0)
		client_ended(c);
	else
		b->end += (uint32_t)n;
	if (c->closed)
		return;
	if (n > 0)
		client_process(c);
	else if (block_bytes(b) == 0 && c->in == b) {
		block_give(&c->proxy->blocks, b);
		c->in = NULL;
	}
}

static void
on_client_writable(evutil_socket_t fd, short what, void *user)
{
	(void)fd;
	(void)what;
	client_flush(user);
}

static void
on_client_timer(evutil_socket_t fd, short what, void *user)
{
	struct client *c = user;
	struct metrics *m = &c->proxy->metrics;
	struct http_refusal refusal = {408, "timeout"};

	(void)fd;
	(void)what;
	if (c->out.bytes > 0) {
		m->timeouts_write++;
		client_close(c);
		return;
	}
	switch (c->state) {
	case CLIENT_IDLE:
	case CLIENT_LINGER:
		client_close(c);
		return;
	case CLIENT_HEAD:
		m->timeouts_head++;
		client_refuse(c, &refusal);
		return;
	case CLIENT_BODY:
		m->timeouts_body++;
		client_refuse(c, &refusal);
		return;
	case CLIENT_WAITING:
		return;
	}
}

int
client_open(struct proxy *p, int fd, const struct client_peer *peer)
{
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
	c->state = CLIENT_IDLE;
	c->trusted = peer->trusted;
	c->tale_allowed = peer->tale_allowed;
	memcpy(c->address, peer->address, sizeof(c->address));
	event_assign(&c->readable, p->base, fd, EV_READ | EV_PERSIST,
	    on_client_readable, c);
	event_assign(&c->writable, p->base, fd, EV_WRITE | EV_PERSIST,
	    on_client_writable, c);
	evtimer_assign(&c->timer, p->base, on_client_timer, c);
	TAILQ_INSERT_TAIL(&p->clients, c, link);
	p->client_count++;
	p->metrics.connections++;
	want_read(c, true);
	client_arm(c, p->config->proxy.idle_timeout_ns);
	return 0;
}
