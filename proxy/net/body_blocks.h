/*
 * body_blocks.h: decoding bodies block by block.
 *
 * Sits between the sockets and the pure decoder of http.h: payload is
 * squeezed together inside the block it arrived in, and the block itself is
 * handed on, so that a body is not copied.
 */
#ifndef TAILOR_PROXY_NET_BODY_BLOCKS_H
#define TAILOR_PROXY_NET_BODY_BLOCKS_H

#include "http/http.h"
#include "proxy/net/buffer.h"

/* Decode all of *in.  Payload goes to the end of out.  *in becomes NULL when
 * its block was handed on or used up; bytes behind the body's end stay in it.
 * Returns HTTP_BODY_MORE, HTTP_BODY_DONE or HTTP_BODY_BAD (also when there is
 * no memory: refusal's reason is "no_memory"). */
enum http_body_event body_pull(struct http_body *decoder, struct block **in,
    struct chain *out, struct block_pool *pool, struct http_refusal *refusal);

#endif
