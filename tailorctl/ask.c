/*
 * ask.c: see ask.h.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/instant.h"
#include "tailorctl/ask.h"
#include "tailorctl/plain.h"

#define PLACES 3

struct address {
	struct sockaddr_storage address;
	socklen_t length;
};

static int
address_unix(const char *path, struct address *out)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, length + 1);
	memcpy(&out->address, &sun, sizeof(sun));
	out->length = sizeof(sun);
	return 0;
}

/* "host:port" or "[v6]:port"; only addresses and names that need no DNS. */
static int
address_tcp(const char *text, struct address *out)
{
	struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found;
	const char *colon = strrchr(text, ':');
	char host[256];
	size_t length;

	if (colon == NULL || colon == text)
		return -EINVAL;
	length = (size_t)(colon - text);
	if (text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	if (length >= sizeof(host))
		return -ENAMETOOLONG;
	memcpy(host, text, length);
	host[length] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -EINVAL;
	memcpy(&out->address, found->ai_addr, found->ai_addrlen);
	out->length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int
address_parse(const char *text, struct address *out)
{
	if (strncmp(text, "unix:", 5) == 0)
		return address_unix(text + 5, out);
	if (text[0] == '/' || text[0] == '.')
		return address_unix(text, out);
	return address_tcp(text, out);
}

/* Wait for an event on a socket until the deadline.  0 or negative errno. */
static int
wait_for(int fd, short events, struct instant deadline)
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

/* A connected, non-blocking socket, or a negative errno. */
static int
connect_to(const struct address *to, struct instant deadline)
{
	socklen_t size = sizeof(int);
	int fd, err;

	fd = socket(to->address.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&to->address, to->length) <
	    0) {
		err = -errno;
		if (err != -EINPROGRESS)
			goto fail_socket;
		err = wait_for(fd, POLLOUT, deadline);
		if (err < 0)
			goto fail_socket;
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size);
		if (err != 0) {
			err = -err;
			goto fail_socket;
		}
	}
	return fd;

fail_socket:
	close(fd);
	return err;
}

static int
send_all(int fd, const char *bytes, size_t length, struct instant deadline)
{
	while (length > 0) {
		ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);

		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			int err = wait_for(fd, POLLOUT, deadline);

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
receive_all(int fd, struct answer *out, size_t *length, struct instant deadline)
{
	size_t capacity = 0;

	*length = 0;
	for (;;) {
		ssize_t n;
		int err;

		if (*length == capacity) {
			char *grown;

			if (capacity >= ASK_REPLY_MAX)
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
		err = wait_for(fd, POLLIN, deadline);
		if (err < 0)
			return err;
	}
}

/* Say what went wrong on the way to an answer. */
static void
complain(int err, const struct options *o)
{
	if (err == -ETIMEDOUT)
		fprintf(stderr, "tailorctl: no answer within %g s\n",
		    (double)o->timeout_ns / (double)NS_PER_S);
	else if (err == -EFBIG)
		fprintf(stderr, "tailorctl: the answer is larger than %u MiB\n",
		    ASK_REPLY_MAX >> 20);
	else
		fprintf(
		    stderr, "tailorctl: asking failed: %s\n", strerror(-err));
}

/* Exchange one request and reply over a connected socket, and close it. */
static int
exchange(int fd, const struct options *o, const char *method,
    const char *target, struct answer *out)
{
	struct instant deadline = instant_plus(instant_now(), o->timeout_ns);
	const char *why = NULL;
	char request[1024];
	size_t length = 0;
	int n, err;

	*out = (struct answer){NULL, {0, NULL, 0}};
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
	if (reply_parse(out->bytes, length, &out->reply, &why) < 0) {
		fprintf(stderr, "tailorctl: %s\n", why);
		goto fail;
	}
	return 0;

fail:
	answer_fini(out);
	return -1;
}

/* The admin socket that was named: connect, or say why not. */
static int
connect_named(const char *name, const struct options *o)
{
	struct instant deadline = instant_plus(instant_now(), o->timeout_ns);
	struct address to;
	int fd;

	if (address_parse(name, &to) < 0) {
		fprintf(stderr,
		    "tailorctl: \"%s\" is neither a path nor HOST:PORT\n",
		    name);
		return -1;
	}
	fd = connect_to(&to, deadline);
	if (fd < 0) {
		fprintf(stderr, "tailorctl: no tailor at %s: %s\n", name,
		    strerror(-fd));
		return -1;
	}
	return fd;
}

/*
 * One of the usual places.  /tmp is everybody's: a socket there that belongs
 * to somebody else is not asked.
 */
static int
connect_place(const char *path, const struct options *o)
{
	struct instant deadline = instant_plus(instant_now(), o->timeout_ns);
	struct address to;
	struct stat st;

	if (address_unix(path, &to) < 0)
		return -ENAMETOOLONG;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) ||
	    (strncmp(path, "/tmp/", 5) == 0 && st.st_uid != geteuid()))
		return -EPERM;
	return connect_to(&to, deadline);
}

static int
connect_found(const struct options *o, bool quiet)
{
	char place[PLACES][128];
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int err[PLACES], n = 0;

	snprintf(place[n++], sizeof(place[0]), "/run/tailor/admin.sock");
	if (runtime != NULL && runtime[0] == '/')
		snprintf(place[n++], sizeof(place[0]),
		    "%.90s/tailor/admin.sock", runtime);
	snprintf(place[n++], sizeof(place[0]), "/tmp/tailor-%u/admin.sock",
	    (unsigned)geteuid());
	for (int i = 0; i < n; i++) {
		int fd = connect_place(place[i], o);

		if (fd >= 0)
			return fd;
		err[i] = fd;
	}
	if (quiet)
		return -1;
	fprintf(stderr, "tailorctl: no running tailor was found\n");
	for (int i = 0; i < n; i++)
		fprintf(stderr, "    %s: %s\n", place[i], strerror(-err[i]));
	fprintf(stderr, "Start one, or say where its admin socket is: "
			"--admin ADDR or TAILOR_ADMIN.\n");
	return -1;
}

/* The admin socket that was named, or NULL. */
static const char *
named(const struct options *o)
{
	const char *name = o->admin != NULL ? o->admin : getenv("TAILOR_ADMIN");

	return name != NULL && name[0] != '\0' ? name : NULL;
}

bool
ask_finds(const struct options *options)
{
	int fd;

	if (named(options) != NULL)
		return true;
	fd = connect_found(options, true);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int
ask(const struct options *options, const char *method, const char *target,
    struct answer *out)
{
	const char *name = named(options);
	int fd = name != NULL ? connect_named(name, options)
			      : connect_found(options, false);

	if (fd < 0)
		return -1;
	return exchange(fd, options, method, target, out);
}

void
answer_fini(struct answer *a)
{
	free(a->bytes);
	a->bytes = NULL;
}

void
answer_complain(const struct answer *a)
{
	cJSON *tree = cJSON_ParseWithLength(a->reply.body, a->reply.length);
	const char *error = cJSON_GetStringValue(
	    cJSON_GetObjectItemCaseSensitive(tree, "error"));

	fprintf(stderr, "tailorctl: ");
	if (error != NULL) {
		plain_write(stderr, error, strlen(error));
		fputc('\n', stderr);
	} else if (a->reply.length > 0 && a->reply.length < 400) {
		plain_write(stderr, a->reply.body, a->reply.length);
		if (a->reply.body[a->reply.length - 1] != '\n')
			fputc('\n', stderr);
	} else {
		fprintf(stderr, "the tailor answered with status %u\n",
		    a->reply.status);
	}
	cJSON_Delete(tree);
}

int
ask_ok(const struct options *options, const char *method, const char *target,
    struct answer *out)
{
	if (ask(options, method, target, out) < 0)
		return -1;
	if (out->reply.status == 200)
		return 0;
	answer_complain(out);
	answer_fini(out);
	return -1;
}

char *
ask_escape(const char *text, char *out, size_t size)
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
