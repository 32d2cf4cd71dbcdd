/* client_input.h: what clients send: PROXY headers, heads, bodies.
 *
 * The reading half of client.c, and private to the two. */
#pragma once

#include "proxy/client/client.h"

/* Register or drop a client's reading event; does nothing if it is so. */
void client_want_read(struct client *c, bool want);

/* Start a client's timer anew. */
void client_arm(struct client *c, int64_t timeout_ns);

/* The socket is readable.  c may be closed on return. */
void client_read(struct client *c);

/* Look at what has been read.  c may be closed on return.  From a callback of
 * something that serves a request it is put off (c->input), so it is never
 * reached from inside itself. */
void client_process(struct client *c);

/* Nothing of this connection can be understood any more: respond, close. */
void client_refuse(struct client *c, const struct http_refusal *refusal);

/* The request is whole, or the connection over: not half-open any more. */
void client_is_whole(struct client *c);
