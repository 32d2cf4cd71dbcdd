/* upload.c: a request's body on its way in.
 *
 * A body is kept until it is whole, so that a slow client occupies no server
 * and the request can be sent twice: in memory or, if the body is large or
 * memory for bodies is short, all of it in a file (spool.h). */
#include <stdlib.h>
#include <string.h>

#include "proxy/request/proxy.h"
#include "proxy/request/request.h"

/* A larger body is sent from its blocks, as a copy costs more than it saves. */
#define PACKED_BODY_MAX (BLOCK_BYTES / 2)

/* Set the memory that a request's body takes from BODIES_BYTES_MAX. */
static void
request_charge(struct request *r, uint64_t bytes)
{
	r->proxy->body_kept_bytes += bytes - r->body_kept;
	r->body_kept = bytes;
}

/* True if the part of a body that has arrived may stay in memory. */
static bool
request_may_keep(const struct request *r)
{
	const struct config *c = r->generation->config;

	if (r->body.bytes == 0)
		return true;
	if (r->proxy->body_kept_bytes + chain_held(&r->body) - r->body_kept >
	    BODIES_BYTES_MAX)
		return false;
	if (r->spool.open)
		return !r->body_whole && r->body.bytes < SPOOL_PIECE;
	return r->body.bytes <= c->hedging.body_max_bytes;
}

/* Move the body to its file.  False: it could not be written, and the request
 * has failed with 503. */
static bool
request_spill(struct request *r)
{
	struct proxy *p = r->proxy;

	r->refusal = HEDGE_REFUSED_BODY_SIZE;
	switch (spool_add(&p->loop.spools, &r->spool, &r->body, &p->loop.blocks,
	    SPOOL_REQUEST)) {
	case SPOOL_OK:
		return true;
	case SPOOL_LIMIT:
		request_fail(r, 503, "spool_full");
		return false;
	case SPOOL_FAILED:
		request_fail(r, 503, "spool_failed");
		return false;
	}
	return false;
}

void
request_body(struct request *r, struct chain *data, bool whole)
{
	if (r->state != REQUEST_READING) {
		/* The request has its response already: drop the rest. */
		chain_clear(data, &r->proxy->loop.blocks);
		return;
	}
	r->body_whole = whole;
	chain_merge(&r->body, data, &r->proxy->loop.blocks);
	if (!request_may_keep(r) && !request_spill(r))
		return;
	request_charge(r, chain_held(&r->body));
	if (!whole) {
		request_pack(r);
		return;
	}
	r->body_bytes = r->spool.bytes + r->body.bytes;
	request_dispatch(r);
}

void
request_pack(struct request *r)
{
	bool small = r->body_whole && r->body.bytes > 0 &&
		     r->body.bytes <= PACKED_BODY_MAX;
	size_t body = small ? r->body.bytes : 0, at = r->head.iov_len;
	char *packed;

	if (r->packed != NULL && body == 0)
		return;
	packed = realloc(r->packed, at + body);
	if (packed == NULL)
		return; /* the request keeps its blocks */
	if (r->packed == NULL)
		memcpy(packed, r->head.iov_base, at);
	r->packed = packed;
	r->head.iov_base = packed;
	block_give(&r->proxy->loop.blocks, r->block);
	r->block = NULL;
	if (body == 0)
		return;
	r->small = (struct iovec){packed + at, body};
	for (const struct block *b = r->body.head; b != NULL; b = b->next) {
		memcpy(packed + at, b->data + b->begin, block_bytes(b));
		at += block_bytes(b);
	}
	chain_clear(&r->body, &r->proxy->loop.blocks);
	request_charge(r, body);
}

void
request_drop_message(struct request *r)
{
	struct proxy *p = r->proxy;

	block_give(&p->loop.blocks, r->block);
	r->block = NULL;
	free(r->packed);
	r->packed = NULL;
	r->head = r->small = (struct iovec){0};
	chain_clear(&r->body, &p->loop.blocks);
	spool_close(&p->loop.spools, &r->spool);
	request_charge(r, 0);
}
