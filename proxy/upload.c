/*
 * upload.c: a request's body on its way in.
 *
 * It is kept until it is whole, so that the request can be sent twice and a
 * slow client holds no server; one that is too large for that is passed on
 * as it comes, to one server.  A tunnel's bytes are such a body without end.
 */
#include "proxy/attempt.h"
#include "proxy/client.h"
#include "proxy/proxy.h"
#include "proxy/request.h"

/* Whether a body this large may be kept for a second attempt. */
static bool
request_may_keep(const struct request *r)
{
	const struct config *c = r->generation->config;

	return r->body.bytes <= c->hedging.body_max_bytes &&
	       r->proxy->body_kept_bytes + r->body.bytes - r->body_kept <=
		   c->hedging.table_max_bytes;
}

/* Pass a body on as it comes, instead of keeping it.  False: r is gone. */
static bool
request_stream(struct request *r, struct chain *data, bool whole)
{
	struct block_pool *pool = &r->proxy->blocks;
	bool chunked = r->body_bytes == 0;

	if (chunked)
		chain_frame(data);
	chain_merge(&r->body, data, pool);
	if (chunked && whole && chain_frame_end(&r->body, pool) < 0) {
		request_fail(r, 503, "no_memory");
		return false;
	}
	if (chain_held(&r->body) >
	    r->generation->config->proxy.stream_buffer_bytes)
		client_pause(r->client);
	for (int i = 0; i < RACE_ATTEMPTS; i++)
		attempt_more(&r->attempt[i]); /* of the one that runs */
	return true;
}

void
request_body_add(struct request *r, struct block **b)
{
	struct chain data = {0};

	chain_append(&data, *b);
	*b = NULL;
	chain_merge(&r->body, &data, &r->proxy->blocks);
	if (chain_held(&r->body) >
	    r->generation->config->proxy.stream_buffer_bytes)
		client_pause(r->client);
}

void
request_body(struct request *r, struct chain *data, bool whole)
{
	struct chain kept = {0};

	r->body_whole = whole;
	if (r->streaming) {
		request_stream(r, data, whole);
		return;
	}
	if (r->state != REQUEST_READING) {
		/* Answered already; the rest is read only to be dropped. */
		chain_clear(data, &r->proxy->blocks);
		return;
	}
	chain_merge(&r->body, data, &r->proxy->blocks);
	if (request_may_keep(r)) {
		r->proxy->body_kept_bytes += r->body.bytes - r->body_kept;
		r->body_kept = r->body.bytes;
		if (!whole)
			return;
		r->body_bytes = r->body.bytes;
	} else {
		/* Too large to be sent twice. */
		r->proxy->body_kept_bytes -= r->body_kept;
		r->body_kept = 0;
		r->streaming = true;
		r->note = "not_hedged:body_size";
		chain_move(&kept, &r->body);
		if (!request_stream(r, &kept, whole))
			return;
	}
	request_dispatch(r);
}
