/* request_id.h: the ids of a request.
 *
 * Tailor's id is a number (Tailor-Request).  X-Request-Id is the external id:
 * a known client's own value is used, all others get a new one, so that no
 * client can give its request the id of another client's.  A traceparent (W3C
 * Trace Context) is passed on unchanged, since Tailor exports no spans; its
 * trace id is only read, for the access log. */
#pragma once

#include "http/http.h"

#define TRACE_ID 32 /* hex digits */

/* Write the value of X-Request-Id for a request with our number id to out[65].
 *   known  use the client's own value, if that is 1 to 64 letters, digits,
 *          "." "_" or "-" */
void external_id_read(
    char *out, uint64_t id, const struct http_head *head, bool known);

/* The trace id of the client's traceparent; "" without a well-formed one. */
void trace_id_read(char out[TRACE_ID + 1], const struct http_head *head);
