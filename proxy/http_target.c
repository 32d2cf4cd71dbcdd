/*
 * http_target.c: what is asked for, and of whom.
 *
 * Four forms of a target exist (RFC 9112 3.2).  Origin form passes as it is;
 * absolute form is taken apart, and its authority replaces Host; "*" is for
 * OPTIONS; authority form is for CONNECT, which never comes here.
 *
 * Nothing is decoded or normalised: the servers decide what a path means, and
 * Tailor does not choose a server by path.  Only bytes that cannot be in a
 * target at all are refused.
 */
#include "proxy/http_gate.h"

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

/* "[" IPv6 address "]", without zone. */
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

/*
 * Stricter than RFC 3986, whose registered names may contain "!$&'()*+,;="
 * and percent-encoded bytes: no name of a host on a network has any, and a
 * Host with a comma is two Hosts to somebody.
 */
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
	if (host.at[0] == '[' ? !is_address6(host)
			      : !slice_all(host, HTTP_CHAR_HOST))
		return "host";
	return port_check(port);
}

/*
 * An absolute target without a path means "/", or the whole server with
 * OPTIONS.  Slices point into the buffer, where neither may be found: the
 * slash is borrowed from "//"; the others are left empty or begin with "?",
 * and the writer completes them.
 */
static const char *
absolute_read(struct slice text, size_t scheme, struct http_head *head)
{
	struct slice rest = {text.at + scheme, text.length - scheme};
	size_t n = 0;

	while (n < rest.length && rest.at[n] != '/' && rest.at[n] != '?')
		n++;
	head->authority = (struct slice){rest.at, n};
	head->target = (struct slice){rest.at + n, rest.length - n};
	if (head->target.length == 0 && head->method != HTTP_METHOD_OPTIONS)
		head->target = (struct slice){rest.at - 1, 1};
	return authority_check(head->authority);
}

const char *
target_read(struct slice text, struct http_head *head)
{
	head->target = text;
	if (!slice_all(text, HTTP_CHAR_TARGET))
		return "target_byte";
	if (text.at[0] == '/')
		return NULL;
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
