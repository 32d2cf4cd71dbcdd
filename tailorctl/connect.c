#include "tailorctl/connect.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

int
connect_path(const char *path, struct connect_address *out)
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
parse_tcp(const char *text, struct connect_address *out)
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

int
connect_parse(const char *text, struct connect_address *out)
{
	if (strncmp(text, "unix:", 5) == 0)
		return connect_path(text + 5, out);
	if (strchr(text, '/') != NULL)
		return connect_path(text, out);
	return parse_tcp(text, out);
}

int
connect_wait(int fd, short events, struct instant deadline)
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

int
connect_open(const struct connect_address *to, struct instant deadline)
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
		err = connect_wait(fd, POLLOUT, deadline);
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
