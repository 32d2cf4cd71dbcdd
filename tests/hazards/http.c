/* http.c: see http.h. */
#include "tests/hazards/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
parse(const char *head, struct request *r)
{
	char target[192], *mark;

	memset(r, 0, sizeof(*r));
	if (sscanf(head, "%*s %191s", target) != 1)
		return -EPROTO;
	mark = strchr(target, '?');
	if (mark != NULL) {
		*mark = '\0';
		snprintf(r->query, sizeof(r->query), "%.127s", mark + 1);
	}
	snprintf(r->path, sizeof(r->path), "%.63s", target);
	return 0;
}

int
http_read(struct connection *c, struct request *r)
{
	char *end;
	ssize_t n;
	size_t used;
	int err;

	for (;;) {
		c->head[c->have] = '\0';
		end = strstr(c->head, "\r\n\r\n");
		if (end != NULL)
			break;
		if (c->have == sizeof(c->head) - 1)
			return -EPROTO;
		n = read(
		    c->fd, c->head + c->have, sizeof(c->head) - 1 - c->have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		c->have += (size_t)n;
	}
	end[2] = '\0';
	err = parse(c->head, r);
	used = (size_t)(end - c->head) + 4;
	memmove(c->head, c->head + used, c->have - used);
	c->have -= used;
	return err;
}

const char *
http_value(const struct request *r, const char *name)
{
	size_t n = strlen(name);
	const char *at = r->query;

	while (at != NULL && *at != '\0') {
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
		at = strchr(at, '&');
		if (at != NULL)
			at++;
	}
	return NULL;
}

long
http_number(const struct request *r, const char *name, long fallback)
{
	const char *value = http_value(r, name);

	return value == NULL ? fallback : strtol(value, NULL, 10);
}

int
http_write(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;
	ssize_t n;

	while (length > 0) {
		n = write(fd, at, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

size_t
http_head(char *out, size_t size, int status, const char *truth, size_t length)
{
	return (size_t)snprintf(out, size,
	    "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\n"
	    "Truth: %s\r\nContent-Length: %zu\r\n\r\n",
	    status, status == 200 ? "OK" : "Not Found", truth, length);
}
