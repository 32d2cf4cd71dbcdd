/* scan.c: finds the end of a head; and the small helpers of http.h.
 *
 * http_scan reads each byte of a head once, even if the head trickles in: its
 * only state is the position, because each check needs only a byte and the one
 * or two bytes before it.  It refuses faults that http-parser would hide: bare
 * CR, bare LF in a request, NUL, folded lines, empty lines before the start;
 * and a head that is too long as soon as it is.
 *
 * It does not recognise fields; their number is checked when the head is parsed
 * (until then head_max limits it). */
#include "http/http.h"

#include "http/http_parser_adapter.h"

#include <assert.h>
#include <string.h>

#define TLS_HANDSHAKE 0x16 /* first byte of a TLS client */

/* True if a head ends with the byte at i. */
static bool
ends_head(const char *buf, size_t i)
{
	if (buf[i] != '\n')
		return false;
	if (i > 0 && buf[i - 1] == '\r')
		i--;
	return i > 0 && buf[i - 1] == '\n';
}

/* Check the line structure at byte i.  NULL, or the fault. */
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

/* Return the refusal for a head that is too large at i; a request gets 414 if
 * its first line has not ended, else 431. */
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

/* Return the first byte from i on that line_check must see, or end.  Bytes
 * inside a line that are no controls need no check, nor the end of a line after
 * which a field begins. */
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
			/* True if any byte is below SP: sign of difference. */
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
	*scanned = i; /* the next call returns the same */
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
