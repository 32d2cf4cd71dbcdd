/* response.c: writes a response's head again, and frames its body as the client
 * needs it. */
#include "proxy/request/response.h"

#include <assert.h>

#include "http/writer.h"
#include "proxy/client/client.h"
#include "proxy/client/client_spool.h"

#define LINES_MAX 512 /* room for framing, Connection, Server-Timing */

int
response_read(
    struct response *a, const struct request *r, const struct http_head *head)
{
	int n;

	a->status = (int)head->status;
	a->framing = head->framing;
	a->length = head->content_length;
	a->has_length = head->has_content_length;
	a->by_close = head->framing == HTTP_FRAMING_CLOSE;
	a->stream = http_is_stream(head);
	a->at_once = a->stream || head->status == 101 ||
		     (r->minor_zero && head->framing == HTTP_FRAMING_CLOSE);
	a->head = block_take(&r->proxy->loop.blocks);
	if (a->head == NULL)
		return -ENOMEM;
	n = http_write_response(head, r->external_id,
	    a->head->data + a->head->begin, block_room(a->head) - LINES_MAX);
	if (n < 0)
		return n;
	a->head->end = a->head->begin + (uint32_t)n;
	return 0;
}

/* True for a response that never has a body: to HEAD, 204, 304. */
static bool
is_bodiless(const struct response *a, const struct request *r)
{
	return r->method == HTTP_METHOD_HEAD || a->status == 204 ||
	       a->status == 304;
}

static void
choose_framing(struct response *a, struct request *r, bool whole)
{
	if (a->status == 101) {
		a->framing = HTTP_FRAMING_CLOSE;
		a->has_length = false;
	} else if (is_bodiless(a, r)) {
		a->framing = HTTP_FRAMING_NONE;
	} else if (whole && a->trailers == NULL) {
		a->framing = HTTP_FRAMING_LENGTH;
		a->length = a->body.bytes;
		a->has_length = true;
	} else if (a->framing != HTTP_FRAMING_LENGTH) {
		a->framing =
		    r->minor_zero ? HTTP_FRAMING_CLOSE : HTTP_FRAMING_CHUNKED;
	}
	r->client->delimited =
	    a->framing == HTTP_FRAMING_CLOSE && a->status != 101;
	if (a->framing == HTTP_FRAMING_CLOSE || !r->keep_alive ||
	    r->proxy->clients.stopping)
		r->client->close = true;
}

static void
write_ms(struct writer *w, const char *name, int64_t ns)
{
	uint64_t us = ns < 0 ? 0 : (uint64_t)(ns + NS_PER_US / 2) / 1000;

	writer_text(w, name);
	writer_decimal(w, us / 1000);
	writer_put(w,
	    (char[]){'.', (char)('0' + us / 100 % 10),
		(char)('0' + us / 10 % 10), (char)('0' + us % 10)},
	    4);
}

/* Write framing, Connection, Server-Timing, and the end of the head. */
static void
end_head(struct response *a, const struct request *r, struct instant written)
{
	const struct client *c = r->client;
	struct writer w = {.at = a->head->data + a->head->end,
	    .capacity = sizeof(a->head->data) - a->head->end};

	if (a->has_length && a->status != 204 &&
	    a->framing != HTTP_FRAMING_CHUNKED) {
		writer_text(&w, "Content-Length: ");
		writer_decimal(&w, a->length);
		writer_text(&w, "\r\n");
	}
	if (a->framing == HTTP_FRAMING_CHUNKED)
		writer_text(&w, "Transfer-Encoding: chunked\r\n");
	if (a->status == 101)
		writer_text(&w, HTTP_UPGRADE_LINES);
	else if (c->close)
		writer_text(&w, "Connection: close\r\n");
	else if (r->minor_zero)
		writer_text(&w, "Connection: keep-alive\r\n");
	if ((r->generation->config->proxy.add_fields &
		CONFIG_ADD_SERVER_TIMING) != 0 &&
	    r->known) {
		write_ms(&w, "Server-Timing: tailor;dur=",
		    instant_since(r->committed, r->first_byte));
		write_ms(&w,
		    ", upstream;dur=", instant_since(r->committed, written));
		writer_text(&w, "\r\n");
	}
	writer_text(&w, "\r\n");
	assert(!w.full); /* response_read left LINES_MAX */
	a->head->end += (uint32_t)w.length;
}

void
response_send(
    struct response *a, struct request *r, bool whole, struct instant written)
{
	struct chain body = {0};

	choose_framing(a, r, whole);
	end_head(a, r, written);
	chain_append(client_tail(r->client), a->head);
	a->head = NULL;
	chain_move(&body, &a->body);
	if (body.bytes > 0)
		response_forward(a, r, &body);
}

void
response_forward(struct response *a, struct request *r, struct chain *data)
{
	if (a->framing == HTTP_FRAMING_CHUNKED)
		chain_frame(data);
	chain_merge(client_tail(r->client), data, &r->proxy->loop.blocks);
}

int
response_end(struct response *a, struct request *r)
{
	struct chain *out = client_tail(r->client);
	struct block_pool *pool = &r->proxy->loop.blocks;

	if (a->framing != HTTP_FRAMING_CHUNKED)
		return 0;
	if (a->trailers == NULL)
		return chain_frame_end(out, pool);
	if (chain_add(out, pool, "0\r\n", 3) < 0)
		return -ENOMEM;
	chain_append(out, a->trailers);
	a->trailers = NULL;
	return chain_add(out, pool, "\r\n", 2);
}

void
response_keep_trailers(
    struct response *a, const struct request *r, struct slice lines)
{
	struct block *b = block_take(&r->proxy->loop.blocks);
	int n = 0;

	if (b != NULL)
		n = http_write_trailers(
		    lines, b->data + b->begin, block_room(b));
	if (n <= 0) {
		block_give(&r->proxy->loop.blocks, b);
		return;
	}
	b->end = b->begin + (uint32_t)n;
	a->trailers = b;
}

void
response_fini(struct response *a, struct block_pool *pool)
{
	block_give(pool, a->head);
	block_give(pool, a->trailers);
	a->trailers = NULL;
	chain_clear(&a->body, pool);
	a->head = NULL;
}
