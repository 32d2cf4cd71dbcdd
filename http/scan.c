/* scan.c: where a head ends, and the small helpers of http.h.
 *
 * http_scan looks at each byte of a head once, however it trickles in: all
 * it has to remember is how far it came, because everything it asks is about
 * a byte and the one or two before it.  It refuses what http-parser would not
 * let us see later: bare CR, bare LF in a request, NUL, folded lines, empty
 * lines before the start, and heads that are too long, as soon as they are.
 *
 * It does not know what a field is; the number of fields is looked at when
 * the head is parsed (until then head_max bounds it). */
#include "http/http.h"

#include "http/http_parser_adapter.h"

#include <assert.h>
#include <string.h>

#define TLS_HANDSHAKE 0x16 /* how a client that speaks TLS begins */

/* Is the byte at i, seen after those before it, the end of a head? */
static bool
ends_head(const char *buf, size_t i)
{
	if (buf[i] != '\n')
		return false;
	if (i > 0 && buf[i - 1] == '\r')
		i--;
	return i > 0 && buf[i - 1] == '\n';
}

/* Line structure only: what the byte at i means after the one before it. */
static const char *
line_check(bool request, const char *buf, size_t i)
{
	char c = buf[i], before = '\0';
	size_t start = buf[0] == '\r' ? 2 : 0; /* one empty line allowed */

	if (i > 0)
		before = buf[i - 1];
	if (request && i == 0 && c == TLS_HANDSHAKE)
		return "tls_on_plain_port";
	if (c == '\0')
		return "nul";
	if (before == '\r' && c != '\n')
		return "bare_cr";
	if (c == '\n' && before != '\r' && (request || i == 0))
		return "bare_lf";
	if (c == '\r' && (request ? start == 2 && i == 2 : i == 0))
		return "leading_crlf";
	if ((c == ' ' || c == '\t') && (before == '\n' || i == 0))
		return i <= start ? "leading_space" : "obs_fold";
	return NULL;
}

/* The head is too large at i.  A first line that has not ended is to blame. */
static struct http_refusal
too_large(bool request, const char *buf, size_t i)
{
	size_t start = buf[0] == '\r' ? 2 : 0;

	if (!request)
		return (struct http_refusal){502, "head_too_large"};
	if (memchr(buf + start, '\n', i + 1 - start) == NULL)
		return (struct http_refusal){414, "request_line_too_long"};
	return (struct http_refusal){431, "head_too_large"};
}

/* The first byte from i on, before end, that line_check must see, or end.  It
 * need not see bytes inside a line, but controls, nor a line's end that a
 * field's beginning follows. */
static size_t
skip_plain(const char *buf, size_t i, size_t end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t eight;

	if (i == 0 || buf[i - 1] == '\r' || buf[i - 1] == '\n')
		return i;
	for (;;) {
		for (; i + sizeof(eight) <= end; i += sizeof(eight)) {
			memcpy(&eight, buf + i, sizeof(eight));
			/* Is any below SP?  The sign of each difference. */
			if ((eight - ones * ' ') & ~eight & ones << 7)
				break;
		}
		while (i < end && (unsigned char)buf[i] >= ' ')
			i++;
		if (i + 2 >= end || buf[i] != '\r' || buf[i + 1] != '\n' ||
		    (unsigned char)buf[i + 2] <= ' ')
			return i;
		i += 3;
	}
}

enum http_scan
http_scan(const struct http_limits *limits, bool request, const char *buf,
    size_t length, size_t *scanned, size_t *head_length,
    struct http_refusal *refusal)
{
	size_t i, end = length < limits->head_max ? length : limits->head_max;

	assert(*scanned <= length);
	for (i = *scanned; i < length; i++) {
		i = skip_plain(buf, i, end);
		if (i == length)
			break;
		refusal->status = request ? 400 : 502;
		refusal->reason = line_check(request, buf, i);
		if (refusal->reason != NULL)
			goto bad;
		if (i >= limits->head_max) {
			*refusal = too_large(request, buf, i);
			goto bad;
		}
		if (ends_head(buf, i)) {
			*scanned = *head_length = i + 1;
			return HTTP_SCAN_HEAD;
		}
	}
	*scanned = length;
	return HTTP_SCAN_MORE;

bad:
	*scanned = i; /* asked again, it answers the same */
	return HTTP_SCAN_BAD;
}

const struct http_field *
http_field_find(const struct http_head *h, enum http_field_id id)
{
	for (unsigned i = 0; i < h->fields; i++)
		if (h->field[i].id == id)
			return &h->field[i];
	return NULL;
}

const struct http_field *
http_field_tailor(const struct http_head *h, const char *name)
{
	for (unsigned i = 0; i < h->fields; i++)
		if (h->field[i].id == HTTP_FIELD_TAILOR &&
		    slice_is(h->field[i].name, name))
			return &h->field[i];
	return NULL;
}

bool
http_method_is_safe(enum http_method method)
{
	switch (method) {
	case HTTP_METHOD_GET:
	case HTTP_METHOD_HEAD:
	case HTTP_METHOD_OPTIONS:
		return true;
	case HTTP_METHOD_POST:
	case HTTP_METHOD_PUT:
	case HTTP_METHOD_DELETE:
	case HTTP_METHOD_PATCH:
	case HTTP_METHOD_OTHER:
		break;
	}
	return false;
}

bool
http_method_has_body(enum http_method method)
{
	switch (method) {
	case HTTP_METHOD_POST:
	case HTTP_METHOD_PUT:
	case HTTP_METHOD_PATCH:
		return true;
	case HTTP_METHOD_GET:
	case HTTP_METHOD_HEAD:
	case HTTP_METHOD_OPTIONS:
	case HTTP_METHOD_DELETE:
	case HTTP_METHOD_OTHER:
		break;
	}
	return false;
}

const char *
http_reason(unsigned status)
{
	const char *text = http_lib_status_text(status);

	return text != NULL ? text : "";
}
