/* parse_request.c: http_parse_request.
 *
 * The request line and the fields are read here strictly, then http-parser
 * reads the same bytes; the request passes only if both results are equal.
 * The first fault found decides the response, in this order: request line,
 * version, method, target, fields, framing, Host, Expect, http-parser. */
#include "http/gate.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const struct http_refusal good = {0, NULL};

static const struct {
	const char *name; /* case matters */
	enum http_method method;
} methods[] = {
    {"GET", HTTP_METHOD_GET},
    {"HEAD", HTTP_METHOD_HEAD},
    {"OPTIONS", HTTP_METHOD_OPTIONS},
    {"POST", HTTP_METHOD_POST},
    {"PUT", HTTP_METHOD_PUT},
    {"DELETE", HTTP_METHOD_DELETE},
    {"PATCH", HTTP_METHOD_PATCH},
};

static bool
text_equals(struct slice s, const char *word)
{
	return strlen(word) == s.length && memcmp(s.at, word, s.length) == 0;
}

/* Read the method.  http-parser refuses methods that it does not know later. */
static struct http_refusal
method_read(struct http_head *head)
{
	struct slice text = head->method_text;

	head->method = HTTP_METHOD_OTHER;
	if (text_equals(text, "CONNECT") || text_equals(text, "TRACE"))
		return (struct http_refusal){405, "method_not_allowed"};
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (text_equals(text, methods[i].name))
			head->method = methods[i].method;
	return good;
}

static struct http_refusal
version_read(struct slice text, struct http_head *head)
{
	bool digits = text.length == strlen("HTTP/1.1") &&
		      memcmp(text.at, "HTTP/", 5) == 0 && text.at[6] == '.' &&
		      text.at[5] >= '0' && text.at[5] <= '9' &&
		      text.at[7] >= '0' && text.at[7] <= '9';

	if (!digits)
		return (struct http_refusal){400, "version"};
	if (text.at[5] != '1' || text.at[7] > '1')
		return (struct http_refusal){505, "version_unsupported"};
	head->minor = (unsigned)(text.at[7] - '0');
	return good;
}

/* Read method, target and version, separated by single spaces. */
static struct http_refusal
request_line_read(
    struct slice line, struct http_head *head, struct slice *target)
{
	const char *end = line.at + line.length;
	const char *first, *second = NULL;
	struct http_refusal refusal;

	first = line.length > 0 ? memchr(line.at, ' ', line.length) : NULL;
	if (first != NULL)
		second = memchr(first + 1, ' ', (size_t)(end - first - 1));
	if (second == NULL || second == first + 1)
		return (struct http_refusal){400, "request_line"};
	head->method_text = (struct slice){line.at, (size_t)(first - line.at)};
	*target = (struct slice){first + 1, (size_t)(second - first - 1)};
	if (!slice_all(head->method_text, HTTP_CHAR_TOKEN))
		return (struct http_refusal){400, "method"};
	refusal = version_read(
	    (struct slice){second + 1, (size_t)(end - second - 1)}, head);
	if (refusal.reason != NULL)
		return refusal;
	refusal = method_read(head);
	if (refusal.reason != NULL)
		return refusal;
	return (struct http_refusal){400, target_read(*target, head)};
}

/* Return the authority without an empty or default port (RFC 9110 4.2.3). */
static struct slice
authority_plain(struct slice authority, bool https)
{
	static const char *const own[] = {":80", ":443"};
	const char *port = own[https];
	size_t n = strlen(port);

	if (authority.length > 0 && authority.at[authority.length - 1] == ':')
		authority.length--;
	else if (authority.length > n &&
		 memcmp(authority.at + authority.length - n, port, n) == 0)
		authority.length -= n;
	return authority;
}

/* Read Host.  There must be one, or none in 1.0, and an absolute target must
 * have the same authority.  RFC 9112 3.2.2 lets the target's authority replace
 * Host, but then two servers in a row may use different ones. */
static const char *
host_read(struct http_head *head)
{
	const struct http_field *host = http_field_find(head, HTTP_FIELD_HOST);
	unsigned hosts = http_field_count(head, HTTP_FIELD_HOST);
	const char *reason;

	if (hosts > 1)
		return "host_twice";
	if (hosts == 0)
		return head->minor == 1 ? "host_missing" : NULL;
	reason = authority_check(host->value);
	if (head->authority.length == 0)
		head->authority = host->value;
	else if (reason == NULL &&
		 !slice_same(authority_plain(head->authority, head->https),
		     authority_plain(host->value, head->https)))
		return "host_differs";
	return reason;
}

/* Read Expect.  A 1.0 client cannot wait for 100, so its Expect is only
 * removed.  A 1.1 client may wait for 100 even if it has no body to send. */
static struct http_refusal
expect_read(struct http_head *head)
{
	for (unsigned i = 0; i < head->fields; i++) {
		if (head->field[i].id != HTTP_FIELD_EXPECT)
			continue;
		if (!slice_is(head->field[i].value, "100-continue"))
			return (struct http_refusal){417, "expectation"};
		head->expect_continue = head->minor == 1;
	}
	return good;
}

/* True if s is sixteen bytes in base64 (RFC 6455 4.1). */
static bool
is_websocket_key(struct slice s)
{
	if (s.length != 24 || s.at[22] != '=' || s.at[23] != '=')
		return false;
	for (size_t i = 0; i < 22; i++)
		if (!isalnum((unsigned char)s.at[i]) && s.at[i] != '+' &&
		    s.at[i] != '/')
			return false;
	return true;
}

/* Refuse a WebSocket handshake without a valid key: some servers would still
 * read HTTP after it, others not. */
static const char *
upgrade_check(const struct http_head *head)
{
	unsigned keys = 0, good_keys = 0;
	bool websocket = false;

	if (!head->upgrade)
		return NULL;
	for (unsigned i = 0; i < head->fields; i++) {
		const struct http_field *field = &head->field[i];
		struct slice rest = field->value, item;

		if (slice_is(field->name, "sec-websocket-key")) {
			keys++;
			good_keys += is_websocket_key(field->value);
		}
		while (
		    field->id == HTTP_FIELD_UPGRADE && list_next(&rest, &item))
			websocket |= slice_is(item, "websocket");
	}
	if (!websocket || (keys == 1 && good_keys == 1))
		return NULL;
	return "websocket_key";
}

static struct http_refusal
request_check(const struct http_limits *limits, struct http_head *head)
{
	struct http_refusal refusal = framing_read(true, head);

	if (refusal.reason != NULL)
		return refusal;
	if (head->framing == HTTP_FRAMING_LENGTH &&
	    head->content_length > limits->body_max)
		return (struct http_refusal){413, "body_too_large"};
	refusal = (struct http_refusal){400, host_read(head)};
	if (refusal.reason != NULL)
		return refusal;
	connection_read(head);
	refusal.reason = upgrade_check(head);
	if (refusal.reason != NULL)
		return refusal;
	refusal.reason = fields_drop(limits, true, head);
	if (refusal.reason != NULL)
		return refusal;
	return expect_read(head);
}

int
http_parse_request(const struct http_limits *limits, const char *buf,
    size_t head_length, struct http_head *out, struct http_refusal *refusal)
{
	struct slice text = {buf, head_length}, target = {0}, rest, line;

	memset(out, 0, offsetof(struct http_head, field));
	if (head_length >= 2 && memcmp(buf, "\r\n", 2) == 0) {
		text.at += 2;
		text.length -= 2;
	}
	rest = text;
	*refusal = (struct http_refusal){400, "line_end"};
	if (!line_take(&rest, &line))
		return -EPROTO;
	*refusal = request_line_read(line, out, &target);
	if (refusal->reason == NULL)
		*refusal = fields_read(limits, true, rest, out);
	if (refusal->reason == NULL)
		*refusal = request_check(limits, out);
	if (refusal->reason == NULL)
		*refusal = lib_agrees(true, text, out, target);
	return refusal->reason == NULL ? 0 : -EPROTO;
}
