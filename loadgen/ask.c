/*
 * ask.c: see ask.h.
 */
#include "loadgen/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/instant.h"
#include "loadgen/send/response.h"

#define CHUNK 65536

/* Wait until the socket is ready or time is up. */
static int
wait_for(int fd, short events, struct instant deadline)
{
	struct pollfd p = {.fd = fd, .events = events};
	int64_t left_ns = instant_since(deadline, instant_now());
	int n;

	if (left_ns <= 0)
		return -ETIMEDOUT;
	n = poll(&p, 1, (int)(left_ns / NS_PER_MS + 1));
	if (n < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int
open_connection(const struct target *t, struct instant deadline)
{
	int err = 0;
	socklen_t length = sizeof(err);
	int fd = socket(t->address.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&t->address,
		t->address_length) < 0) {
		err = errno;
		if (err == EINPROGRESS)
			err = -wait_for(fd, POLLOUT, deadline);
		if (err == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) < 0)
			err = errno;
	}
	if (err == 0)
		return fd;
	(void)close(fd);
	return -err;
}

static int
send_all(int fd, const char *text, size_t length, struct instant deadline)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = send(fd, text + done, length - done, MSG_NOSIGNAL);
		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int err = wait_for(fd, POLLOUT, deadline);
		if (err < 0)
			return err;
	}
	return 0;
}

static int
send_question(int fd, const struct target *t, const struct ask *question,
    struct instant deadline)
{
	size_t body = question->body != NULL ? strlen(question->body) : 0;
	char *text;
	int n = asprintf(&text,
	    "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    question->method, question->path, t->server.authority, body,
	    body > 0 ? question->body : "");

	if (n < 0)
		return -ENOMEM;
	int err = send_all(fd, text, (size_t)n, deadline);
	free(text);
	return err;
}

/* What has been read so far; grows. */
struct reading {
	char *bytes; /* owned */
	size_t length;
	size_t capacity;
};

/* Read once; at the end of the stream nothing is added.  0 or negative. */
static int
read_more(int fd, struct reading *r, struct instant deadline)
{
	if (r->length + CHUNK > r->capacity) {
		size_t capacity = 2 * r->capacity + CHUNK;
		if (capacity > 2 * ASK_ANSWER_MAX)
			return -EPROTO;
		char *bytes = realloc(r->bytes, capacity);
		if (bytes == NULL)
			return -ENOMEM;
		r->bytes = bytes;
		r->capacity = capacity;
	}
	for (;;) {
		ssize_t n = recv(fd, r->bytes + r->length, CHUNK - 1, 0);
		if (n >= 0) {
			r->length += (size_t)n;
			return 0;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int err = wait_for(fd, POLLIN, deadline);
		if (err < 0)
			return err;
	}
}

/* The body is the end of what was read: nothing came in chunks or behind it. */
static int
take_body(const struct response *response, const struct reading *r,
    struct answer *out)
{
	size_t length = (size_t)response->body_bytes;

	if (response->chunked || length > ASK_ANSWER_MAX || r->bytes == NULL)
		return -EPROTO;
	out->status = response->status;
	out->length = length;
	out->text = malloc(length + 1);
	if (out->text == NULL)
		return -ENOMEM;
	memcpy(out->text, r->bytes + r->length - length, length);
	out->text[length] = '\0';
	return 0;
}

static int
read_answer(
    int fd, struct reading *r, struct answer *out, struct instant deadline)
{
	struct response response;

	response_init(&response, NULL, false);
	while (response.state != RESPONSE_COMPLETE) {
		size_t before = r->length;
		int err = read_more(fd, r, deadline);
		if (err < 0)
			return err;
		size_t n = r->length - before;
		if (n == 0)
			response_end(&response);
		else if (response_feed(&response, r->bytes + before, n) < n)
			return -EPROTO;
		if (response.state == RESPONSE_MALFORMED ||
		    (n == 0 && response.state != RESPONSE_COMPLETE))
			return -EPROTO;
	}
	return take_body(&response, r, out);
}

int
ask_server(
    const struct target *t, const struct ask *question, struct answer *out)
{
	struct instant deadline =
	    instant_plus(instant_now(), question->timeout_ns);
	struct reading r = {0};
	int fd = open_connection(t, deadline);

	*out = (struct answer){0};
	if (fd < 0)
		return fd;
	int err = send_question(fd, t, question, deadline);
	if (err == 0)
		err = read_answer(fd, &r, out, deadline);
	free(r.bytes);
	(void)close(fd);
	return err;
}
