/*
 * http_gate.h: what the files of the HTTP gate share among themselves.
 *
 *   http.c           scanning for the end of a head; small public helpers
 *   http_fields.c    field lines: syntax, ids, which are not forwarded
 *   http_framing.c   Content-Length, Transfer-Encoding, Connection
 *   http_target.c    request targets and authorities
 *   http_request.c   http_parse_request
 *   http_response.c  http_parse_response
 *   http_write.c     heads written again
 *   http_body.c      bodies
 *   http_lib.c       http-parser (http_lib.h)
 *
 * Functions here that can refuse return NULL if all is well and otherwise
 * the reason, a static token for metrics; where the answer is not always the
 * same status they return a refusal with .reason NULL if all is well.
 */
#ifndef TAILOR_PROXY_HTTP_GATE_H
#define TAILOR_PROXY_HTTP_GATE_H

#include "proxy/http.h"

/* What a byte may be part of; see RFC 9110 5.6.2, 5.5 and RFC 3986 2. */
enum {
	HTTP_CHAR_TOKEN = 1,
	HTTP_CHAR_VALUE = 2,  /* a field value or reason: no controls */
	HTTP_CHAR_TARGET = 4, /* a request target: visible ASCII but "#" */
	HTTP_CHAR_HOST = 8,   /* a host name: unreserved */
};
extern const unsigned char http_chars[256];

/* True if s is not empty and each byte of s is of that class. */
bool slice_all(struct slice s, unsigned class);

/* Without SP and HTAB at both ends. */
struct slice slice_trim(struct slice s);

/* Equal, ASCII case ignored. */
bool slice_same(struct slice a, struct slice b);

/* True if s begins with that word, ASCII case ignored. */
bool slice_begins(struct slice s, const char *word);

/*
 * list_next(rest, item):
 * Take the next member of a comma-separated list, trimmed; empty members are
 * passed over.  False at the end.  Quoted strings are not looked into: none
 * of the lists we read may have any.
 */
bool list_next(struct slice *rest, struct slice *item);

/*
 * line_take(rest, line):
 * Take a line up to CRLF from *rest.  False if there is none.
 */
bool line_take(struct slice *rest, struct slice *line);

/*
 * fields_read(limits, request, rest, head):
 * Read all field lines up to the empty line, which must be the end.
 */
struct http_refusal fields_read(const struct http_limits *limits, bool request,
    struct slice rest, struct http_head *head);

/* Mark what is not to be forwarded, head->field[].drop, and what Connection
 * names, .named.  NULL, or the reason why the head is refused. */
const char *fields_drop(
    const struct http_limits *limits, bool request, struct http_head *head);

/* How many fields have that id. */
unsigned fields_count(const struct http_head *head, enum http_field_id id);

/* Whether a field of that name may be a trailer. */
bool field_may_trail(struct slice name);

/* X-Forwarded-* and Forwarded: what a client must not tell about itself. */
bool field_is_forwarded(const struct http_field *field);

/*
 * framing_read(head):
 * Content-Length and Transfer-Encoding into head->framing, content_length
 * and has_content_length; LENGTH, CHUNKED or NONE.
 */
struct http_refusal framing_read(struct http_head *head);

/* Connection and version into head->keep_alive; upgrade options. */
void connection_read(struct http_head *head);

/* A host with or without port. */
const char *authority_check(struct slice authority);

/*
 * target_read(text, head):
 * The target of the request line into head->target, and into head->authority
 * if it is in absolute form.  head->method is set.
 */
const char *target_read(struct slice text, struct http_head *head);

/* Does http-parser read the same in this head as we did? */
struct http_refusal lib_agrees(bool request, struct slice text,
    const struct http_head *head, struct slice target);

#endif
