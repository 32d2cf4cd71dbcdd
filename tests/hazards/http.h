/*
 * http.h: just enough HTTP/1.1 for a server whose requests Tailor writes.
 *
 * Reads a head, responds with a length.  Not a server for strangers: no
 * bodies of requests, no chunks, one request at a time on a connection.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_BYTES 8192

struct connection {
	int fd;	       /* owned */
	int drop_next; /* the next request is to be lost once */
	size_t have;   /* bytes in head[] */
	char head[HTTP_HEAD_BYTES];
};

struct request {
	uint64_t id;	 /* of the field Tailor-Request, 0: none */
	char path[64];	 /* "/compute" */
	char query[128]; /* "us=300" */
};

/*
 * http_read(c, r):
 * Read one request's head, blocking.  Returns 0, -ENODATA at the end of the
 * connection, -EPROTO for what is no head, or another negative errno.
 */
int http_read(struct connection *c, struct request *r);

/* A number of the query, or fallback. */
long http_number(const struct request *r, const char *name, long fallback);

/* Write everything.  0 or a negative errno. */
int http_write(int fd, const void *bytes, size_t length);

/* The head of a response of that length into out; returns its bytes. */
size_t http_head(char *out, size_t size, int status, size_t length);

/* A whole small response in one write. */
int http_respond(int fd, int status, const char *text);
