/* request_id.c: x-request-id and traceparent, read strictly. */
#include "proxy/request/request_id.h"

#include <string.h>

#include "http/writer.h"

#define PARENT_ID 16

static bool
is_valid(struct slice s)
{
	if (s.length == 0 || s.length > 64)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		char c = s.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '.' || c == '_' ||
			c == '-'))
			return false;
	}
	return true;
}

/* True for n lower-case hex digits, not all 0 unless zero_allowed. */
static bool
is_hex(const char *at, size_t n, bool zero_allowed)
{
	bool zero = true;

	for (size_t i = 0; i < n; i++) {
		if (!((at[i] >= '0' && at[i] <= '9') ||
			(at[i] >= 'a' && at[i] <= 'f')))
			return false;
		zero &= at[i] == '0';
	}
	return zero_allowed || !zero;
}

/* Format: "00-" trace-id "-" parent-id "-" flags.  A later version begins with
 * the same fields, as the recommendation says. */
void
trace_id_read(char out[TRACE_ID + 1], const struct http_head *head)
{
	const size_t length = 3 + TRACE_ID + 1 + PARENT_ID + 1 + 2;
	const struct http_field *field =
	    http_field_find(head, HTTP_FIELD_TRACEPARENT);
	const char *at;

	out[0] = '\0';
	if (field == NULL || field->value.length < length ||
	    http_field_count(head, HTTP_FIELD_TRACEPARENT) != 1)
		return;
	at = field->value.at;
	if (!is_hex(at, 2, true) || memcmp(at, "ff", 2) == 0 || at[2] != '-' ||
	    !is_hex(at + 3, TRACE_ID, false) || at[35] != '-' ||
	    !is_hex(at + 36, PARENT_ID, false) || at[52] != '-' ||
	    !is_hex(at + 53, 2, true))
		return;
	if (field->value.length > length &&
	    (memcmp(at, "00", 2) == 0 || at[length] != '-'))
		return;
	memcpy(out, at + 3, TRACE_ID);
	out[TRACE_ID] = '\0';
}

void
external_id_read(
    char *out, uint64_t id, const struct http_head *head, bool known)
{
	const struct http_field *field =
	    http_field_find(head, HTTP_FIELD_REQUEST_ID);

	if (known && field != NULL && is_valid(field->value)) {
		memcpy(out, field->value.at, field->value.length);
		out[field->value.length] = '\0';
		return;
	}
	digits_hex(out, id);
	out[DIGITS_HEX] = '\0';
}
