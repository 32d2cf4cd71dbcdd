/* url.c: taking a URL apart; see target.h. */
#include "loadgen/send/target.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Step over prefix if the text starts with it. */
static bool
take_prefix(const char **text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(*text, prefix, n) != 0)
		return false;
	*text += n;
	return true;
}

/* %-unescape a socket's path. */
static const char *
parse_socket_path(struct url *u, const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (c == '%') {
			/* text goes on behind length: at worst by a NUL. */
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
	else if (!take_prefix(&text, "http://"))
		return "needs http:// (or http+unix://) before HOST:PORT";
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
