/* client.c: all waiting for a socket is in await(). */
#include "http/client/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/http.h"

/* Wait until the socket is ready or the deadline has passed. */
static int
await(int fd, short events, struct instant deadline)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		int64_t left_ns = instant_since(deadline, instant_now());
		int n;

		if (left_ns <= 0)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* After a failed call, wait if needed.  0: try the call again; or a negative
 * errno. */
static int
retry(int fd, short events, struct instant deadline)
{
	if (errno == EINTR)
		return 0;
	return errno == EAGAIN ? await(fd, events, deadline) : -errno;
}

int
http_client_connect(
    const struct sockaddr *to, socklen_t length, struct instant deadline)
{
	int fd = socket(
	    to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(int);
	int err = 0, late = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, to, length) < 0) {
		err = errno == EINPROGRESS ? await(fd, POLLOUT, deadline)
					   : -errno;
		if (err == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_ERROR, &late, &size) < 0)
			late = errno;
	}
	if (err == 0 && late == 0)
		return fd;
	close(fd);
	return err < 0 ? err : -late;
}

static int
send_request(int fd, const struct http_request *q, struct instant deadline)
{
	const char *body = q->json != NULL ? q->json : "";
	const char *token = q->token != NULL ? q->token : "";
	size_t done = 0;
	char *text;
	int err = 0;
	int length = asprintf(&text,
	    "%s %s HTTP/1.0\r\nHost: %s\r\n%s%s%s%sContent-Length: %zu\r\n"
	    "\r\n%s",
	    q->method, q->target, q->host,
	    *token != '\0' ? "Authorization: Bearer " : "", token,
	    *token != '\0' ? "\r\n" : "",
	    q->json != NULL ? "Content-Type: application/json\r\n" : "",
	    strlen(body), body);

	if (length < 0)
		return -ENOMEM;
	while (err == 0 && done < (size_t)length) {
		ssize_t n =
		    send(fd, text + done, (size_t)length - done, MSG_NOSIGNAL);

		if (n >= 0)
			done += (size_t)n;
		else
			err = retry(fd, POLLOUT, deadline);
	}
	free(text);
	return err;
}

static int
refuse(const char *text, const char **why)
{
	*why = text;
	return -EPROTO;
}

int
http_response_parse(const char *bytes, size_t length, bool ended,
    struct http_response *out, const char **why)
{
	static const struct http_limits limits = {
	    .head_max = HTTP_CLIENT_HEAD_MAX, .fields_max = HTTP_FIELDS_MAX};
	struct http_refusal refusal;
	struct http_head head;
	size_t scanned = 0, n = 0;
	enum http_scan end =
	    http_scan(&limits, false, bytes, length, &scanned, &n, &refusal);

	if (end == HTTP_SCAN_MORE)
		return ended ? refuse("the response head is incomplete", why)
			     : 0;
	if (end == HTTP_SCAN_BAD ||
	    http_parse_response(
		&limits, HTTP_METHOD_GET, bytes, n, &head, &refusal) < 0)
		return refuse("the response is not valid HTTP/1", why);
	if (head.framing == HTTP_FRAMING_CHUNKED)
		return refuse("the response has a transfer coding", why);
	out->status = head.status;
	out->body = bytes + n;
	out->length = length - n;
	if (head.framing == HTTP_FRAMING_CLOSE)
		return ended;
	if (head.framing == HTTP_FRAMING_NONE)
		head.content_length = 0;
	if (head.content_length > out->length)
		return ended ? refuse("the response was cut short", why) : 0;
	out->length = head.content_length;
	return 1;
}

/* Read until the response is complete. */
static int
receive_response(int fd, struct instant deadline, struct http_response *out,
    const char **why)
{
	size_t length = 0, capacity = 0;
	int done = 0;

	while (done == 0) {
		ssize_t n;

		if (length == capacity) {
			char *grown;

			if (capacity >= HTTP_CLIENT_RESPONSE_MAX)
				return -EFBIG;
			capacity = capacity == 0 ? 16384 : capacity * 2;
			grown = realloc(out->bytes, capacity);
			if (grown == NULL)
				return -ENOMEM;
			out->bytes = grown;
		}
		n = recv(fd, out->bytes + length, capacity - length, 0);
		if (n < 0) {
			done = retry(fd, POLLIN, deadline);
			continue;
		}
		length += (size_t)n;
		done =
		    http_response_parse(out->bytes, length, n == 0, out, why);
	}
	return done < 0 ? done : 0;
}

int
http_client_exchange(int fd, const struct http_request *q,
    struct instant deadline, struct http_response *out, const char **why)
{
	int err;

	*out = (struct http_response){0};
	err = send_request(fd, q, deadline);
	if (err == 0)
		err = receive_response(fd, deadline, out, why);
	close(fd);
	if (err < 0)
		http_response_fini(out);
	return err;
}

void
http_response_fini(struct http_response *r)
{
	free(r->bytes);
	*r = (struct http_response){0};
}
