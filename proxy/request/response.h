/* response.h: a server's response on its way to a client.
 *
 * Between the attempt that receives it and the client that may get it: its
 * head written again but for the last lines, and its payload, kept until the
 * race is decided and passed through from then on.  How the body is framed
 * for the client is decided when the head is sent, not before: by then it
 * may be known whole.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Take a response head in.  0, -ENOMEM, or -ENOBUFS if it is too large once
 * ours is added. */
int response_read(
    struct response *a, const struct request *r, const struct http_head *head);

/* Give the head and what there is of the body to the client's chain; does
 * not flush it.
 *   whole    no more payload will come
 *   written  when the request had been handed to the server */
void response_send(
    struct response *a, struct request *r, bool whole, struct instant written);

/* Pass more payload on to the client's chain, framed as its head said. */
void
response_forward(struct response *a, struct request *r, struct chain *data);

/* Take trailer lines in, those that may be forwarded. */
void response_keep_trailers(
    struct response *a, const struct request *r, struct slice lines);

/* End the body's framing.  0 or -ENOMEM. */
int response_end(struct response *a, struct request *r);

/* Release what it holds. */
void response_fini(struct response *a, struct block_pool *pool);
