/* exchange.c: one request and its response on a connection.
 *
 * Writing: head, the attempt's own lines and body go out in one call.
 * Reading: the socket is read into a block of the pool; a head is scanned,
 * parsed and passed to the user; payload is moved to the user's chain block by
 * block.  After a read that filled its block, several blocks are read at a
 * time, until there is no more: each piece of a body costs a system call and a
 * packet to the client, and fuller pieces are fewer.
 * A callback may detach or close the connection, and the struct may carry
 * another exchange when the callback returns, so the code compares the
 * exchange's serial number after each callback. */
#include "proxy/upstream/exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "proxy/net/socket.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/response_diff.h"
#include "proxy/upstream/server.h"

#define INTERIMS_READ_MAX 64 /* 1xx heads before the response */
#define BATCH_BLOCKS 4
#define READ_BATCHES_MAX 8 /* in a row, before others have their turn */

/* Bytes from one read: u->in and the blocks after it. */
struct read_batch {
	struct block *block[BATCH_BLOCKS];
	unsigned blocks;
	size_t bytes;
	bool emptied; /* the kernel had no more */
};

static void
exchange_sent(struct connection *u)
{
	u->sent_all = true;
	connection_want_write(u, false);
	if (u->out.stream != NULL)
		shutdown(u->fd, SHUT_WR); /* the tunnel's client has ended */
	else if (u->ops != NULL && u->ops->sent != NULL)
		u->ops->sent(u);
}

void
exchange_write(struct connection *u)
{
	struct block_pool *pool = &u->upstream->loop->blocks;
	unsigned serial = u->serial;
	ssize_t sent;

	loop_drop(u->upstream->loop, &u->write);
	while ((sent = message_write(&u->out, u->fd, pool)) != 0) {
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EIO) {
			exchange_lost(u, false, "spool_unreadable");
			return;
		}
		if (sent < 0) {
			/* The reading side reports a lost connection, too,
			 * after a response that may have come early. */
			connection_want_write(u, errno == EAGAIN);
			return;
		}
		u->written_last = instant_now();
		if (!instant_is_set(u->written_first))
			u->written_first = u->written_last;
		if (u->out.stream != NULL && u->ops != NULL &&
		    u->ops->wrote != NULL)
			u->ops->wrote(u);
		if (u->serial != serial)
			return;
		if (message_in_file(&u->out)) {
			connection_want_write(u, true);
			return;
		}
	}
	if (message_done(&u->out))
		exchange_sent(u);
	else
		connection_want_write(u, false);
}

void
exchange_send(struct connection *u, const struct message *message,
    enum http_method method)
{
	u->out = *message;
	u->method = method;
	u->has_body = message_has_body(message);
	u->last = u->has_body && !http_method_has_body(method);
	u->exchanges++;
	u->server->attempts++;
	if (u->state != CONNECTION_BUSY)
		return;
	connection_want_read(u, true);
	if (message->urgent)
		exchange_write(u);
	else if (!u->writing)
		loop_put_off(u->upstream->loop, &u->write);
}

void
exchange_more(struct connection *u, bool ended)
{
	u->out.ended = ended;
	if (u->state == CONNECTION_BUSY && !u->writing && !u->write.waits &&
	    !u->sent_all)
		exchange_write(u);
}

void
exchange_tunnel(struct connection *u, struct chain *stream, bool ended)
{
	u->out.stream = stream;
	u->out.ended = ended;
	u->sent_all = false;
	exchange_write(u);
}

bool
exchange_written(const struct connection *u)
{
	return u->out.sent_bytes > 0;
}

uint64_t
exchange_taken_bytes(const struct connection *u)
{
	if (u->out.sent_bytes == 0)
		return 0;
	return u->out.sent_bytes - socket_queued_bytes(u->fd);
}

/* Pass payload on to the user, or count it as drained. */
static void
exchange_deliver(struct connection *u, struct chain *data)
{
	if (data->bytes == 0)
		return;
	if (u->compared != NULL)
		compare_data(u->compared, u->side, data);
	if (u->ops != NULL && u->ops->data != NULL)
		u->ops->data(u, data);
	else
		u->drained_bytes += data->bytes;
}

/* True if the server has surely read the request's body as its response begins:
 * the status is 2xx (others may follow from the head alone), and the kernel
 * holds no unsent bytes of the body. */
static bool
body_was_read(const struct connection *u, unsigned status)
{
	return status / 100 == 2 && u->sent_all &&
	       socket_queued_bytes(u->fd) == 0;
}

/* Begin to read the body after a head.  A tunnel's bytes end with its
 * connection. */
static void
exchange_begin_body(struct connection *u, const struct http_head *head)
{
	enum http_framing framing =
	    head->status == 101 ? HTTP_FRAMING_CLOSE : head->framing;

	u->head_seen = true;
	u->endless = http_is_stream(head);
	if ((head->status == 401 || head->status == 407) &&
	    http_binds_connection(head))
		connection_make_private(u);
	if (u->compared != NULL)
		compare_status(u->compared, u->side, head->status);
	u->keep_alive = head->keep_alive && framing != HTTP_FRAMING_CLOSE;
	u->said_ns = head->keep_alive_s * NS_PER_S;
	if (!head->keep_alive && head->status < 400 && !u->last &&
	    (u->ops == NULL || !u->ops->once))
		u->server->reuse.ended = instant_now();
	u->last |= u->has_body && !body_was_read(u, head->status);
	http_body_init(&u->body, framing, head->content_length, UINT64_MAX);
	if (framing != HTTP_FRAMING_CHUNKED || !u->out.trailers)
		return;
	/* Without memory trailers are dropped, which is always allowed. */
	u->trailers = block_take(&u->upstream->loop->blocks);
	if (u->trailers != NULL)
		http_body_keep_trailers(&u->body, u->trailers->data);
}

/* The body is whole: end the exchange. */
static void
exchange_complete(struct connection *u)
{
	if (u->body.kept > 0 && u->ops != NULL && u->ops->trailers != NULL)
		u->ops->trailers(u, (struct slice){u->body.keep, u->body.kept});
	exchange_over(u, EXCHANGE_COMPLETE, "complete");
}

/* Read one response head from u->in.  False when more input is needed, or the
 * connection must not be touched any more. */
static bool
exchange_take_head(struct connection *u)
{
	struct http_limits limits = u->upstream->limits;
	struct http_head *head = &u->upstream->scratch;
	struct http_refusal refusal = {0};
	const char *text = u->in->data + u->in->begin;
	unsigned serial = u->serial;
	size_t length = 0;

	limits.upgrade_asked = u->out.upgrade;
	switch (http_scan(&limits, false, text, block_bytes(u->in), &u->scanned,
	    &length, &refusal)) {
	case HTTP_SCAN_MORE:
		return false;
	case HTTP_SCAN_BAD:
		exchange_over(u, EXCHANGE_MALFORMED, refusal.reason);
		return false;
	case HTTP_SCAN_HEAD:
		break;
	}
	if (http_parse_response(
		&limits, u->method, text, length, head, &refusal) < 0) {
		exchange_over(u, EXCHANGE_MALFORMED, refusal.reason);
		return false;
	}
	u->scanned = 0;
	if (head->status == 101 && !http_upgrade_agreed(head)) {
		exchange_over(u, EXCHANGE_MALFORMED, "upgrade_other");
		return false;
	}
	if (head->status == 101 || head->status >= 200) {
		exchange_begin_body(u, head);
		if (u->endless && u->state == CONNECTION_DRAINING) {
			exchange_over(u, EXCHANGE_LIMITED, "endless");
			return false;
		}
		if (u->server->config->collect == CONFIG_COLLECT_HTTP)
			collect_heap_note(u->server, head, instant_now());
		if (u->ops != NULL)
			u->ops->head(u, head);
	} else if (++u->interims > INTERIMS_READ_MAX) {
		exchange_over(u, EXCHANGE_MALFORMED, "too_many_interim");
	} else if (u->ops != NULL && u->ops->interim != NULL) {
		u->ops->interim(u, head);
	}
	if (u->serial != serial)
		return false;
	u->in->begin += (uint32_t)length;
	return true;
}

/* Read the part of a body in a batch.  True if the body is whole; false when
 * more input is needed, or the connection must not be touched any more. */
static bool
exchange_take_body(struct connection *u, struct read_batch *h)
{
	struct http_refusal refusal = {0};
	struct chain data = {0};
	enum http_body_event event;
	unsigned serial = u->serial, i = 1;

	event = body_pull(
	    &u->body, &u->in, &data, &u->upstream->loop->blocks, &refusal);
	for (; i < h->blocks && event == HTTP_BODY_MORE; i++) {
		u->in = h->block[i];
		event = body_pull(&u->body, &u->in, &data,
		    &u->upstream->loop->blocks, &refusal);
	}
	for (; i < h->blocks; i++) {
		/* Bytes after the body: keep one block as a sign of them. */
		if (u->in == NULL)
			u->in = h->block[i];
		else
			block_give(&u->upstream->loop->blocks, h->block[i]);
	}
	h->blocks = 1;
	/* Bytes before an error must not cause a commit. */
	if (event != HTTP_BODY_BAD)
		exchange_deliver(u, &data);
	chain_clear(&data, &u->upstream->loop->blocks);
	if (u->serial != serial)
		return false;
	switch (event) {
	case HTTP_BODY_MORE:
	case HTTP_BODY_DATA:
		if (u->drained_bytes > DRAIN_BYTES_MAX)
			exchange_over(u, EXCHANGE_LIMITED, "drain_limit");
		return false;
	case HTTP_BODY_DONE:
		return true;
	case HTTP_BODY_BAD:
		exchange_over(u, EXCHANGE_MALFORMED, refusal.reason);
		return false;
	}
	return false;
}

static void
exchange_process(struct connection *u, struct read_batch *h)
{
	while (u->in != NULL && block_bytes(u->in) > 0) {
		if (!u->head_seen) {
			if (!exchange_take_head(u))
				return;
		} else if (!exchange_take_body(u, h)) {
			return;
		}
		if (u->head_seen && u->body.done) {
			exchange_complete(u);
			return;
		}
	}
}

void
exchange_lost(struct connection *u, bool orderly, const char *why)
{
	if (connection_rests(u)) {
		u->server->backup.doubted = true;
		reuse_closed(u, instant_now());
		connection_close(u);
		return;
	}
	if (u->received_bytes == 0) {
		if (u->exchanges > 1)
			reuse_closed(u, instant_is_set(u->written_first)
					    ? u->written_first
					    : instant_now());
		exchange_over(u, EXCHANGE_UNANSWERED, why);
	} else if (orderly && u->head_seen && http_body_eof(&u->body)) {
		u->keep_alive = false;
		exchange_over(u, EXCHANGE_COMPLETE, "complete");
	} else {
		exchange_over(u, EXCHANGE_CUT, why);
	}
}

/* Acknowledge a part of a response at once: a server with Nagle's algorithm on
 * holds the next segment back until then, and the kernel delays its
 * acknowledgements.  A whole response is acknowledged by the next request. */
static void
exchange_acknowledge(struct connection *u)
{
	int one = 1;

	if (u->server->config->address.address.ss_family != AF_UNIX)
		setsockopt(u->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
}

/* Prepare the blocks to read into.  False if there is no memory, or a head
 * fills the block: the exchange has failed then. */
static bool
batch_begin(struct connection *u, struct read_batch *h)
{
	struct block_pool *pool = &u->upstream->loop->blocks;

	if (u->in == NULL)
		u->in = block_take(pool);
	else if (block_bytes(u->in) == 0 || block_room(u->in) == 0)
		block_compact(u->in); /* interim heads came first */
	if (u->in == NULL || block_room(u->in) == 0) {
		exchange_lost(
		    u, false, u->in == NULL ? "no_memory" : "head_too_large");
		return false;
	}
	h->block[h->blocks++] = u->in;
	while (u->wide && u->head_seen && h->blocks < BATCH_BLOCKS &&
	       (h->block[h->blocks] = block_take(pool)) != NULL)
		h->blocks++;
	return true;
}

/* Read into the blocks of h, as recv(2).  Gives the blocks that stayed empty
 * back, except u->in. */
static ssize_t
batch_read(struct connection *u, struct read_batch *h)
{
	struct iovec iov[BATCH_BLOCKS] = {{0}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = h->blocks};
	size_t left, room = 0;
	ssize_t n;

	for (unsigned i = 0; i < h->blocks; i++) {
		struct block *b = h->block[i];

		iov[i] = (struct iovec){b->data + b->end, block_room(b)};
		room += iov[i].iov_len;
	}
	n = h->blocks == 1 ? recv(u->fd, iov[0].iov_base, room, 0)
			   : recvmsg(u->fd, &m, 0);
	left = n > 0 ? (size_t)n : 0;
	h->bytes = left;
	h->emptied = left < room;
	u->wide = left >= iov[0].iov_len;
	for (unsigned i = 0; i < h->blocks; i++) {
		size_t part = left < iov[i].iov_len ? left : iov[i].iov_len;

		h->block[i]->end += (uint32_t)part;
		left -= part;
	}
	while (h->blocks > 1 && block_bytes(h->block[h->blocks - 1]) == 0)
		block_give(&u->upstream->loop->blocks, h->block[--h->blocks]);
	return n;
}

/* Read once.  False when there is no more to be read now, or the connection
 * must not be touched any more. */
static bool
exchange_read_batch(struct connection *u, bool last)
{
	unsigned serial = u->serial;
	struct read_batch h = {0};
	ssize_t n;

	u->reads_on = false;
	if (!batch_begin(u, &h))
		return false;
	n = batch_read(u, &h);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (block_bytes(u->in) == 0) {
			block_give(&u->upstream->loop->blocks, u->in);
			u->in = NULL;
		}
		return false;
	}
	if (n <= 0) {
		exchange_lost(u, n == 0, n == 0 ? "closed" : "reset");
		return false;
	}
	u->filled = !h.emptied;
	if (connection_rests(u) || u->write.waits) {
		u->server->extra_bytes += h.bytes;
		exchange_lost(u, false, "extra_bytes");
		return false;
	}
	if (u->received_bytes == 0)
		u->first_byte = instant_now();
	u->received_bytes += h.bytes;
	u->server->reads++;
	u->reads_on = u->filled && !last;
	exchange_process(u, &h);
	if (u->serial != serial)
		return false;
	if (h.emptied)
		exchange_acknowledge(u);
	return u->reads_on && u->reading;
}

void
exchange_read(struct connection *u)
{
	unsigned serial = u->serial, batches = 1;

	while (exchange_read_batch(u, batches == READ_BATCHES_MAX))
		batches++;
	if (u->serial != serial)
		return;
	u->reads_on = false;
	if (u->ops != NULL && u->ops->rest != NULL)
		u->ops->rest(u);
}
