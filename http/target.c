/* target.c: checks request targets and authorities.
 *
 * Four forms of a target exist (RFC 9112 3.2).  Origin form passes as it is;
 * absolute form is taken apart, and its authority replaces Host; "*" is for
 * OPTIONS; authority form is for CONNECT, which never comes here.
 *
 * A target is forwarded without decoding or normalisation: the servers decide
 * what a path means, and Tailor does not choose a server by path.  Bytes and
 * escapes that cannot be in a path, and paths that leave the root, are
 * refused. */
#include "http/gate.h"

#include <arpa/inet.h>
#include <string.h>

static const char *
port_check(struct slice port)
{
	unsigned n = 0;

	if (port.length > 5)
		return "host_port";
	for (size_t i = 0; i < port.length; i++) {
		if (port.at[i] < '0' || port.at[i] > '9')
			return "host_port";
		n = n * 10 + (unsigned)(port.at[i] - '0');
	}
	return n > UINT16_MAX ? "host_port" : NULL;
}

/* True for "[" IPv6 address "]", without zone. */
static bool
is_address6(struct slice s)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (s.length < 4 || s.length - 2 >= sizeof(text))
		return false;
	memcpy(text, s.at + 1, s.length - 2);
	text[s.length - 2] = '\0';
	return inet_pton(AF_INET6, text, &address) == 1;
}

/* True for labels that are not empty, separated by dots; a last dot is allowed.
 */
static bool
is_name(struct slice s)
{
	return slice_all(s, HTTP_CHAR_HOST) && s.at[0] != '.' &&
	       memmem(s.at, s.length, "..", 2) == NULL;
}

/* Stricter than RFC 3986, whose registered names may contain "!$&'()*+,;=" and
 * percent-encoded bytes: no name of a host on a network has any, and a Host
 * with a comma is two Hosts to some servers. */
const char *
authority_check(struct slice authority)
{
	struct slice host = authority, port = {NULL, 0};
	const char *end;

	if (authority.length == 0)
		return "host_empty";
	if (authority.at[0] == '[')
		end = memchr(authority.at, ']', authority.length);
	else
		end = memchr(authority.at, ':', authority.length);
	if (authority.at[0] == '[') {
		if (end == NULL)
			return "host";
		end++;
	}
	if (end != NULL) {
		host.length = (size_t)(end - authority.at);
		port.at = end;
		port.length = authority.length - host.length;
	}
	if (port.length > 0) {
		if (port.at[0] != ':')
			return "host";
		port.at++;
		port.length--;
	}
	if (host.length == 0)
		return "host_empty";
	if (host.at[0] == '[' ? !is_address6(host) : !is_name(host))
		return "host";
	return port_check(port);
}

/* Decode the byte at *i, and move *i behind it; -1: a wrong escape, or NUL. */
static int
path_byte(struct slice path, size_t *i)
{
	int high, low;

	if (path.at[*i] != '%')
		return (unsigned char)path.at[(*i)++];
	if (path.length - *i < 3)
		return -1;
	high = hex_value(path.at[*i + 1]);
	low = hex_value(path.at[*i + 2]);
	*i += 3;
	return high < 0 || low < 0 || high + low == 0 ? -1 : high << 4 | low;
}

/* Check that escapes are complete, none is NUL, and ".." does not lead above
 * the root for a server that decodes once and reads "//" as "/". */
static const char *
path_check(struct slice target)
{
	const char *query = memchr(target.at, '?', target.length);
	size_t i = 0, dots = 0, depth = 0;
	bool named = false; /* the segment is more than dots */
	int c;

	if (query != NULL)
		target.length = (size_t)(query - target.at);
	if (memchr(target.at, '%', target.length) == NULL &&
	    memmem(target.at, target.length, "/.", 2) == NULL)
		return NULL;
	while (i < target.length) {
		c = path_byte(target, &i);
		if (c < 0)
			return "target_escape";
		if (c == '.')
			dots++;
		else if (c != '/')
			named = true;
		if (c != '/' && i < target.length)
			continue;
		if (named || dots > 2)
			depth++;
		else if (dots == 2 && depth-- == 0)
			return "target_climbs";
		named = false;
		dots = 0;
	}
	return NULL;
}

/* Read an absolute target.  Without a path it means "/", or "*" with OPTIONS.
 * Slices must point into the buffer, which has neither: "/" is borrowed from
 * the "//" before the host; otherwise the slice is empty or begins with "?",
 * and write.c completes it. */
static const char *
absolute_read(struct slice text, size_t scheme, struct http_head *head)
{
	struct slice rest = {text.at + scheme, text.length - scheme};
	const char *reason;
	size_t n = 0;

	while (n < rest.length && rest.at[n] != '/' && rest.at[n] != '?')
		n++;
	head->authority = (struct slice){rest.at, n};
	head->target = (struct slice){rest.at + n, rest.length - n};
	if (head->target.length == 0 && head->method != HTTP_METHOD_OPTIONS)
		head->target = (struct slice){rest.at - 1, 1};
	reason = authority_check(head->authority);
	return reason != NULL ? reason : path_check(head->target);
}

const char *
target_read(struct slice text, struct http_head *head)
{
	head->target = text;
	if (!slice_all(text, HTTP_CHAR_TARGET))
		return "target_byte";
	if (text.at[0] == '/')
		return path_check(text);
	if (slice_begins(text, "http://"))
		return absolute_read(text, strlen("http://"), head);
	head->https = slice_begins(text, "https://");
	if (head->https)
		return absolute_read(text, strlen("https://"), head);
	if (text.length == 1 && text.at[0] == '*' &&
	    head->method == HTTP_METHOD_OPTIONS)
		return NULL;
	return "target_form";
}
