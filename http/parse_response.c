/* parse_response.c: http_parse_response.
 *
 * A server is trusted little more than a client: if two readers could find the
 * end of a response in different places, one request might get the response to
 * another.  Every refusal is a 502 and the end of that connection. */
#include "http/gate.h"

#include <errno.h>
#include <string.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read "HTTP/1.x NNN", then nothing, or a space and any reason. */
static const char *
status_line_read(struct slice line, struct http_head *head)
{
	const size_t fixed = strlen("HTTP/1.1 200");
	const char *at = line.at;

	if (line.length < fixed || memcmp(at, "HTTP/", 5) != 0 ||
	    at[6] != '.' || at[8] != ' ')
		return "status_line";
	if (at[5] != '1' || (at[7] != '0' && at[7] != '1'))
		return "version_unsupported";
	if (!is_digit(at[9]) || !is_digit(at[10]) || !is_digit(at[11]))
		return "status";
	head->minor = (unsigned)(at[7] - '0');
	head->status = (unsigned)((at[9] - '0') * 100 + (at[10] - '0') * 10 +
				  (at[11] - '0'));
	if (head->status < 100 || head->status > 599)
		return "status";
	if (line.length == fixed)
		return NULL;
	if (at[fixed] != ' ')
		return "status_line";
	head->reason = (struct slice){at + fixed + 1, line.length - fixed - 1};
	if (head->reason.length > 0 &&
	    !slice_all(head->reason, HTTP_CHAR_VALUE))
		return "control_byte";
	head->reason = slice_trim(head->reason);
	return NULL;
}

static bool
is_bodiless(enum http_method method, unsigned status)
{
	return method == HTTP_METHOD_HEAD || status < 200 || status == 204 ||
	       status == 304;
}

static const char *
response_check(const struct http_limits *limits, enum http_method method,
    struct http_head *head)
{
	const char *reason = framing_read(false, head).reason;

	if (reason != NULL)
		return reason;
	if (head->status == 101 && !limits->upgrade_asked)
		return "upgrade_unasked";
	connection_read(head);
	keep_alive_read(head);
	if (is_bodiless(method, head->status)) {
		/* HEAD and 304 may have the length of the GET response */
		if (head->status < 200 || head->status == 204)
			head->has_content_length = false;
		head->framing = HTTP_FRAMING_NONE;
	} else if (head->framing == HTTP_FRAMING_NONE) {
		head->framing = HTTP_FRAMING_CLOSE;
		head->keep_alive = false;
	}
	return fields_drop(limits, false, head);
}

int
http_parse_response(const struct http_limits *limits, enum http_method method,
    const char *buf, size_t head_length, struct http_head *out,
    struct http_refusal *refusal)
{
	struct slice text = {buf, head_length}, rest = text, line;

	memset(out, 0, offsetof(struct http_head, field));
	*refusal = (struct http_refusal){502, "line_end"};
	if (!line_take(&rest, &line))
		return -EPROTO;
	refusal->reason = status_line_read(line, out);
	if (refusal->reason == NULL)
		*refusal = fields_read(limits, false, rest, out);
	if (refusal->reason == NULL)
		refusal->reason = response_check(limits, method, out);
	if (refusal->reason == NULL)
		*refusal = lib_agrees(false, text, out, line);
	refusal->status = 502;
	return refusal->reason == NULL ? 0 : -EPROTO;
}
