/* response.h: a strict, incremental scanner of HTTP/1.x responses.
 *
 * Bytes go in as they arrive, in pieces of any size; out come the status, how
 * long the body was, whether the connection may be used again, and the
 * server's own latency.  The body is counted, never kept.  It is a measuring
 * instrument, not a browser: what RFC 9112 calls an error is an error here,
 * since a tolerant reader would time the wrong bytes.  Refused among others:
 * bare LF, space before the colon, folded lines, control characters, two
 * lengths that differ, a length beside Transfer-Encoding, any coding but
 * "chunked", heads over 64 KiB.  Interim (1xx) responses are skipped.
 *
 * Cost: 700 bytes per connection, no allocation, one switch per head byte,
 * nothing per body byte. */
#pragma once

#include "loadgen/send/server_timing.h"

#define RESPONSE_HEAD_MAX 65536
#define RESPONSE_NAME_MAX 24
#define RESPONSE_VALUE_MAX 512

enum response_state {
	RESPONSE_STATUS_LINE,
	RESPONSE_STATUS_LINE_LF,
	RESPONSE_HEADER_START,
	RESPONSE_HEADER_NAME,
	RESPONSE_HEADER_SPACE,
	RESPONSE_HEADER_VALUE,
	RESPONSE_HEADER_LF,
	RESPONSE_HEAD_LF,
	RESPONSE_BODY_LENGTH,
	RESPONSE_BODY_CLOSE,
	RESPONSE_CHUNK_SIZE,
	RESPONSE_CHUNK_EXTENSION,
	RESPONSE_CHUNK_SIZE_LF,
	RESPONSE_CHUNK_DATA,
	RESPONSE_CHUNK_CR,
	RESPONSE_CHUNK_LF,
	RESPONSE_COMPLETE,
	RESPONSE_MALFORMED,
};

struct response {
	enum response_state state;
	/* What is known once the state is past the head. */
	uint16_t status;
	uint64_t body_bytes;
	bool keep_alive;
	struct server_timing timing;

	/* Private from here. */
	const char *metric; /* borrowed; Server-Timing name wanted or NULL */
	bool to_head;	    /* the request was a HEAD */
	bool trailer;
	bool minor_0; /* HTTP/1.0 */
	bool has_length;
	bool chunked;
	uint8_t status_line_bytes;
	uint8_t chunk_digits;
	uint32_t head_bytes; /* of this head, chunk line or trailer */
	uint64_t remaining;
	uint64_t length;
	size_t name_length;
	size_t value_length;
	char name[RESPONSE_NAME_MAX];
	char value[RESPONSE_VALUE_MAX];
};

/* Expect a new response.
 *   metric   Server-Timing metric that counts, or NULL (server_timing.h)
 *   to_head  the request's method was HEAD: no body follows */
void response_init(struct response *r, const char *metric, bool to_head);

/* Read n more bytes, hostile.  Returns how many belong to this response: less
 * than n only when the state has become RESPONSE_COMPLETE or
 * RESPONSE_MALFORMED, 0 once it is. */
size_t response_feed(struct response *r, const char *bytes, size_t n);

/* The server closed its side.  A body that lasts until then becomes complete;
 * any other unfinished response stays as it is. */
void response_end(struct response *r);

/* No more bytes are needed, for better or worse. */
static inline bool
response_is_over(const struct response *r)
{
	return r->state == RESPONSE_COMPLETE || r->state == RESPONSE_MALFORMED;
}
