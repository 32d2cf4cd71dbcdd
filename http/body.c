/* body.c: decodes a body from the bytes of a connection.
 *
 * The decoder takes the bytes as they arrive and returns runs of payload,
 * without copying.  Chunk lines must have the form of RFC 9112 7.1.  The white
 * space that the RFC lets recipients tolerate is refused, except blanks after a
 * size, with which servers pad it to a fixed width:
 *
 *      SIZE --;--> EXT .. EXT_END          TRAILER --name--> NAME --:--> VALUE
 *       |            |                        ^ \                         |
 *       CR           CR                       |  CR                       CR
 *       v            v                        |   v                       v
 *      LINE_LF <-----'                        | END_LF --LF--> done  TRAILER_LF
 *       |  \--size 0--------------------------'                           |
 *       v                                     ^---------------------------'
 *      DATA --> DATA_CR --> DATA_LF --> SIZE
 *
 * All bytes that are not payload are counted and limited: each part (size
 * digits, a line's extensions, trailers), and the sum in proportion to the
 * payload, so that no peer can make us read a megabyte for each byte of it. */
#include "http/gate.h"

#include <string.h>

#define SIZE_DIGITS_MAX 16  /* 64 bits */
#define EXTENSION_MAX 256   /* bytes of extensions on one chunk line */
#define OVERHEAD_FREE 4096  /* bytes of chunk lines without payload */
#define OVERHEAD_PER_BYTE 8 /* further ones for each byte of payload */

enum state {
	STATE_PLAIN, /* not chunked */
	STATE_SIZE,
	STATE_EXT,	  /* after ";": a name must begin */
	STATE_EXT_NAME,	  /* in a name */
	STATE_EXT_VALUE,  /* after "=": a token or quoted string must begin */
	STATE_EXT_TOKEN,  /* in a token */
	STATE_EXT_QUOTED, /* in a quoted string */
	STATE_EXT_ESCAPE, /* after "\" in a quoted string */
	STATE_EXT_END,	  /* after the closing quote */
	STATE_LINE_LF,
	STATE_DATA,
	STATE_DATA_CR,
	STATE_DATA_LF,
	STATE_TRAILER, /* at the start of a line */
	STATE_TRAILER_NAME,
	STATE_TRAILER_VALUE,
	STATE_TRAILER_LF,
	STATE_END_LF,
	STATE_BAD,
};

void
http_body_init(struct http_body *b, enum http_framing framing,
    uint64_t content_length, uint64_t max)
{
	memset(b, 0, sizeof(*b));
	b->framing = framing;
	b->max = max;
	switch (framing) {
	case HTTP_FRAMING_NONE:
		b->done = true;
		break;
	case HTTP_FRAMING_LENGTH:
		b->left = content_length;
		b->done = content_length == 0;
		break;
	case HTTP_FRAMING_CHUNKED:
		b->state = STATE_SIZE;
		break;
	case HTTP_FRAMING_CLOSE:
		break;
	}
}

static bool
is(char c, unsigned class)
{
	return (http_chars[(unsigned char)c] & class) != 0;
}

static const char *
size_step(struct http_body *b, char c)
{
	int digit = hex_value(c);

	if (digit >= 0) {
		if (++b->digits > SIZE_DIGITS_MAX)
			return "chunk_size";
		b->left = b->left << 4 | (uint64_t)digit;
		return NULL;
	}
	if (b->digits > 0 && !b->request && (c == ' ' || c == '\t')) {
		b->digits = SIZE_DIGITS_MAX; /* no digit may follow */
		return NULL;
	}
	if (b->digits == 0 || (c != ';' && c != '\r'))
		return "chunk_size";
	b->line = 0;
	b->state = c == ';' ? STATE_EXT : STATE_LINE_LF;
	return NULL;
}

/* Take a byte after an extension: the line ends, or another extension begins.
 */
static const char *
extension_end(struct http_body *b, char c)
{
	if (c == '\r')
		b->state = STATE_LINE_LF;
	else if (c == ';')
		b->state = STATE_EXT;
	else
		return "chunk_extension";
	return NULL;
}

static const char *
extension_step(struct http_body *b, char c)
{
	static const char *const bad = "chunk_extension";

	if (++b->line > EXTENSION_MAX)
		return "chunk_extension_too_long";
	switch (b->state) {
	case STATE_EXT:
		b->state = STATE_EXT_NAME;
		return is(c, HTTP_CHAR_TOKEN) ? NULL : bad;
	case STATE_EXT_NAME:
		if (is(c, HTTP_CHAR_TOKEN))
			return NULL;
		if (c != '=')
			return extension_end(b, c);
		b->state = STATE_EXT_VALUE;
		return NULL;
	case STATE_EXT_VALUE:
		b->state = c == '"' ? STATE_EXT_QUOTED : STATE_EXT_TOKEN;
		return c == '"' || is(c, HTTP_CHAR_TOKEN) ? NULL : bad;
	case STATE_EXT_TOKEN:
		return is(c, HTTP_CHAR_TOKEN) ? NULL : extension_end(b, c);
	case STATE_EXT_QUOTED:
		if (c == '"')
			b->state = STATE_EXT_END;
		else if (c == '\\')
			b->state = STATE_EXT_ESCAPE;
		return is(c, HTTP_CHAR_VALUE) ? NULL : bad;
	case STATE_EXT_ESCAPE:
		b->state = STATE_EXT_QUOTED;
		return is(c, HTTP_CHAR_VALUE) ? NULL : bad;
	}
	return extension_end(b, c); /* STATE_EXT_END */
}

/* The chunk line is complete: b->left bytes of payload follow. */
static const char *
chunk_begin(struct http_body *b, char c)
{
	if (c != '\n')
		return "bare_cr";
	if (b->left > b->max - b->total)
		return "body_too_large";
	b->digits = 0;
	b->state = b->left > 0 ? STATE_DATA : STATE_TRAILER;
	return NULL;
}

static const char *
data_end_step(struct http_body *b, char c)
{
	if (c != (b->state == STATE_DATA_CR ? '\r' : '\n'))
		return "chunk_end";
	b->state = b->state == STATE_DATA_CR ? STATE_DATA_LF : STATE_SIZE;
	return NULL;
}

void
http_body_keep_trailers(struct http_body *b, char *text)
{
	b->keep = text;
}

/* Take a byte of a trailer's name.  Fields of framing may not be trailers (RFC
 * 9110 6.5.1): a request with one is refused, as a server might merge it into
 * the head; a response's is dropped like others.  b->names has a bit for each
 * framing name that begins with the bytes so far. */
static const char *
trailer_name_step(struct http_body *b, char c)
{
	static const char *const framing[] = {
	    "content-length", "host", "transfer-encoding"};

	for (unsigned i = 0; i < sizeof(framing) / sizeof(framing[0]); i++) {
		if (!(b->names & 1U << i))
			continue;
		if (c == ':' && framing[i][b->name_bytes] == '\0')
			return "trailer_framing";
		/* | 0x20 is lower case; no other token byte becomes a letter */
		if ((c | 0x20) != framing[i][b->name_bytes])
			b->names &= ~(1U << i);
	}
	b->name_bytes++;
	return NULL;
}

/* Take a byte of a trailer.  Trailers are checked like fields, and dropped
 * unless b->keep is set. */
static const char *
trailer_step(struct http_body *b, char c)
{
	if (++b->trailers > HTTP_TRAILERS_MAX)
		return "trailers_too_large";
	if (b->keep != NULL && b->state != STATE_END_LF &&
	    (b->state != STATE_TRAILER || c != '\r'))
		b->keep[b->kept++] = c;
	switch (b->state) {
	case STATE_TRAILER:
		b->state = c == '\r' ? STATE_END_LF : STATE_TRAILER_NAME;
		b->names = b->request ? ~0U : 0;
		b->name_bytes = 0;
		if (c == '\r')
			return NULL;
		return is(c, HTTP_CHAR_TOKEN) ? trailer_name_step(b, c)
					      : "trailer";
	case STATE_TRAILER_NAME:
		if (c == ':')
			b->state = STATE_TRAILER_VALUE;
		return c == ':' || is(c, HTTP_CHAR_TOKEN)
			   ? trailer_name_step(b, c)
			   : "trailer";
	case STATE_TRAILER_VALUE:
		if (c == '\r')
			b->state = STATE_TRAILER_LF;
		return c == '\r' || is(c, HTTP_CHAR_VALUE) ? NULL : "trailer";
	case STATE_TRAILER_LF:
		b->state = STATE_TRAILER;
		return c == '\n' ? NULL : "bare_cr";
	}
	if (c != '\n') /* STATE_END_LF */
		return "bare_cr";
	b->done = true;
	return NULL;
}

/* Take a byte that is not payload. */
static const char *
chunk_step(struct http_body *b, char c)
{
	b->overhead++;
	if (b->overhead > OVERHEAD_FREE &&
	    (b->overhead - OVERHEAD_FREE) / OVERHEAD_PER_BYTE > b->total)
		return "chunk_overhead";
	switch ((enum state)b->state) {
	case STATE_SIZE:
		return size_step(b, c);
	case STATE_EXT:
	case STATE_EXT_NAME:
	case STATE_EXT_VALUE:
	case STATE_EXT_TOKEN:
	case STATE_EXT_QUOTED:
	case STATE_EXT_ESCAPE:
	case STATE_EXT_END:
		return extension_step(b, c);
	case STATE_LINE_LF:
		return chunk_begin(b, c);
	case STATE_DATA_CR:
	case STATE_DATA_LF:
		return data_end_step(b, c);
	case STATE_TRAILER:
	case STATE_TRAILER_NAME:
	case STATE_TRAILER_VALUE:
	case STATE_TRAILER_LF:
	case STATE_END_LF:
		return trailer_step(b, c);
	case STATE_PLAIN:
	case STATE_DATA:
	case STATE_BAD:
		break;
	}
	return "after_error"; /* the body was refused before */
}

/* Return a run of payload from in: at most length and at most b->left bytes. */
static enum http_body_event
payload_take(struct http_body *b, const char *in, size_t length, size_t *used,
    struct slice *data)
{
	if (b->framing != HTTP_FRAMING_CLOSE && length > b->left)
		length = (size_t)b->left;
	*data = (struct slice){in, length};
	*used += length;
	b->total += length;
	if (b->framing == HTTP_FRAMING_CLOSE)
		return HTTP_BODY_DATA;
	b->left -= length;
	if (b->left > 0)
		return HTTP_BODY_DATA;
	if (b->framing == HTTP_FRAMING_LENGTH)
		b->done = true;
	else
		b->state = STATE_DATA_CR;
	return HTTP_BODY_DATA;
}

static enum http_body_event
body_refuse(
    struct http_body *b, const char *reason, struct http_refusal *refusal)
{
	refusal->reason = reason;
	refusal->status = strcmp(reason, "body_too_large") == 0 ? 413 : 400;
	b->state = STATE_BAD;
	return HTTP_BODY_BAD;
}

static enum http_body_event
plain_feed(struct http_body *b, const char *in, size_t length, size_t *used,
    struct slice *data, struct http_refusal *refusal)
{
	uint64_t room = b->max - b->total;

	if (b->framing == HTTP_FRAMING_CLOSE ? length > room : b->left > room)
		return body_refuse(b, "body_too_large", refusal);
	return length > 0 ? payload_take(b, in, length, used, data)
			  : HTTP_BODY_MORE;
}

enum http_body_event
http_body_feed(struct http_body *b, const char *in, size_t length, size_t *used,
    struct slice *data, struct http_refusal *refusal)
{
	const char *reason;

	*used = 0;
	if (b->done)
		return HTTP_BODY_DONE;
	if (b->state == STATE_BAD)
		return body_refuse(b, "after_error", refusal);
	if (b->state == STATE_PLAIN)
		return plain_feed(b, in, length, used, data, refusal);
	while (*used < length) {
		if (b->state == STATE_DATA)
			return payload_take(
			    b, in + *used, length - *used, used, data);
		reason = chunk_step(b, in[*used]);
		if (reason != NULL)
			return body_refuse(b, reason, refusal);
		++*used;
		if (b->done)
			return HTTP_BODY_DONE;
	}
	return HTTP_BODY_MORE;
}

bool
http_body_eof(struct http_body *b)
{
	if (b->framing == HTTP_FRAMING_CLOSE && b->state != STATE_BAD)
		b->done = true;
	return b->done;
}
