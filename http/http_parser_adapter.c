/* http_parser_adapter.c: the only file that includes http_parser.h.
 *
 * http-parser gets a whole head and nothing more.  The return value of
 * on_headers_complete says that there is no body, whatever the head says:
 * bodies are decoded by body.c.  A callback may get its text in pieces; if two
 * pieces are not adjacent, the line was folded, and is refused. */
#include "http/http_parser_adapter.h"

#include <http_parser.h>
#include <pthread.h>
#include <string.h>

struct head_reading {
	struct http_lib_head *head;
	bool in_value; /* the last callback was for a value */
	bool complete;
};

/* Add a piece to a text; false if there is a gap before the piece. */
static bool
text_extend(struct http_lib_text *text, const char *at, size_t length)
{
	if (text->at == NULL)
		text->at = at;
	else if (text->at + text->length != at)
		return false;
	text->length += length;
	return true;
}

static int
on_target(http_parser *parser, const char *at, size_t length)
{
	struct head_reading *r = parser->data;

	return text_extend(&r->head->target, at, length) ? 0 : -1;
}

static int
on_reason(http_parser *parser, const char *at, size_t length)
{
	struct head_reading *r = parser->data;

	return text_extend(&r->head->reason, at, length) ? 0 : -1;
}

static int
on_name(http_parser *parser, const char *at, size_t length)
{
	struct head_reading *r = parser->data;
	struct http_lib_head *head = r->head;

	if (r->in_value || head->fields == 0) {
		if (head->fields == HTTP_LIB_FIELDS_MAX)
			return -1;
		memset(&head->field[head->fields], 0, sizeof(head->field[0]));
		head->fields++;
		r->in_value = false;
	}
	return text_extend(&head->field[head->fields - 1].name, at, length)
		   ? 0
		   : -1;
}

static int
on_value(http_parser *parser, const char *at, size_t length)
{
	struct head_reading *r = parser->data;
	struct http_lib_head *head = r->head;

	if (head->fields == 0)
		return -1;
	r->in_value = true;
	return text_extend(&head->field[head->fields - 1].value, at, length)
		   ? 0
		   : -1;
}

static int
on_complete(http_parser *parser)
{
	struct head_reading *r = parser->data;
	struct http_lib_head *head = r->head;

	head->major = parser->http_major;
	head->minor = parser->http_minor;
	head->status = parser->status_code;
	head->chunked = (parser->flags & F_CHUNKED) != 0;
	head->has_content_length = (parser->flags & F_CONTENTLENGTH) != 0;
	head->content_length = parser->content_length;
	if (parser->type == HTTP_REQUEST)
		head->method =
		    http_method_str((enum http_method)parser->method);
	r->complete = true;
	return 1; /* no body follows, for http-parser */
}

static const http_parser_settings settings = {
    .on_url = on_target,
    .on_status = on_reason,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_complete,
};

/* Raise http-parser's limit on heads, which is global and 80 KiB: our own
 * limit, per listener, has been applied already. */
static void
limit_lift(void)
{
	http_parser_set_max_header_size(UINT32_MAX / 2);
}

enum http_lib_result
http_lib_read(bool request, const struct http_lib_text *piece, unsigned pieces,
    struct http_lib_head *out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct head_reading r = {.head = out};
	http_parser parser;
	bool whole = true;

	pthread_once(&once, limit_lift);
	memset(out, 0, offsetof(struct http_lib_head, field));
	http_parser_init(&parser, request ? HTTP_REQUEST : HTTP_RESPONSE);
	parser.data = &r;
	parser.allow_chunked_length = !request;
	for (unsigned i = 0; i < pieces && whole; i++)
		whole = http_parser_execute(&parser, &settings, piece[i].at,
			    piece[i].length) == piece[i].length;
	if (HTTP_PARSER_ERRNO(&parser) == HPE_INVALID_METHOD)
		return HTTP_LIB_METHOD;
	if (HTTP_PARSER_ERRNO(&parser) != HPE_OK || !whole || !r.complete)
		return HTTP_LIB_BAD;
	return HTTP_LIB_OK;
}

const char *
http_lib_status_text(unsigned status)
{
	switch (status) {
#define STATUS_TEXT(number, name, text) \
	case number:                    \
		return #text;
		HTTP_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
	}
	return NULL;
}
