/* request_id.h: the names that a request goes by.
 *
 * Ours is a number (Tailor-Request).  The client's is X-Request-Id, taken
 * over from clients we know and made up for all others, so that no client
 * can give its request the name of another's.  A traceparent (W3C Trace
 * Context) is passed on as it came, since we export no spans; the trace id in
 * it is only read, for the access log. */
#pragma once

#include "http/http.h"

#define TRACE_ID 32 /* hex digits */

/* The value of X-Request-Id for a request with our number id, into out[65].
 *   known  the client's own is taken over, if it is 1 to 64 letters, digits,
 *          "." "_" or "-" */
void external_id_read(
    char *out, uint64_t id, const struct http_head *head, bool known);

/* The trace id of the client's traceparent; "" without a well-formed one. */
void trace_id_read(char out[TRACE_ID + 1], const struct http_head *head);
