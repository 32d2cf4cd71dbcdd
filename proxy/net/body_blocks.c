/* body_blocks.c: decoding bodies block by block.
 *
 * This calls the pure decoder of http.h for each block.  The payload is moved
 * together inside its block, and the block is passed on, so that a body is not
 * copied to another block. */
#include "proxy/net/buffer.h"

#include <string.h>

enum http_body_event
body_pull(struct http_body *decoder, struct block **in, struct chain *out,
    struct block_pool *pool, struct http_refusal *refusal)
{
	struct block *b = *in;
	enum http_body_event event = HTTP_BODY_MORE;
	uint32_t at = b->begin, first = 0, last = 0;
	struct slice data;
	size_t used;

	while (at < b->end || decoder->done) {
		data = (struct slice){0};
		used = 0;
		event = decoder->done ? HTTP_BODY_DONE
				      : http_body_feed(decoder, b->data + at,
					    b->end - at, &used, &data, refusal);
		at += (uint32_t)used;
		if (data.length > 0) {
			uint32_t from = (uint32_t)(data.at - b->data);

			if (first == last)
				first = last = from;
			if (last != from)
				memmove(b->data + last, data.at, data.length);
			last += (uint32_t)data.length;
		}
		if (event == HTTP_BODY_DONE || event == HTTP_BODY_BAD)
			break;
	}
	if (event == HTTP_BODY_DATA)
		event = HTTP_BODY_MORE;
	if (at < b->end) {
		/* Bytes follow the body and stay in the block: copy payload. */
		if (last > first &&
		    chain_add(out, pool, b->data + first, last - first) < 0) {
			refusal->status = 503;
			refusal->reason = "no_memory";
			event = HTTP_BODY_BAD;
		}
		b->begin = at;
		return event;
	}
	*in = NULL;
	if (last == first) {
		block_give(pool, b);
		return event;
	}
	b->begin = first;
	b->end = last;
	chain_append(out, b);
	return event;
}
