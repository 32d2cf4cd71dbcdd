/*
 * connect.h: a connection to an admin socket whose address is known.
 */
#ifndef TAILOR_TAILORCTL_CONNECT_H
#define TAILOR_TAILORCTL_CONNECT_H

#include <sys/socket.h>

#include "base/instant.h"

struct connect_address {
	struct sockaddr_storage address;
	socklen_t length;
};

/*
 * connect_parse(text, out):
 * "unix:PATH", a path (any text with a slash), "HOST:PORT" or "[v6]:PORT".
 */
int connect_parse(const char *text, struct connect_address *out);

/* A path as an address.  0 or -ENAMETOOLONG. */
int connect_path(const char *path, struct connect_address *out);

/* A connected, non-blocking socket, or a negative errno. */
int connect_open(const struct connect_address *to, struct instant deadline);

/* Wait for events (poll's) of a socket until the deadline.  0 or a negative
 * errno, -ETIMEDOUT. */
int connect_wait(int fd, short events, struct instant deadline);

#endif
