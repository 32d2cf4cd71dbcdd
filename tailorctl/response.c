#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "tailorctl/response.h"

/* Status of "HTTP/1.x NNN ...", 0 if it is something else. */
static unsigned
status_of(const char *line, size_t length)
{
	unsigned status = 0;

	if (length < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
		return 0;
	for (int i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return 0;
		status = status * 10 + (unsigned)(line[i] - '0');
	}
	if (length > 12 && line[12] != ' ')
		return 0;
	return status >= 100 && status <= 599 ? status : 0;
}

static bool
is_digits(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return length > 0 && length <= 18;
}

/* One field line; a Content-Length goes to *out. */
static int
take_field(const char *line, size_t length, uint64_t *out, const char **why)
{
	static const char name[] = "Content-Length:", coding[] = "Transfer-";
	const char *value = line + sizeof(name) - 1, *end = line + length;

	if (length >= sizeof(coding) - 1 &&
	    strncasecmp(line, coding, sizeof(coding) - 1) == 0) {
		*why = "the response has a transfer coding";
		return -EPROTO;
	}
	if (length < sizeof(name) - 1 ||
	    strncasecmp(line, name, sizeof(name) - 1) != 0)
		return 0;
	while (value < end && *value == ' ')
		value++;
	if (!is_digits(value, (size_t)(end - value)) || *out != UINT64_MAX) {
		*why = "the response's Content-Length is not one number";
		return -EPROTO;
	}
	*out = 0;
	while (value < end)
		*out = *out * 10 + (uint64_t)(*value++ - '0');
	return 0;
}

int
response_parse(
    const char *bytes, size_t length, struct response *out, const char **why)
{
	uint64_t content_length = UINT64_MAX;
	const char *head_end, *line, *eol;

	head_end = memmem(bytes, length, "\r\n\r\n", 4);
	if (head_end == NULL) {
		*why = "the response head is incomplete";
		return -EPROTO;
	}
	eol = memmem(bytes, length, "\r\n", 2);
	out->status = status_of(bytes, (size_t)(eol - bytes));
	if (out->status == 0) {
		*why = "the response is not HTTP/1";
		return -EPROTO;
	}
	while (eol < head_end) {
		line = eol + 2;
		eol = memmem(line, (size_t)(head_end + 2 - line), "\r\n", 2);
		if (take_field(
			line, (size_t)(eol - line), &content_length, why) < 0)
			return -EPROTO;
	}
	out->body = head_end + 4;
	out->length = length - (size_t)(out->body - bytes);
	if (content_length == UINT64_MAX)
		return 0;
	if (content_length > out->length) {
		*why = "the response was cut short";
		return -EPROTO;
	}
	out->length = content_length;
	return 0;
}
