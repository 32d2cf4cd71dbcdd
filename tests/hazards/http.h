/*
 * http.h: just enough HTTP/1.1 for a server whose requests Tailor writes.
 *
 * Reads a head, responds with a length.  Not a server for strangers: no
 * bodies of requests, no chunks, one request at a time on a connection.
 */
#pragma once

#include <stddef.h>

#define HTTP_HEAD_BYTES 8192

struct connection {
	int fd;	       /* owned */
	int drop_next; /* the next request is to be lost once */
	size_t have;   /* bytes in head[] */
	char head[HTTP_HEAD_BYTES];
};

struct request {
	char path[64];	 /* "/work" */
	char query[128]; /* "kind=compute&us=300" */
};

/*
 * http_read(c, r):
 * Read one request's head, blocking.  Returns 0, -ENODATA at the end of the
 * connection, -EPROTO for what is no head, or another negative errno.
 */
int http_read(struct connection *c, struct request *r);

/* Value of a name in the query, up to its '&' or end; NULL if it has none. */
const char *http_value(const struct request *r, const char *name);

/* A number of the query, or fallback. */
long http_number(const struct request *r, const char *name, long fallback);

/* Write everything.  0 or a negative errno. */
int http_write(int fd, const void *bytes, size_t length);

/*
 * Head of a response with that status, that field "Truth", and a body of that
 * length, into out; returns its bytes.
 */
size_t
http_head(char *out, size_t size, int status, const char *truth, size_t length);
