/* http_client.c: sockets wait in await(), which alone knows the deadline. */
#include "base/http_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* After a call that failed: 0 to try it again, or a negative errno. */
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
	size_t done = 0;
	char *text;
	int err = 0;
	int length = asprintf(&text,
	    "%s %s HTTP/1.0\r\nHost: %s\r\n%sContent-Length: %zu\r\n\r\n%s",
	    q->method, q->target, q->host,
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

/* Status of "HTTP/1.x NNN ...", 0 if it is something else. */
static unsigned
status_of(const char *line, size_t length)
{
	unsigned status = 0;

	if (length < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
		return 0;
	for (int i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return 0;
		status = status * 10 + (unsigned)(line[i] - '0');
	}
	if (length > 12 && line[12] != ' ')
		return 0;
	return status >= 100 && status <= 599 ? status : 0;
}

static bool
is_digits(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return length > 0 && length <= 18;
}

/* One field line; a Content-Length goes to *out. */
static int
take_field(const char *line, size_t length, uint64_t *out, const char **why)
{
	static const char name[] = "Content-Length:", coding[] = "Transfer-";
	const char *value = line + sizeof(name) - 1, *end = line + length;

	if (length >= sizeof(coding) - 1 &&
	    strncasecmp(line, coding, sizeof(coding) - 1) == 0) {
		*why = "the response has a transfer coding";
		return -EPROTO;
	}
	if (length < sizeof(name) - 1 ||
	    strncasecmp(line, name, sizeof(name) - 1) != 0)
		return 0;
	while (value < end && *value == ' ')
		value++;
	if (!is_digits(value, (size_t)(end - value)) || *out != UINT64_MAX) {
		*why = "the response's Content-Length is not one number";
		return -EPROTO;
	}
	*out = 0;
	while (value < end)
		*out = *out * 10 + (uint64_t)(*value++ - '0');
	return 0;
}

/* The head, which ends at head_end; *length: UINT64_MAX if it names none. */
static int
parse_head(const char *bytes, const char *head_end, struct http_response *out,
    uint64_t *length, const char **why)
{
	size_t size = (size_t)(head_end + 2 - bytes);
	const char *eol = memmem(bytes, size, "\r\n", 2);

	out->status = status_of(bytes, (size_t)(eol - bytes));
	if (out->status == 0) {
		*why = "the response is not HTTP/1";
		return -EPROTO;
	}
	*length = UINT64_MAX;
	while (eol < head_end) {
		const char *line = eol + 2;

		eol = memmem(line, (size_t)(head_end + 2 - line), "\r\n", 2);
		if (take_field(line, (size_t)(eol - line), length, why) < 0)
			return -EPROTO;
	}
	return 0;
}

int
http_response_parse(const char *bytes, size_t length, bool ended,
    struct http_response *out, const char **why)
{
	size_t limit =
	    length < HTTP_CLIENT_HEAD_MAX ? length : HTTP_CLIENT_HEAD_MAX;
	const char *head_end = memmem(bytes, limit, "\r\n\r\n", 4);
	uint64_t announced;

	if (head_end == NULL) {
		*why = "the response head is incomplete";
		return ended || limit < length ? -EPROTO : 0;
	}
	if (parse_head(bytes, head_end, out, &announced, why) < 0)
		return -EPROTO;
	out->body = head_end + 4;
	out->length = length - (size_t)(out->body - bytes);
	if (announced <= out->length)
		out->length = announced;
	else if (!ended)
		return 0;
	else if (announced != UINT64_MAX) {
		*why = "the response was cut short";
		return -EPROTO;
	}
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
