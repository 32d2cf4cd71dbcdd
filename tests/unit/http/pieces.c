/* pieces.c: see the header. */
#include "pieces.h"

#include <string.h>

void
bytes_add(struct bytes *b, const char *at, size_t length)
{
	assert_true(length <= sizeof(b->at) - b->length);
	memcpy(b->at + b->length, at, length);
	b->length += length;
}

void
bytes_text(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text));
}

enum http_body_event
feed_piece(struct http_body *b, const struct bytes *m, size_t *at, size_t end,
    struct bytes *payload)
{
	struct http_refusal refusal = {0, NULL};
	enum http_body_event event;
	struct slice data;
	size_t used;

	do {
		event = http_body_feed(
		    b, m->at + *at, end - *at, &used, &data, &refusal);
		assert_true(used <= end - *at);
		*at += used;
		if (event == HTTP_BODY_DATA)
			bytes_add(payload, data.at, data.length);
		else if (event == HTTP_BODY_MORE)
			assert_true(*at == end);
		else if (event == HTTP_BODY_BAD)
			assert_non_null(refusal.reason);
		else
			assert_true(b->done);
	} while (event == HTTP_BODY_DATA && *at < end);
	return event;
}
