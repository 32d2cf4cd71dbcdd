/*
 * client_input.h: what clients send: prefaces, heads, bodies.
 *
 * The reading half of client.c, and private to the two.
 */
#ifndef TAILOR_PROXY_CLIENT_CLIENT_INPUT_H
#define TAILOR_PROXY_CLIENT_CLIENT_INPUT_H

#include "proxy/client/client.h"

/* Register or drop the event; does nothing if it is so. */
void client_want_read(struct client *c, bool want);

/* Start the timer anew. */
void client_arm(struct client *c, int64_t timeout_ns);

/* The socket is readable.  c may be closed on return. */
void intake_read(struct client *c);

/*
 * Look at what has been read.  May be reached again from inside itself (a
 * request answered at once leads to the next pipelined one); then it only
 * notes that and the outer call loops, so the stack stays flat however many
 * requests are pipelined.
 */
void intake_process(struct client *c);

/* Nothing of this connection can be understood any more: answer, close. */
void intake_refuse(struct client *c, const struct http_refusal *refusal);

/* The request is whole, or the connection over: not half-open any more. */
void intake_whole(struct client *c);

#endif
