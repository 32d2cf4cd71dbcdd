#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/instant.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/connect.h"
#include "tailorctl/field.h"
#include "tailorctl/find.h"
#include "tailorctl/plain.h"

static int
send_all(int fd, const char *bytes, size_t length, struct instant deadline)
{
	while (length > 0) {
		ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);

		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			int err = connect_wait(fd, POLLOUT, deadline);

			if (err < 0)
				return err;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* Read to the end of the connection. */
static int
receive_all(
    int fd, struct admin_response *out, size_t *length, struct instant deadline)
{
	size_t capacity = 0;

	*length = 0;
	for (;;) {
		ssize_t n;
		int err;

		if (*length == capacity) {
			char *grown;

			if (capacity >= RESPONSE_MAX)
				return -EFBIG;
			capacity = capacity == 0 ? 16384 : capacity * 2;
			grown = realloc(out->bytes, capacity);
			if (grown == NULL)
				return -ENOMEM;
			out->bytes = grown;
		}
		n = recv(fd, out->bytes + *length, capacity - *length, 0);
		if (n == 0)
			return 0;
		if (n > 0) {
			*length += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		err = connect_wait(fd, POLLIN, deadline);
		if (err < 0)
			return err;
	}
}

/* Print why there is no response. */
static void
complain(int err, const struct options *o)
{
	if (err == -ETIMEDOUT)
		fprintf(stderr, "tailorctl: no response within %g s\n",
		    (double)o->timeout_ns / (double)NS_PER_S);
	else if (err == -EFBIG)
		fprintf(stderr,
		    "tailorctl: the response is larger than %u MiB\n",
		    RESPONSE_MAX >> 20);
	else
		fprintf(stderr, "tailorctl: the request failed: %s\n",
		    strerror(-err));
}

/* Exchange one request and response over a connected socket, and close it. */
static int
exchange(int fd, const struct options *o, const char *method,
    const char *target, struct admin_response *out)
{
	struct instant deadline = instant_plus(instant_now(), o->timeout_ns);
	const char *why = NULL;
	char request[1024];
	size_t length = 0;
	int n, err;

	*out = (struct admin_response){NULL, {0, NULL, 0}};
	n = snprintf(request, sizeof(request),
	    "%s %s HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
	    method, target);
	if (n < 0 || (size_t)n >= sizeof(request))
		err = -ENAMETOOLONG;
	else
		err = send_all(fd, request, (size_t)n, deadline);
	if (err == 0)
		err = receive_all(fd, out, &length, deadline);
	close(fd);
	if (err < 0) {
		complain(err, o);
		goto fail;
	}
	if (response_parse(out->bytes, length, &out->response, &why) < 0) {
		fprintf(stderr, "tailorctl: %s\n", why);
		goto fail;
	}
	return 0;

fail:
	admin_response_fini(out);
	return -1;
}

int
admin_request(const struct options *options, const char *method,
    const char *target, struct admin_response *out)
{
	int fd = find_tailor(options);

	if (fd < 0)
		return -1;
	return exchange(fd, options, method, target, out);
}

void
admin_response_fini(struct admin_response *a)
{
	free(a->bytes);
	a->bytes = NULL;
}

/* Print Tailor's message and advice, wrapped for a terminal. */
static void
complain_of(const cJSON *tree, const char *error)
{
	static const char program[] = "tailorctl: ";
	const char *advice = field_text(tree, "advice");
	char text[1024];

	snprintf(text, sizeof(text), "%.500s%s%.400s%s", error,
	    advice != NULL ? ": " : "", advice != NULL ? advice : "",
	    field_true(tree, "forceable") ? "; use --force to do it all the "
					    "same"
					  : "");
	fputs(program, stderr);
	plain_wrap(stderr, text, sizeof(program) - 1);
}

void
admin_response_complain(const struct admin_response *a)
{
	cJSON *tree =
	    cJSON_ParseWithLength(a->response.body, a->response.length);
	const char *error = field_text(tree, "error");

	if (error != NULL) {
		complain_of(tree, error);
	} else if (a->response.length > 0 && a->response.length < 400) {
		fprintf(stderr, "tailorctl: ");
		plain_write(stderr, a->response.body, a->response.length);
		if (a->response.body[a->response.length - 1] != '\n')
			fputc('\n', stderr);
	} else {
		fprintf(stderr, "tailorctl: Tailor responded with status %u\n",
		    a->response.status);
	}
	cJSON_Delete(tree);
}

/* A tailor's name comes from its listener: "8080" for 127.0.0.1:8080. */
void
admin_response_not_json(const struct options *options)
{
	const char *given = options->admin;
	const char *port = given != NULL ? strrchr(given, ':') : NULL;
	char cell[16];

	fprintf(stderr, "tailorctl: not JSON: -a expects a tailor's "
			"name or admin socket");
	if (port != NULL && port[1] != '\0' && strchr(port, '/') == NULL)
		fprintf(stderr, "; try -a %s",
		    plain_cell(cell, sizeof(cell), port + 1, 12));
	fputc('\n', stderr);
}

int
admin_request_ok(const struct options *options, const char *method,
    const char *target, struct admin_response *out)
{
	if (admin_request(options, method, target, out) < 0)
		return -1;
	if (out->response.status == 200)
		return 0;
	admin_response_complain(out);
	admin_response_fini(out);
	return -1;
}

char *
admin_escape(const char *text, char *out, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (; *text != '\0' && n + 4 <= size; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
		    c == '_' || c == '~') {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	out[n] = '\0';
	return out;
}
