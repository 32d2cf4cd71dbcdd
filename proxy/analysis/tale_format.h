/* tale_format.h: the form of a tale that a client requests: by the media ranges
 * of Accept and their weights (RFC 9110, 12.5.1), or by name in a query
 * parameter.  Pure functions. */
#pragma once

#include "http/http.h"

/* Symbol, name in ?format=, media type in Accept, Content-Type that is sent. */
#define TALE_FORMATS(X)                                                \
	X(TEXT, "text", "text/plain", "text/plain; charset=utf-8")     \
	X(JSON, "json", "application/json", "application/json")        \
	X(HTML, "html", "text/html", "text/html; charset=utf-8")       \
	X(SVG, "svg", "image/svg+xml", "image/svg+xml; charset=utf-8") \
	X(CHROME, "chrome", "application/vnd.tailor.chrome+json",      \
	    "application/vnd.tailor.chrome+json")

enum tale_format {
#define TALE_X(symbol, name, type, sent) TALE_FORMAT_##symbol,
	TALE_FORMATS(TALE_X)
#undef TALE_X
	    TALE_FORMAT_COUNT
};

/* The names of all formats, for messages. */
#define TALE_FORMATS_TEXT "text, json, html, svg or chrome"

/* The Content-Type to send. */
const char *tale_format_type(enum tale_format format);

/* The format with that name, or -EINVAL. */
int tale_format_named(const char *name, size_t length);

/* The sum of all Accept fields of a request. */
struct negotiation {
	struct {
		unsigned weight;    /* 0 .. 1000 */
		unsigned exactness; /* 0: none, 1: all, 2: type, 3: subtype */
	} format[TALE_FORMAT_COUNT];
	bool said; /* at least one valid range */
};

/* Take the value of one Accept field into account; n is all zero at first. */
void negotiate_accept(struct negotiation *n, struct slice accept);

/* Return the format with the highest weight; among equals preferred, then the
 * one that Accept names most exactly, then the first in the table.  If Accept
 * had no valid range: preferred.  -ENOENT if no format is acceptable. */
int negotiate_choose(const struct negotiation *n, enum tale_format preferred);

/* Return header lines that a format needs besides Content-Type, each ending in
 * CRLF; "" for most.  id becomes part of a file's name, with all but letters,
 * digits, "-", "_" and "." replaced. */
#define NEGOTIATE_EXTRA_BYTES 512
const char *negotiate_extra(
    enum tale_format format, const char *id, char out[NEGOTIATE_EXTRA_BYTES]);

/* Content-Security-Policy of a page that loads nothing. */
#define NEGOTIATE_POLICY                                               \
	"default-src 'none'; style-src 'unsafe-inline'; "              \
	"script-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'none'; frame-ancestors 'none'"
