/* client_input.c: reading requests from client connections.
 *
 * Only client_process() parses input.  A request that has begun and is not
 * whole makes its connection half-open; each address may have a limited number
 * of these.  A body that takes longer than proxy.client_timeout must arrive at
 * BODY_RATE_MIN or more on average. */
#include "proxy/client/client_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "http/http.h"
#include "proxy/client/client.h"
#include "proxy/client/clients.h"
#include "proxy/net/buffer.h"

/* One in 8 of the connections that an address may have may be half-open. */
#define HALF_OPEN_SHARE 8
#define BODY_RATE_MIN 128 /* bytes/s: any network is faster */

void
client_is_whole(struct client *c)
{
	if (!c->half_open)
		return;
	c->half_open = false;
	c->count->half_open--;
	c->clients->half_open--;
}

/* Count a client as half-open, if it is not yet.  False: its address has too
 * many of these. */
static bool
may_be_half_open(struct client *c)
{
	struct clients *all = c->clients;
	unsigned max = all->config->proxy.connections_per_address_max;

	if (c->half_open || c->count == NULL)
		return true;
	if (max > 0 && !c->peer.exempt &&
	    c->count->half_open >=
		(max + HALF_OPEN_SHARE - 1) / HALF_OPEN_SHARE) {
		all->metrics->rejected_half_open++;
		return false;
	}
	c->half_open = true;
	c->count->half_open++;
	all->half_open++;
	return true;
}

void
client_refuse(struct client *c, const struct http_refusal *refusal)
{
	struct client_reply reply = {
	    .status = refusal->status, .type = "text/plain"};
	char text[128], id[CLIENT_ID];

	metrics_reason(&c->clients->metrics->parse, refusal->reason);
	client_is_whole(c);
	if (c->ops != NULL && c->ops->refuse != NULL) {
		c->ops->refuse(c, refusal);
		return;
	}
	if (c->clients->events->refused != NULL) {
		c->clients->events->refused(c, refusal, id);
		reply.request_id = id;
	}
	c->close = true;
	c->state = CLIENT_LINGER;
	if (refusal->status == 405)
		reply.extra = "Allow: " HTTP_METHODS_ALLOWED "\r\n";
	reply.text = text;
	reply.length = (size_t)snprintf(text, sizeof(text), "%u %s: %s\n",
	    refusal->status, http_reason(refusal->status), refusal->reason);
	client_respond(c, &reply);
}

/* Parse the whole head at the start of c->in, and begin its request.  False if
 * c must not be processed further now. */
static bool
take_head(struct client *c, size_t length)
{
	struct clients *all = c->clients;
	struct http_head *head = &all->scratch;
	struct http_refusal refusal = {0};

	if (http_parse_request(&all->limits, c->in->data + c->in->begin, length,
		head, &refusal) < 0) {
		client_refuse(c, &refusal);
		return false;
	}
	client_is_needed(c);
	all->metrics->keepalive_reuse += c->requests > 0;
	http_body_init(&c->body, head->framing, head->content_length,
	    all->config->proxy.body_max_bytes);
	c->body.request = true;
	/* If bytes follow, step_body() checks whether the body is whole. */
	if (!c->body.done && block_bytes(c->in) == length &&
	    !may_be_half_open(c)) {
		refusal = (struct http_refusal){429, "half_open"};
		client_refuse(c, &refusal);
		return false;
	}
	c->minor_zero = head->minor == 0;
	if (!all->events->begin(c, head, &refusal)) {
		if (refusal.reason != NULL)
			client_refuse(c, &refusal);
		return false;
	}
	/* Send 100, unless bytes of the body or the response exist already. */
	if (head->expect_continue && c->response == CLIENT_RESPONSE_NONE &&
	    (c->body.done || block_bytes(c->in) == length) &&
	    chain_add(
		&c->out, all->blocks, "HTTP/1.1 100 Continue\r\n\r\n", 25) == 0)
		client_flush(c);
	if (c->closed)
		return false;
	c->in->begin += (uint32_t)length;
	c->scanned = 0;
	return true;
}

/* True if a body has taken longer than proxy.client_timeout and comes below
 * BODY_RATE_MIN.  False once the response has begun: the client then need not
 * send the rest. */
static bool
is_trickling(const struct client *c)
{
	int64_t ns = instant_since(instant_now(), c->body_since);

	if (ns <= c->clients->config->proxy.client_timeout_ns ||
	    c->response != CLIENT_RESPONSE_NONE)
		return false;
	return (double)c->body.total < BODY_RATE_MIN * ((double)ns / 1e9);
}

/* Pass a piece of the body on to c->ops; whole: the last one. */
static void
pass_body(struct client *c, struct chain *data, bool whole)
{
	struct clients *all = c->clients;

	all->metrics->request_bytes += data->bytes;
	c->state = whole ? CLIENT_WAITING : CLIENT_BODY;
	if (whole) {
		timer_clear(&all->loop->timers, &c->timer);
		client_is_whole(c);
	} else
		client_arm(c, all->config->proxy.client_timeout_ns);
	if (c->ops != NULL)
		c->ops->body(c, data, whole);
	chain_clear(data, all->blocks);
}

/* Pass a tunnel's bytes on to c->ops, and the end if that came before. */
static void
pass_stream(struct client *c)
{
	struct chain data = {0};

	c->clients->metrics->request_bytes += block_bytes(c->in);
	client_arm(c, c->clients->config->proxy.tunnel_timeout_ns);
	chain_append(&data, c->in);
	c->in = NULL;
	if (c->ops != NULL)
		c->ops->stream(c, &data);
	chain_clear(&data, c->clients->blocks);
	if (c->ended && c->ops != NULL)
		c->ops->stream(c, NULL);
}

/* Read the PROXY header, which names the peer. */
static bool
step_proxy_header(struct client *c)
{
	struct clients *all = c->clients;
	struct sockaddr_storage source;
	socklen_t size = sizeof(source);
	struct peer peer;
	size_t used = 0;

	switch (proxy_header_read(
	    c->in->data + c->in->begin, block_bytes(c->in), &used, &source)) {
	case PROXY_HEADER_MORE:
		return false;
	case PROXY_HEADER_BAD:
		/* Not HTTP: close without a response. */
		all->metrics->rejected_proxy_header++;
		client_close(c);
		return false;
	case PROXY_HEADER_LOCAL:
		getpeername(c->fd, (struct sockaddr *)&source, &size);
		break;
	case PROXY_HEADER_READ:
		break;
	}
	c->in->begin += (uint32_t)used;
	peer_describe(all->config, &source, &peer);
	if (client_belongs(c, &peer) < 0) {
		client_close(c);
		return false;
	}
	c->state = CLIENT_IDLE;
	client_arm(c, all->config->proxy.header_timeout_ns);
	return true;
}

/* True if a block holds only a CRLF or a part of it.  One CRLF may precede a
 * request, and old clients send it after a body. */
static bool
is_only_crlf(const struct block *b)
{
	size_t n = block_bytes(b);

	return n <= 2 && memcmp(b->data + b->begin, "\r\n", n) == 0;
}

/* Read a request's head; false when nothing more can be done now. */
static bool
step_head(struct client *c)
{
	struct clients *all = c->clients;
	struct http_refusal refusal = {0};
	struct chain none = {0};
	bool begun = c->state == CLIENT_IDLE;
	size_t length = 0;

	if (begun && is_only_crlf(c->in))
		return false; /* no request has begun */
	/* The timer is set below, only if the head or body is not whole. */
	if (begun) {
		c->state = CLIENT_HEAD;
		c->first_byte = instant_now();
	}
	switch (http_scan(&all->limits, true, c->in->data + c->in->begin,
	    block_bytes(c->in), &c->scanned, &length, &refusal)) {
	case HTTP_SCAN_MORE:
		if (begun)
			client_arm(c, all->config->proxy.header_timeout_ns);
		refusal = (struct http_refusal){429, "half_open"};
		if (!may_be_half_open(c))
			client_refuse(c, &refusal);
		return false;
	case HTTP_SCAN_BAD:
		client_refuse(c, &refusal);
		return false;
	case HTTP_SCAN_HEAD:
		break;
	}
	if (!take_head(c, length))
		return false;
	if (c->body.done) {
		if (block_bytes(c->in) == 0) {
			block_give(all->blocks, c->in);
			c->in = NULL;
		}
		pass_body(c, &none, true);
	} else {
		c->body_since = instant_now();
		c->state = CLIENT_BODY;
		client_arm(c, all->config->proxy.client_timeout_ns);
	}
	return true;
}

static bool
step_body(struct client *c)
{
	struct http_refusal refusal = {0};
	struct chain data = {0};

	if (c->response == CLIENT_RESPONSE_WHOLE) {
		/* The response came early: the rest is not needed. */
		block_give(c->clients->blocks, c->in);
		c->in = NULL;
		return false;
	}
	switch (
	    body_pull(&c->body, &c->in, &data, c->clients->blocks, &refusal)) {
	case HTTP_BODY_MORE:
	case HTTP_BODY_DATA:
		if (is_trickling(c)) {
			c->clients->metrics->timeouts_rate++;
			refusal = (struct http_refusal){408, "body_too_slow"};
			break;
		}
		if (!may_be_half_open(c)) {
			refusal = (struct http_refusal){429, "half_open"};
			break;
		}
		pass_body(c, &data, false);
		return true;
	case HTTP_BODY_DONE:
		pass_body(c, &data, true);
		return true;
	case HTTP_BODY_BAD:
		break;
	}
	chain_clear(&data, c->clients->blocks);
	client_refuse(c, &refusal);
	return false;
}

static bool
step(struct client *c)
{
	uint64_t bytes;

	if (c->closed || c->in == NULL || block_bytes(c->in) == 0)
		return false;
	switch (c->state) {
	case CLIENT_PROXY_HEADER:
		return step_proxy_header(c);
	case CLIENT_IDLE:
		if (c->out.bytes > 0)
			return false; /* not while it has unread output */
		return step_head(c);
	case CLIENT_HEAD:
		return step_head(c);
	case CLIENT_BODY:
		return step_body(c);
	case CLIENT_WAITING:
		return false;
	case CLIENT_TUNNEL:
		pass_stream(c);
		return false;
	case CLIENT_LINGER:
		bytes = block_bytes(c->in);
		block_give(c->clients->blocks, c->in);
		c->in = NULL;
		client_linger(c, bytes);
		return false;
	}
	return false;
}

/* The client sends no more: close, as its request can never become whole.  A
 * client that waits for a response may be half-closed: c->ops decides. */
static void
input_over(struct client *c)
{
	struct metrics *m = c->clients->metrics;

	switch (c->state) {
	case CLIENT_HEAD:
		m->aborts_head++;
		client_close(c);
		return;
	case CLIENT_BODY:
		if (c->response == CLIENT_RESPONSE_WHOLE)
			return; /* the end of its response is on its way */
		m->aborts_body++;
		client_close(c);
		return;
	case CLIENT_IDLE:
	case CLIENT_LINGER:
		if (c->out.bytes == 0)
			client_close(c);
		return;
	case CLIENT_PROXY_HEADER:
		client_close(c);
		return;
	case CLIENT_WAITING:
		if (c->ops != NULL && c->ops->ended != NULL)
			c->ops->ended(c);
		return;
	case CLIENT_TUNNEL:
		return;
	}
}

void
client_process(struct client *c)
{
	while (step(c))
		;
	if (c->closed)
		return;
	if (c->in != NULL && block_bytes(c->in) == 0) {
		block_give(c->clients->blocks, c->in);
		c->in = NULL;
	}
	if (c->ended)
		input_over(c);
}

/* The client sent FIN. */
static void
client_ended(struct client *c)
{
	c->ended = true;
	client_want_read(c, false);
	if (c->state == CLIENT_TUNNEL && c->ops != NULL)
		c->ops->stream(c, NULL);
	else
		input_over(c);
}

void
client_read(struct client *c)
{
	struct block *b;
	ssize_t n;

	if (c->in == NULL)
		c->in = block_take(c->clients->blocks);
	b = c->in;
	if (b == NULL) {
		c->clients->metrics->rejected_memory++;
		client_cut(c, "no_memory");
		return;
	}
	if (block_room(b) == 0)
		block_compact(b);
	if (block_room(b) == 0) {
		/* Pipelined requests wait in the kernel's buffer.  (A head
		 * that fills a block has been refused by its limit.) */
		client_want_read(c, false);
		return;
	}
	n = recv(c->fd, b->data + b->end, block_room(b), 0);
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
		block_give(c->clients->blocks, b);
		c->in = NULL;
	}
}
