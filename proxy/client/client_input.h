/* client_input.h: reading PROXY headers, heads and bodies from clients.
 *
 * Private to client.c and client_input.c. */
#pragma once

#include "proxy/client/client.h"

/* Register or remove a client's reading event, unless that is done already. */
void client_want_read(struct client *c, bool want);

/* Start a client's timer anew. */
void client_arm(struct client *c, int64_t timeout_ns);

/* The socket is readable.  c may be closed on return. */
void client_read(struct client *c);

/* Parse the bytes that have been read.  c may be closed on return.  Callbacks
 * of c->ops put this off (c->input) instead of calling it, so it never calls
 * itself. */
void client_process(struct client *c);

/* No further byte of this connection can be parsed: respond, then close. */
void client_refuse(struct client *c, const struct http_refusal *refusal);

/* The request is whole, or the connection over: do not count c as half-open any
 * more. */
void client_is_whole(struct client *c);
