/* response.c: its states.
 *
 *   status line -> header* -> CR LF -+-> body by length --------> complete
 *        ^            ^              +-> body until close ------> complete
 *        |            |              +-> chunk size -> data -+
 *        +- 1xx ------+                   ^    |             |
 *                     |                   +----|-------------+
 *                     +---- trailer ------ size 0, ends in complete
 *
 * Any byte that does not fit leads to RESPONSE_MALFORMED and stays there. */
#include "loadgen/send/response.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "loadgen/send/token.h"

/* Headers whose value matters. */
enum known_header {
	HEADER_OTHER,
	HEADER_CONTENT_LENGTH,
	HEADER_TRANSFER_ENCODING,
	HEADER_CONNECTION,
	HEADER_SERVER_TIMING,
};

static void
begin_head(struct response *r)
{
	r->state = RESPONSE_STATUS_LINE;
	r->status = 0;
	r->status_line_bytes = 0;
	r->head_bytes = 0;
	r->has_length = false;
	r->chunked = false;
	r->length = 0;
	r->keep_alive = true;
}

void
response_init(struct response *r, const char *metric, bool to_head)
{
	begin_head(r);
	r->metric = metric;
	r->to_head = to_head;
	r->trailer = false;
	r->minor_0 = false;
	r->body_bytes = 0;
	r->remaining = 0;
	r->name_length = 0;
	r->value_length = 0;
	server_timing_init(&r->timing);
}

static bool
is_text(char c)
{
	return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t';
}

/* "HTTP/1.x NNN" then " reason" or nothing; the reason is not kept. */
static bool
status_line_byte(struct response *r, char c)
{
	static const char prefix[] = "HTTP/1.";
	unsigned at = r->status_line_bytes;

	if (at < 13)
		r->status_line_bytes++;
	if (at < sizeof(prefix) - 1)
		return c == prefix[at];
	if (at == 7) {
		r->minor_0 = c == '0';
		r->keep_alive = !r->minor_0;
		return c == '0' || c == '1';
	}
	if (at == 8)
		return c == ' ';
	if (at < 12) {
		r->status = (uint16_t)(r->status * 10 + (c - '0'));
		return c >= '0' && c <= '9' && r->status <= 599;
	}
	if (c == '\r') {
		r->state = RESPONSE_STATUS_LINE_LF;
		return r->status >= 100;
	}
	return at == 12 ? c == ' ' : is_text(c);
}

static enum known_header
header_known(const struct response *r)
{
	static const struct {
		const char *name;
		enum known_header header;
	} known[] = {
	    {"content-length", HEADER_CONTENT_LENGTH},
	    {"transfer-encoding", HEADER_TRANSFER_ENCODING},
	    {"connection", HEADER_CONNECTION},
	    {"server-timing", HEADER_SERVER_TIMING},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) == r->name_length &&
		    strncasecmp(known[i].name, r->name, r->name_length) == 0)
			return known[i].header;
	}
	return HEADER_OTHER;
}

static bool
header_content_length(struct response *r)
{
	uint64_t length = 0;

	if (r->value_length == 0 || r->value_length > 18)
		return false;
	for (size_t i = 0; i < r->value_length; i++) {
		if (r->value[i] < '0' || r->value[i] > '9')
			return false;
		length = length * 10 + (uint64_t)(r->value[i] - '0');
	}
	if (r->has_length && r->length != length)
		return false;
	r->has_length = true;
	r->length = length;
	return true;
}

/* Look for close and keep-alive in the list of options. */
static void
header_connection(struct response *r)
{
	size_t i = 0;

	while (i < r->value_length) {
		size_t begin = i;
		while (i < r->value_length && token_char(r->value[i]))
			i++;
		size_t n = i - begin;
		if (n == 5 && strncasecmp(r->value + begin, "close", n) == 0)
			r->keep_alive = false;
		if (n == 10 && r->minor_0 &&
		    strncasecmp(r->value + begin, "keep-alive", n) == 0)
			r->keep_alive = true;
		if (i == begin)
			i++;
	}
}

/* A header line is complete in name and value. */
static bool
header_end(struct response *r)
{
	enum known_header header = header_known(r);
	bool cut = r->value_length > sizeof(r->value);

	if (cut) {
		/* Half a metric may look like a whole one: back to a comma. */
		r->value_length = sizeof(r->value);
		while (
		    r->value_length > 0 && r->value[r->value_length - 1] != ',')
			r->value_length--;
	}
	while (
	    r->value_length > 0 && (r->value[r->value_length - 1] == ' ' ||
				       r->value[r->value_length - 1] == '\t'))
		r->value_length--;
	if (header == HEADER_SERVER_TIMING)
		server_timing_read(
		    &r->timing, r->metric, r->value, r->value_length);
	/* A trailer cannot change the framing it is part of. */
	if (header == HEADER_OTHER || header == HEADER_SERVER_TIMING)
		return true;
	if (cut || r->trailer)
		return !cut;
	switch (header) {
	case HEADER_CONTENT_LENGTH:
		return header_content_length(r);
	case HEADER_TRANSFER_ENCODING:
		if (r->chunked || r->minor_0 || r->value_length != 7 ||
		    strncasecmp(r->value, "chunked", 7) != 0)
			return false;
		r->chunked = true;
		return true;
	case HEADER_CONNECTION:
		header_connection(r);
		return true;
	case HEADER_OTHER:
	case HEADER_SERVER_TIMING:
		break;
	}
	return true;
}

static void
begin_chunk(struct response *r)
{
	r->state = RESPONSE_CHUNK_SIZE;
	r->remaining = 0;
	r->chunk_digits = 0;
	r->head_bytes = 0;
}

/* The empty line: what follows? */
static bool
head_end(struct response *r)
{
	if (r->trailer) {
		r->state = RESPONSE_COMPLETE;
		return true;
	}
	if (r->chunked && r->has_length)
		return false;
	if (r->status < 200) {
		/* 101 would change the protocol; it was not requested. */
		bool fine = r->status != 101 && !r->chunked && !r->has_length;
		uint32_t bytes = r->head_bytes;
		begin_head(r);
		r->head_bytes = bytes; /* endless 1xx meet the limit */
		return fine;
	}
	if (r->to_head || r->status == 204 || r->status == 304) {
		r->state = RESPONSE_COMPLETE;
	} else if (r->chunked) {
		begin_chunk(r);
	} else if (r->has_length) {
		r->remaining = r->length;
		r->state =
		    r->length > 0 ? RESPONSE_BODY_LENGTH : RESPONSE_COMPLETE;
	} else {
		r->keep_alive = false;
		r->state = RESPONSE_BODY_CLOSE;
	}
	return true;
}

static bool
header_start_byte(struct response *r, char c)
{
	r->name_length = 0;
	r->value_length = 0;
	if (c == '\r') {
		r->state = RESPONSE_HEAD_LF;
		return true;
	}
	r->state = RESPONSE_HEADER_NAME;
	r->name[r->name_length++] = c;
	return token_char(c);
}

static bool
header_name_byte(struct response *r, char c)
{
	if (c == ':') {
		r->state = RESPONSE_HEADER_SPACE;
		return true;
	}
	/* A longer name is none we know; its length alone says so. */
	if (r->name_length < sizeof(r->name))
		r->name[r->name_length++] = c;
	return token_char(c);
}

static bool
header_value_byte(struct response *r, char c)
{
	if (c == '\r') {
		r->state = RESPONSE_HEADER_LF;
		return header_end(r);
	}
	if (r->state == RESPONSE_HEADER_SPACE && (c == ' ' || c == '\t'))
		return true;
	r->state = RESPONSE_HEADER_VALUE;
	if (r->value_length < sizeof(r->value))
		r->value[r->value_length] = c;
	if (r->value_length <= sizeof(r->value))
		r->value_length++; /* one more than fits means: cut */
	return is_text(c);
}

static bool
chunk_size_byte(struct response *r, char c)
{
	int digit = hex_value(c);

	if (digit >= 0) {
		r->remaining = r->remaining << 4 | (unsigned)digit;
		return ++r->chunk_digits <= 15;
	}
	if (c == '\r')
		r->state = RESPONSE_CHUNK_SIZE_LF;
	else
		r->state = RESPONSE_CHUNK_EXTENSION;
	return r->chunk_digits > 0 &&
	       (c == '\r' || c == ';' || c == ' ' || c == '\t');
}

static bool
chunk_extension_byte(struct response *r, char c)
{
	if (c != '\r')
		return is_text(c);
	r->state = RESPONSE_CHUNK_SIZE_LF;
	return true;
}

static void
chunk_size_end(struct response *r)
{
	r->head_bytes = 0;
	r->trailer = r->remaining == 0;
	r->state = r->trailer ? RESPONSE_HEADER_START : RESPONSE_CHUNK_DATA;
}

/* Read one byte that is not body; false: malformed. */
static bool
head_byte(struct response *r, char c)
{
	if (++r->head_bytes > RESPONSE_HEAD_MAX)
		return false;
	switch (r->state) {
	case RESPONSE_STATUS_LINE:
		return status_line_byte(r, c);
	case RESPONSE_STATUS_LINE_LF:
	case RESPONSE_HEADER_LF:
		r->state = RESPONSE_HEADER_START;
		return c == '\n';
	case RESPONSE_HEADER_START:
		return header_start_byte(r, c);
	case RESPONSE_HEADER_NAME:
		return header_name_byte(r, c);
	case RESPONSE_HEADER_SPACE:
	case RESPONSE_HEADER_VALUE:
		return header_value_byte(r, c);
	case RESPONSE_HEAD_LF:
		return c == '\n' && head_end(r);
	case RESPONSE_CHUNK_SIZE:
		return chunk_size_byte(r, c);
	case RESPONSE_CHUNK_EXTENSION:
		return chunk_extension_byte(r, c);
	case RESPONSE_CHUNK_SIZE_LF:
		chunk_size_end(r);
		return c == '\n';
	case RESPONSE_CHUNK_CR:
		r->state = RESPONSE_CHUNK_LF;
		return c == '\r';
	case RESPONSE_CHUNK_LF:
		begin_chunk(r);
		return c == '\n';
	case RESPONSE_BODY_LENGTH:
	case RESPONSE_BODY_CLOSE:
	case RESPONSE_CHUNK_DATA:
	case RESPONSE_COMPLETE:
	case RESPONSE_MALFORMED:
		break;
	}
	return false;
}

/* Take up to n bytes of body; returns how many were. */
static size_t
body_bytes(struct response *r, size_t n)
{
	bool until_close = r->state == RESPONSE_BODY_CLOSE;

	if (!until_close && n > r->remaining)
		n = (size_t)r->remaining;
	r->body_bytes += n;
	if (until_close)
		return n;
	r->remaining -= n;
	if (r->remaining == 0)
		r->state = r->state == RESPONSE_CHUNK_DATA ? RESPONSE_CHUNK_CR
							   : RESPONSE_COMPLETE;
	return n;
}

size_t
response_feed(struct response *r, const char *bytes, size_t n)
{
	size_t used = 0;

	while (used < n && !response_is_over(r)) {
		if (r->state == RESPONSE_BODY_LENGTH ||
		    r->state == RESPONSE_BODY_CLOSE ||
		    r->state == RESPONSE_CHUNK_DATA) {
			used += body_bytes(r, n - used);
		} else if (head_byte(r, bytes[used])) {
			used++;
		} else {
			r->state = RESPONSE_MALFORMED;
		}
	}
	return used;
}

void
response_end(struct response *r)
{
	if (r->state == RESPONSE_BODY_CLOSE)
		r->state = RESPONSE_COMPLETE;
}
