/*
 * reply.h: an HTTP/1.x reply read to its end, taken apart.
 *
 * For a client that asks with HTTP/1.0 and "Connection: close" and gets no
 * chunks.  The sender is not trusted: what does not add up is refused, and
 * says why.  A pure function over memory.
 */
#ifndef TAILOR_TAILORCTL_REPLY_H
#define TAILOR_TAILORCTL_REPLY_H

#include <stddef.h>

struct reply {
	unsigned status;  /* 100 .. 599 */
	const char *body; /* borrowed from the bytes */
	size_t length;
};

/*
 * reply_parse(bytes, length, out, why):
 * Parse a whole reply: everything up to the end of the connection.
 *   why  set to a static sentence when the reply is refused
 * Returns 0, or -EPROTO.  Without Content-Length the body goes to the end;
 * with it, a shorter body is refused and a longer one is cut.
 */
int reply_parse(
    const char *bytes, size_t length, struct reply *out, const char **why);

#endif
