/* http_parser_adapter.h: what http-parser makes of a head, in words of our own.
 *
 * http_parser.h and http.h cannot be included together (both have an enum
 * http_method), and no other file needs to know which parser this is: its
 * successor would replace http_parser_adapter.c and nothing else.
 *
 * This is not a check of anything.  Debian's build of http-parser takes
 * folded lines, bare LF, spaces in field names and more; the gate looks at
 * the raw bytes first and compares what it saw with what is said here.
 *
 * Cost: one pass over the head, 3 KiB of the caller's stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_LIB_FIELDS_MAX 100

struct http_lib_text {
	const char *at; /* borrowed from the head */
	size_t length;
};

struct http_lib_head {
	const char *method; /* static */
	struct http_lib_text target;
	struct http_lib_text reason;
	unsigned major, minor, status;
	bool chunked;
	bool has_content_length;
	uint64_t content_length; /* if it has one */
	unsigned fields;
	struct {
		/* the value may still have white space at its end */
		struct http_lib_text name, value;
	} field[HTTP_LIB_FIELDS_MAX];
};

enum http_lib_result {
	HTTP_LIB_OK,
	HTTP_LIB_METHOD, /* a method it does not know */
	HTTP_LIB_BAD,	 /* anything else; or it did not end where we did */
};

/* Read one whole head, last empty line included, of pieces that begin and end
 * with a line.  Texts of *out point into it.  Any thread; allocates nothing. */
enum http_lib_result
http_lib_read(bool request, const struct http_lib_text *piece, unsigned pieces,
    struct http_lib_head *out);

/* The standard phrase of a status; NULL if it has none. */
const char *http_lib_status_text(unsigned status);
