/* response.h: reads one HTTP/1.x response from the bytes of a connection.
 *
 * Takes bytes as they arrive, in pieces of any size, and gives the status, the
 * length of the body, whether the connection may be used again, and the
 * server's own latency.  The body is counted, never kept.  Responses are parsed
 * by http/, as in Tailor itself, with other limits (heads of 16 KiB, 100
 * fields, HTTP_TRAILERS_MAX of trailers); a 101 is refused, as no upgrade was
 * requested.  Interim (1xx) responses are skipped; together they may be as long
 * as one head.
 *
 * Cost: 200 bytes per connection, plus a head if it comes in pieces; no
 * allocation; a head is read three times (http/http.h), a body not at all. */
#pragma once

#include <stdint.h>

#include "http/http.h"

#define RESPONSE_HEAD_MAX 16384

/* The server's own latency, from Server-Timing headers.
 *
 * A value is a list like `tailor;dur=2.31, upstream;dur=1.80;desc="a, b"` (W3C
 * Server Timing).  The metric used is the first "app", else the first
 * "upstream", else the first with a duration.  A syntax error ends the reading
 * of that header; metrics before it still count.  Allocates nothing. */
struct server_timing {
	int64_t duration_ns; /* -1: none found yet */
	unsigned rank;	     /* of the metric used; smaller is better */
	bool tailor;	     /* there is a metric "tailor" */
};

/* Begin with no metric found. */
void server_timing_init(struct server_timing *t);

/* Read one header's value, keeping the best metric of this and earlier ones.
 *   value  hostile bytes
 * Durations are decimal milliseconds; above one day they are ignored. */
void server_timing_read(struct server_timing *t, struct slice value);

enum response_state {
	RESPONSE_HEAD,
	RESPONSE_BODY,
	RESPONSE_COMPLETE,
	RESPONSE_MALFORMED,
};

struct load_response {
	enum response_state state;
	/* Set once the state is past the head. */
	uint16_t status;
	uint64_t body_bytes;
	bool keep_alive;
	struct server_timing timing;

	/* Private from here. */
	bool to_head; /* the request was a HEAD */
	char *kept;   /* borrowed, RESPONSE_HEAD_MAX bytes: a head in pieces,
		       then the trailers */
	size_t kept_bytes;
	size_t scanned;	      /* see http_scan() */
	size_t interim_bytes; /* of 1xx responses */
	struct http_body body;
};

/* Expect a new response.
 *   kept     room for RESPONSE_HEAD_MAX bytes, for as long as *r is used
 *   to_head  the request's method was HEAD: no body follows */
void response_init(struct load_response *r, char *kept, bool to_head);

/* Read n more bytes, hostile.  Returns how many belong to this response: less
 * than n only if the response becomes complete or malformed, and 0 for all
 * later calls. */
size_t response_feed(struct load_response *r, const char *bytes, size_t n);

/* The server closed its side.  A body that lasts until then becomes complete;
 * any other unfinished response stays as it is. */
void response_end(struct load_response *r);

/* True if the response is complete or malformed: no more bytes are needed. */
static inline bool
response_is_over(const struct load_response *r)
{
	return r->state == RESPONSE_COMPLETE || r->state == RESPONSE_MALFORMED;
}
