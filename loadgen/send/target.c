#include "loadgen/send/target.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "http/client/client.h"

#define TRY_NS (3 * NS_PER_S) /* for each address, if there are several */

static int
resolve_local(struct target *t, char *why, size_t why_size)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t length = strlen(t->server.host);

	if (length >= sizeof(sun.sun_path)) {
		snprintf(why, why_size,
		    "%s: a socket's path has at most %zu bytes", t->server.host,
		    sizeof(sun.sun_path) - 1);
		return -EINVAL;
	}
	memcpy(sun.sun_path, t->server.host, length);
	memcpy(&t->address, &sun, sizeof(sun));
	t->address_length = sizeof(sun);
	return 0;
}

/* Use the first address that accepts a connection, or the first one: a server
 * on localhost may listen on 127.0.0.1 only, or on ::1 only. */
static void
choose_address(struct target *t, const struct addrinfo *found)
{
	const struct addrinfo *chosen = found;

	for (const struct addrinfo *a = found;
	     found->ai_next != NULL && a != NULL; a = a->ai_next) {
		int fd = http_client_connect(a->ai_addr, a->ai_addrlen,
		    instant_plus(instant_now(), TRY_NS));
		if (fd < 0)
			continue;
		close(fd);
		chosen = a;
		break;
	}
	memcpy(&t->address, chosen->ai_addr, chosen->ai_addrlen);
	t->address_length = chosen->ai_addrlen;
}

static int
resolve(struct target *t, char *why, size_t why_size)
{
	struct addrinfo hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int code;

	if (t->server.local)
		return resolve_local(t, why, why_size);
	code = getaddrinfo(t->server.host, t->server.port, &hints, &found);
	if (code != 0) {
		snprintf(why, why_size, "%s: %s", t->server.host,
		    gai_strerror(code));
		return -EHOSTUNREACH;
	}
	choose_address(t, found);
	freeaddrinfo(found);
	return 0;
}

static bool
same_server(const struct url *a, const struct url *b)
{
	return a->local == b->local && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->port, b->port) == 0;
}

/* Add a line of the URLs file.  Returns NULL, or what is wrong with it. */
static const char *
add_line(struct target *t, const char *line)
{
	struct url u;
	const char *wrong;

	if (*line == '/') {
		if (t->url == NULL)
			return "must be a full URL, as none was given";
		for (const char *c = line; *c != '\0'; c++) {
			if (*c <= ' ' || *c == 0x7f || *c == '#')
				return "has a character that must be escaped";
		}
		if (strlen(line) > TARGET_PATH_MAX)
			return "is too long";
		t->paths[t->path_count++] = line;
		return NULL;
	}
	wrong = url_parse(&u, line);
	if (wrong != NULL)
		return wrong;
	if (t->url == NULL) {
		t->url = line;
		t->server = u;
	} else if (!same_server(&u, &t->server)) {
		return "is on another server; all must be on one";
	}
	/* "/" may be our own constant; else it points into the line. */
	t->paths[t->path_count++] = u.path;
	return NULL;
}

static int
read_urls(struct target *t, const char *path, char *why, size_t why_size)
{
	size_t length;
	size_t lines = 1;
	unsigned number = 1;
	int err;

	err = file_read(path, &t->file, &length);
	if (err < 0) {
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		return err;
	}
	for (size_t i = 0; i < length; i++)
		lines += t->file[i] == '\n';
	t->paths = calloc(lines, sizeof(*t->paths));
	if (t->paths == NULL) {
		snprintf(why, why_size, "%s: out of memory", path);
		return -ENOMEM;
	}
	for (char *next = t->file, *line; (line = strsep(&next, "\n"));
	     number++) {
		size_t n = strlen(line);
		if (n > 0 && line[n - 1] == '\r')
			line[--n] = '\0';
		if (n == 0 || *line == '#')
			continue;
		const char *wrong = add_line(t, line);
		if (wrong != NULL) {
			snprintf(
			    why, why_size, "%s:%u: %s", path, number, wrong);
			return -EINVAL;
		}
	}
	if (t->path_count == 0) {
		snprintf(why, why_size, "%s: has no URL", path);
		return -EINVAL;
	}
	return 0;
}

static int
use_url(struct target *t, const char *url, char *why, size_t why_size)
{
	const char *wrong = url_parse(&t->server, url);

	if (wrong != NULL) {
		snprintf(why, why_size, "the URL %s", wrong);
		return -EINVAL;
	}
	t->url = url;
	return 0;
}

int
target_open(struct target *t, const char *url, const char *urls_path, char *why,
    size_t why_size)
{
	int err = 0;

	memset(t, 0, sizeof(*t));
	if (url != NULL)
		err = use_url(t, url, why, why_size);
	if (err == 0 && urls_path != NULL) {
		err = read_urls(t, urls_path, why, why_size);
	} else if (err == 0) {
		t->paths = calloc(1, sizeof(*t->paths));
		if (t->paths == NULL) {
			snprintf(why, why_size, "out of memory");
			err = -ENOMEM;
		} else {
			t->paths[t->path_count++] = t->server.path;
		}
	}
	if (err == 0)
		err = resolve(t, why, why_size);
	if (err < 0)
		target_close(t);
	return err;
}

void
target_close(struct target *t)
{
	free(t->paths);
	free(t->file);
	memset(t, 0, sizeof(*t));
}

bool
target_is_local(const struct target *t)
{
	if (t->address.ss_family == AF_INET) {
		struct sockaddr_in v4;
		memcpy(&v4, &t->address, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
	}
	if (t->address.ss_family == AF_INET6) {
		struct sockaddr_in6 v6;
		memcpy(&v6, &t->address, sizeof(v6));
		return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
	}
	return t->address.ss_family == AF_UNIX;
}

/* --- URLs ----------------------------------------------------------------- */

/* Skip prefix if the text starts with it; false: it does not. */
static bool
take_prefix(const char **text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(*text, prefix, n) != 0)
		return false;
	*text += n;
	return true;
}

/* Decode the % escapes of a socket's path.  Returns NULL or the fault. */
static const char *
parse_socket_path(struct url *u, const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (c == '%') {
			/* Reading behind length is safe: text ends in NUL. */
			int high = hex_value(text[i + 1]);
			int low = high < 0 ? -1 : hex_value(text[i + 2]);
			if (low < 0 || i + 2 >= length || high + low == 0)
				return "has a wrong % in the socket path";
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (n == sizeof(u->host) - 1)
			return "has too long a socket path";
		u->host[n++] = c;
	}
	u->host[n] = '\0';
	snprintf(u->authority, sizeof(u->authority), "localhost");
	return n == 0 ? "has no socket path" : NULL;
}

static const char *
parse_port(struct url *u, const char *text, size_t length)
{
	unsigned port = 0;

	if (length == 0 || length >= sizeof(u->port))
		return "has an invalid port";
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return "has an invalid port";
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	if (port == 0 || port > 65535)
		return "has an invalid port";
	memcpy(u->port, text, length);
	u->port[length] = '\0';
	return NULL;
}

static const char *
parse_authority(struct url *u, const char *text, size_t length)
{
	const char *end = text + length;
	const char *host = text;
	const char *host_end;

	if (length == 0 || length >= sizeof(u->authority))
		return "has no host, or one that is too long";
	if (memchr(text, '@', length) != NULL)
		return "has user information, which is not supported";
	if (*text != '[' && memchr(text, ':', length) != NULL &&
	    memchr(text, ':', length) != memrchr(text, ':', length))
		return "needs [brackets] around an IPv6 address";
	memcpy(u->authority, text, length);
	u->authority[length] = '\0';
	if (*host == '[') {
		host++;
		host_end = memchr(host, ']', (size_t)(end - host));
		if (host_end == NULL)
			return "has no ] after the address";
		text = host_end + 1;
	} else {
		host_end = memchr(host, ':', length);
		if (host_end == NULL)
			host_end = end;
		text = host_end;
	}
	if (host_end == host)
		return "has no host";
	memcpy(u->host, host, (size_t)(host_end - host));
	u->host[host_end - host] = '\0';
	snprintf(u->port, sizeof(u->port), "80");
	if (text == end)
		return NULL;
	if (*text != ':')
		return "has something other than a port after the host";
	return parse_port(u, text + 1, (size_t)(end - text - 1));
}

const char *
url_parse(struct url *u, const char *text)
{
	memset(u, 0, sizeof(*u));
	for (const char *c = text; *c != '\0'; c++) {
		if (*c <= ' ' || *c == 0x7f)
			return "has a space, control or non-ASCII character";
		if (*c == '#')
			return "has a fragment, which no server sees";
	}
	if (take_prefix(&text, "http+unix://"))
		u->local = true;
	else if (take_prefix(&text, "https://"))
		return "needs TLS: not supported; measure behind the TLS "
		       "proxy";
	else if (!take_prefix(&text, "http://") && strstr(text, "://") != NULL)
		return "has another scheme than http:// or http+unix://";
	size_t length = strcspn(text, "/?");
	u->path = text + length;
	if (*u->path == '\0')
		u->path = "/";
	else if (*u->path == '?')
		return "has a query but no path: write /?";
	if (strlen(u->path) > TARGET_PATH_MAX)
		return "is too long";
	return u->local ? parse_socket_path(u, text, length)
			: parse_authority(u, text, length);
}
