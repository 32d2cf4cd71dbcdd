/* target.h: the server to measure, and the paths to request.
 *
 * One server (host and port, or a Unix socket) and one or more request
 * targets, requested in turn.  Names are resolved once, before the first
 * request, so that a name server is no part of a measurement.  Of several
 * addresses the first that accepts a connection is used (each has 3 s), or the
 * first one if none does.  There is no TLS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define TARGET_HOST_MAX 256
#define TARGET_PATH_MAX 8192

/* A URL taken apart; no allocation. */
struct url {
	bool local;		    /* http+unix: host is a socket's path */
	char host[TARGET_HOST_MAX]; /* no brackets, unescaped if local */
	char port[6];
	char authority[TARGET_HOST_MAX]; /* for the Host header */
	const char *path; /* into the text parsed, or "/"; with query */
};

/* Parse "http://host[:port][/path][?query]" or "http+unix://%2Fsocket[/path]".
 * A fragment, user information and bytes outside visible ASCII are refused.
 * Returns NULL, or the error (constant text). */
const char *url_parse(struct url *u, const char *text);

struct target {
	const char *url;   /* borrowed, as given; or the first of the file */
	struct url server; /* its path is not used */
	struct sockaddr_storage address;
	socklen_t address_length;
	const char **paths; /* owned; targets for the request line */
	size_t path_count;
	char *file; /* owned; text of the URLs file, or NULL */
};

/* Read the URLs, check them, resolve the name.
 *   url        the URL; NULL if urls_path has a full URL in its first line
 *   urls_path  file of targets (/a?b) or URLs of the same server, or NULL;
 *              empty lines and lines that start with # are ignored
 *   why        receives a message for the person on error
 * Returns 0, -EINVAL (usage) or another negative errno (could not run). */
int target_open(struct target *t, const char *url, const char *urls_path,
    char *why, size_t why_size);
void target_close(struct target *t);

/* True if the server's address is a loopback one or a Unix socket. */
bool target_is_local(const struct target *t);
