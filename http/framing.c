/* framing.c: the length of a body, and whether the connection is kept.
 *
 * RFC 9112 6.3 lets a recipient choose if a message has both kinds of framing,
 * and repair some wrong ones.  If two recipients choose differently, a request
 * can be smuggled.  So a request is never repaired: it must have one
 * Content-Length of digits, or one Transfer-Encoding that is exactly "chunked",
 * or neither.  A response may also have what nginx and HAProxy both accept in
 * the same way: the same length twice; and chunks beside a length or from
 * HTTP/1.0, after which the connection ends. */
#include "http/gate.h"
#include "http/http_parser_adapter.h"

#include <string.h>

#define LENGTH_DIGITS_MAX 19 /* any 19 digits fit 64 bits */

static const char *
content_length_read(struct slice value, uint64_t *out)
{
	uint64_t n = 0;

	if (value.length == 0 || value.length > LENGTH_DIGITS_MAX)
		return "content_length";
	for (size_t i = 0; i < value.length; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return "content_length";
		n = n * 10 + (uint64_t)(value.at[i] - '0');
	}
	*out = n;
	return NULL;
}

/* Refuse all codings but "chunked".  A list that ends in chunked can be
 * delimited but not decoded: 501.  With any other list the end of the body
 * cannot be known: 400. */
static struct http_refusal
coding_check(struct slice value)
{
	static const struct http_refusal good = {0, NULL},
					 unknown = {501, "transfer_coding"},
					 bad = {400, "transfer_encoding"};
	unsigned chunked = 0;
	struct slice rest = value, item = {NULL, 0};

	if (slice_is(value, "chunked"))
		return good;
	if (value.length == 0 || value.at[0] == ',' ||
	    value.at[value.length - 1] == ',')
		return bad;
	while (list_next(&rest, &item)) {
		if (!slice_all(item, HTTP_CHAR_TOKEN))
			return bad;
		chunked += slice_is(item, "chunked");
	}
	return chunked == 1 && slice_is(item, "chunked") ? unknown : bad;
}

static struct http_refusal
transfer_encoding_read(bool request, const struct http_head *head)
{
	const struct http_field *te =
	    http_field_find(head, HTTP_FIELD_TRANSFER_ENCODING);

	if (http_field_count(head, HTTP_FIELD_TRANSFER_ENCODING) > 1)
		return (struct http_refusal){400, "transfer_encoding_twice"};
	if (request && http_field_find(head, HTTP_FIELD_CONTENT_LENGTH) != NULL)
		return (struct http_refusal){400, "length_and_encoding"};
	if (request && head->minor == 0)
		return (struct http_refusal){400, "transfer_encoding_10"};
	return coding_check(te->value);
}

/* True if all Content-Length fields are written alike. */
static bool
lengths_same(const struct http_head *head, struct slice first)
{
	for (unsigned i = 0; i < head->fields; i++)
		if (head->field[i].id == HTTP_FIELD_CONTENT_LENGTH &&
		    !slice_same(head->field[i].value, first))
			return false;
	return true;
}

struct http_refusal
framing_read(bool request, struct http_head *head)
{
	struct http_refusal refusal = {400, NULL};
	const struct http_field *length =
	    http_field_find(head, HTTP_FIELD_CONTENT_LENGTH);

	head->framing = HTTP_FRAMING_NONE;
	head->content_length = 0;
	head->has_content_length = false;
	if (http_field_find(head, HTTP_FIELD_TRANSFER_ENCODING) != NULL) {
		head->framing = HTTP_FRAMING_CHUNKED;
		return transfer_encoding_read(request, head);
	}
	if (length == NULL)
		return refusal;
	if (request ? http_field_count(head, HTTP_FIELD_CONTENT_LENGTH) > 1
		    : !lengths_same(head, length->value)) {
		refusal.reason = "content_length_twice";
		return refusal;
	}
	head->framing = HTTP_FRAMING_LENGTH;
	head->has_content_length = true;
	refusal.reason =
	    content_length_read(length->value, &head->content_length);
	return refusal;
}

void
connection_read(struct http_head *head)
{
	bool close = false, keep_alive = false, upgrade = false;
	struct slice rest, option;

	for (unsigned i = 0; i < head->fields; i++) {
		if (head->field[i].id != HTTP_FIELD_CONNECTION)
			continue;
		rest = head->field[i].value;
		while (list_next(&rest, &option)) {
			close |= slice_is(option, "close");
			keep_alive |= slice_is(option, "keep-alive");
			upgrade |= slice_is(option, "upgrade");
		}
	}
	head->keep_alive = !close && (head->minor == 1 || keep_alive);
	if (head->framing == HTTP_FRAMING_CHUNKED &&
	    (head->minor == 0 ||
		http_field_find(head, HTTP_FIELD_CONTENT_LENGTH) != NULL))
		head->keep_alive = false;
	head->upgrade =
	    upgrade && http_field_find(head, HTTP_FIELD_UPGRADE) != NULL;
}

void
keep_alive_read(struct http_head *head)
{
	const struct http_field *field =
	    http_field_find(head, HTTP_FIELD_KEEP_ALIVE);
	struct slice rest, item;
	uint64_t seconds;

	if (field == NULL)
		return;
	rest = field->value;
	while (list_next(&rest, &item)) {
		if (!slice_begins(item, "timeout="))
			continue;
		item.at += strlen("timeout=");
		item.length -= strlen("timeout=");
		if (content_length_read(item, &seconds) == NULL)
			head->keep_alive_s = seconds < HTTP_KEEP_ALIVE_S_MAX
						 ? (unsigned)seconds
						 : HTTP_KEEP_ALIVE_S_MAX;
	}
}

static bool
text_same(struct slice ours, struct http_lib_text theirs)
{
	struct slice s = slice_trim((struct slice){theirs.at, theirs.length});

	if (s.length != ours.length)
		return false;
	return s.length == 0 || s.at == ours.at;
}

static bool
framing_same(const struct http_head *head, const struct http_lib_head *lib)
{
	bool has_length =
	    http_field_find(head, HTTP_FIELD_CONTENT_LENGTH) != NULL;
	bool chunked =
	    http_field_find(head, HTTP_FIELD_TRANSFER_ENCODING) != NULL;

	return lib->major == 1 && lib->minor == head->minor &&
	       lib->chunked == chunked &&
	       lib->has_content_length == has_length &&
	       (!has_length || chunked ||
		   lib->content_length == head->content_length);
}

/* True if a field is a second Content-Length, which http-parser refuses. */
static bool
is_again(const struct http_head *head, unsigned i)
{
	return head->field[i].id == HTTP_FIELD_CONTENT_LENGTH &&
	       &head->field[i] !=
		   http_field_find(head, HTTP_FIELD_CONTENT_LENGTH);
}

/* Cut the head into pieces without those lines.  Returns how many pieces. */
static unsigned
pieces_cut(struct slice text, const struct http_head *head,
    struct http_lib_text piece[HTTP_LIB_FIELDS_MAX + 1])
{
	const char *at = text.at, *end = text.at + text.length, *lf;
	unsigned n = 0;

	for (unsigned i = 0; i < head->fields && n < HTTP_LIB_FIELDS_MAX; i++) {
		const char *line = head->field[i].name.at;

		if (!is_again(head, i))
			continue;
		piece[n++] = (struct http_lib_text){at, (size_t)(line - at)};
		lf = memchr(line, '\n', (size_t)(end - line));
		at = lf != NULL ? lf + 1 : end;
	}
	piece[n] = (struct http_lib_text){at, (size_t)(end - at)};
	return n + 1;
}

/* True if http-parser found the same fields. */
static bool
fields_same(const struct http_head *head, const struct http_lib_head *lib)
{
	unsigned n = 0;

	for (unsigned i = 0; i < head->fields; i++) {
		if (is_again(head, i))
			continue;
		if (n == lib->fields ||
		    !text_same(head->field[i].name, lib->field[n].name) ||
		    !text_same(head->field[i].value, lib->field[n].value))
			return false;
		n++;
	}
	return n == lib->fields;
}

struct http_refusal
lib_agrees(bool request, struct slice text, const struct http_head *head,
    struct slice target)
{
	static const struct http_refusal good = {0, NULL},
					 disagrees = {400, "parsers_disagree"};
	struct http_lib_text piece[HTTP_LIB_FIELDS_MAX + 1];
	struct http_lib_head lib;

	switch (http_lib_read(
	    request, piece, pieces_cut(text, head, piece), &lib)) {
	case HTTP_LIB_OK:
		break;
	case HTTP_LIB_METHOD:
		return (struct http_refusal){501, "method_unknown"};
	case HTTP_LIB_BAD:
		return (struct http_refusal){400, "parser"};
	}
	if (!framing_same(head, &lib) || !fields_same(head, &lib))
		return disagrees;
	if (request ? !text_same(target, lib.target) ||
			  strlen(lib.method) != head->method_text.length ||
			  memcmp(lib.method, head->method_text.at,
			      head->method_text.length) != 0
		    : lib.status != head->status ||
			  !text_same(head->reason, lib.reason))
		return disagrees;
	return good;
}
