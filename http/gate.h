/* gate.h: declarations that the files of the HTTP gate share.
 *
 *   scan.c                  scanning for the end of a head; public helpers
 *   slice.c                 text, lists, classes of bytes (slice.h)
 *   fields.c                field lines: syntax, ids, which are not forwarded
 *   framing.c               Content-Length, Transfer-Encoding, Connection
 *   target.c                request targets and authorities
 *   parse_request.c         http_parse_request
 *   parse_response.c        http_parse_response
 *   write.c                 heads written again
 *   body.c                  bodies
 *   http_parser_adapter.c   http-parser (http_parser_adapter.h)
 *
 * Functions here that can refuse return NULL if all is well, else the reason,
 * a static token for metrics.  Those whose refusals have different statuses
 * return a struct http_refusal; its .reason is NULL if all is well. */
#pragma once

#include "http/http.h"

/* Read all field lines up to the empty line, which must be the end. */
struct http_refusal fields_read(const struct http_limits *limits, bool request,
    struct slice rest, struct http_head *head);

/* Set .drop in fields of head that are not forwarded, and .named in those that
 * Connection names.  NULL, or the reason why the head is refused. */
const char *fields_drop(
    const struct http_limits *limits, bool request, struct http_head *head);

/* True if a field of that name may be a trailer. */
bool field_may_trail(struct slice name);

/* True for X-Forwarded-* and Forwarded, which only trusted clients may set. */
bool field_is_forwarded(const struct http_field *field);

/* Read Content-Length and Transfer-Encoding into head->framing (LENGTH, CHUNKED
 * or NONE), content_length and has_content_length. */
struct http_refusal framing_read(bool request, struct http_head *head);

/* Set head->keep_alive and upgrade from Connection and the HTTP version. */
void connection_read(struct http_head *head);

/* Read Keep-Alive into head->keep_alive_s, which is 0 before. */
void keep_alive_read(struct http_head *head);

/* The value of a hexadecimal digit of either case, or -1. */
static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Check a host with or without port. */
const char *authority_check(struct slice authority);

/* Read the target of the request line into head->target, and head->authority if
 * the target is in absolute form.  head->method must be set. */
const char *target_read(struct slice text, struct http_head *head);

/* Refuse the head if http-parser reads it differently than we did. */
struct http_refusal lib_agrees(bool request, struct slice text,
    const struct http_head *head, struct slice target);
