/*
 * response.h: parse a complete HTTP/1.x response.
 *
 * For a client that sends HTTP/1.0 and "Connection: close" and gets no chunks.
 * The sender is not trusted: an inconsistent response is refused with a reason.
 * A pure function over memory.
 */
#ifndef TAILOR_TAILORCTL_RESPONSE_H
#define TAILOR_TAILORCTL_RESPONSE_H

#include <stddef.h>

struct response {
	unsigned status;  /* 100 .. 599 */
	const char *body; /* borrowed from the bytes */
	size_t length;
};

/*
 * response_parse(bytes, length, out, why):
 * Parse a whole response: everything up to the end of the connection.
 *   why  set to a static sentence when it is refused
 * Returns 0, or -EPROTO.  Without Content-Length the body goes to the end;
 * with it, a shorter body is refused and a longer one is cut.
 */
int response_parse(
    const char *bytes, size_t length, struct response *out, const char **why);

#endif
