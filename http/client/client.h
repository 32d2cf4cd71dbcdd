/* client.h: one HTTP request and its response, for tools that may block.
 *
 * Each exchange has its own connection, TCP or Unix, and one deadline.  The
 * request is HTTP/1.0, so the response has no chunks and no interim response
 * before it.  The server is not trusted: a response that the gate (http.h)
 * refuses, or that is too large, is refused.  Any thread. */
#pragma once

#include <stddef.h>
#include <sys/socket.h>

#include "base/instant.h"

#define HTTP_CLIENT_HEAD_MAX 65536u	     /* bytes */
#define HTTP_CLIENT_RESPONSE_MAX (16u << 20) /* bytes, head and body */

struct http_request {
	const char *method;
	const char *target;
	const char *host;
	const char *json;  /* the body, or NULL */
	const char *token; /* of Authorization: Bearer, or NULL */
};

struct http_response {
	unsigned status;  /* 100 .. 599 */
	const char *body; /* points into bytes */
	size_t length;
	char *bytes; /* owned: all bytes received */
};

/* A connected, non-blocking socket, or a negative errno (-ETIMEDOUT). */
int http_client_connect(
    const struct sockaddr *to, socklen_t length, struct instant deadline);

/* Send a request and read its response; closes fd in any case.
 *   why  set to a static sentence if the response is refused (-EPROTO)
 * Returns 0 (any status), then release *out with http_response_fini; or a
 * negative errno: -ETIMEDOUT, -EFBIG (too large), -EPROTO, those of sockets. */
int http_client_exchange(int fd, const struct http_request *q,
    struct instant deadline, struct http_response *out, const char **why);
void http_response_fini(struct http_response *r);

/* Parse the bytes received so far; a pure function over memory.
 *   ended  the server closed: no more bytes will come
 * Returns 1 if the response is complete, 0 if more bytes are needed, or
 * -EPROTO with *why set.  Without Content-Length the body ends with the
 * connection; with it, a shorter body is refused and a longer one is cut. */
int http_response_parse(const char *bytes, size_t length, bool ended,
    struct http_response *out, const char **why);
