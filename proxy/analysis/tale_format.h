/* tale_format.h: in which form a tale is wanted.
 *
 * By the media ranges of Accept and their weights (RFC 9110, 12.5.1), or by
 * the name that a query parameter gives.  Pure functions. */
#pragma once

#include "http/http.h"

/* symbol, name in ?format=, media type as in Accept, as sent */
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

/* "text, json, html, svg or chrome", for people. */
#define TALE_FORMATS_TEXT "text, json, html, svg or chrome"

/* The Content-Type to send. */
const char *tale_format_type(enum tale_format format);

/* The format with that name, or -EINVAL. */
int tale_format_named(const char *name, size_t length);

/* The sum of all Accept fields of a request. */
struct negotiation {
	struct {
		unsigned weight;    /* 0 .. 1000 */
		unsigned exactness; /* 0 not named, 1 of all, 2 type, 3 both */
	} format[TALE_FORMAT_COUNT];
	bool said; /* at least one valid range */
};

/* Take the value of one Accept field into account; n is all zero at first. */
void negotiate_accept(struct negotiation *n, struct slice accept);

/* The format of the highest weight; among equals preferred, then the most
 * exactly named, then the first in the table.  preferred if nothing valid was
 * said.  -ENOENT if none of ours is acceptable. */
int negotiate_choose(const struct negotiation *n, enum tale_format preferred);

/* Headers that go with a format besides its type, whole lines ending in CRLF;
 * "" for most.  id is used in a file's name, its strange bytes replaced. */
#define NEGOTIATE_EXTRA_BYTES 512
const char *negotiate_extra(
    enum tale_format format, const char *id, char out[NEGOTIATE_EXTRA_BYTES]);

/* The policy of a page that is complete in itself. */
#define NEGOTIATE_POLICY                                               \
	"default-src 'none'; style-src 'unsafe-inline'; "              \
	"script-src 'unsafe-inline'; img-src data:; base-uri 'none'; " \
	"form-action 'none'; frame-ancestors 'none'"
