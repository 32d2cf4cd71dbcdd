/* http_parser_adapter.h: the head as http-parser reads it, in our own types.
 *
 * http_parser.h and http.h cannot be included together (both have an enum
 * http_method), and no other file needs to know which parser this is: its
 * successor would replace http_parser_adapter.c and nothing else.
 *
 * Nothing is checked here.  Debian's build of http-parser accepts
 * folded lines, bare LF, spaces in field names and more; the gate checks the
 * raw bytes first and compares its own reading with this one.
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
	uint64_t content_length; /* if has_content_length */
	unsigned fields;
	struct {
		/* the value may still have white space at its end */
		struct http_lib_text name, value;
	} field[HTTP_LIB_FIELDS_MAX];
};

enum http_lib_result {
	HTTP_LIB_OK,
	HTTP_LIB_METHOD, /* http-parser does not know the method */
	HTTP_LIB_BAD,	 /* another error, or another end of the head */
};

/* Read one whole head, last empty line included, in pieces of whole lines.
 * Texts of *out point into the pieces.  Any thread; allocates nothing. */
enum http_lib_result
http_lib_read(bool request, const struct http_lib_text *piece, unsigned pieces,
    struct http_lib_head *out);

/* The standard phrase of a status; NULL if it has none. */
const char *http_lib_status_text(unsigned status);
