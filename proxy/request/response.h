/* response.h: a server's response on its way to a client.
 *
 * A response lies between the attempt that receives it and the client that may
 * get it.  Its head is written again except the last lines.  Its payload is
 * kept until the race is decided, and passed through afterwards.  The framing
 * for the client is chosen only when the head is sent, because the whole body
 * may have arrived by then.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Read a response head.  0, -ENOMEM, or -ENOBUFS if the head and the fields
 * that Tailor adds are too large. */
int response_read(
    struct response *a, const struct request *r, const struct http_head *head);

/* Append the head, and the part of the body that is here, to the client's
 * chain; does not flush it.
 *   whole    no more payload will come
 *   written  when the request's first byte was sent to the server */
void response_send(
    struct response *a, struct request *r, bool whole, struct instant written);

/* Append more payload to the client's chain, framed as the sent head says. */
void
response_forward(struct response *a, struct request *r, struct chain *data);

/* Keep the trailer lines that may be forwarded. */
void response_keep_trailers(
    struct response *a, const struct request *r, struct slice lines);

/* End the body's framing.  0 or -ENOMEM. */
int response_end(struct response *a, struct request *r);

/* Release what it holds. */
void response_fini(struct response *a, struct block_pool *pool);
