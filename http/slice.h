/* slice.h: a piece of text in a buffer of the caller's.
 *
 * Pure functions over memory.  Each is one pass over the text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Not terminated. */
struct slice {
	const char *at; /* borrowed */
	size_t length;
};

/* Classes of bytes, by what they may be part of; see RFC 9110 5.6.2, 5.5 and
 * RFC 3986 2. */
enum {
	HTTP_CHAR_TOKEN = 1,
	HTTP_CHAR_VALUE = 2,  /* a field value or reason: no controls */
	HTTP_CHAR_TARGET = 4, /* a request target: visible ASCII but "#" */
	HTTP_CHAR_HOST = 8,   /* a host name: unreserved */
};
extern const unsigned char http_chars[256];

/* True if s is not empty and all of its bytes are of that class. */
bool slice_all(struct slice s, unsigned class);

/* Return s without SP and HTAB at both ends. */
struct slice slice_trim(struct slice s);

/* True if s equals a word, ASCII case ignored. */
bool slice_is(struct slice s, const char *word);

/* True if a and b are equal, ASCII case ignored. */
bool slice_same(struct slice a, struct slice b);

/* True if s begins with that word, ASCII case ignored. */
bool slice_begins(struct slice s, const char *word);

/* Take the next member of a comma-separated list, trimmed; empty members are
 * skipped.  False at the end.  Quoted strings are not recognised: the lists
 * that we read may have none. */
bool list_next(struct slice *rest, struct slice *item);

/* Take a line up to CRLF, or to LF alone, from *rest.  False if there is none.
 * http_scan refuses LF alone where it is not allowed. */
bool line_take(struct slice *rest, struct slice *line);
