/*
 * identity.h: the names that a request goes by.
 *
 * Ours is a number (Tailor-Request).  The client's is X-Request-Id, taken
 * over from clients we know and made up for all others, so that nobody can
 * give a request the name of somebody else's.  A traceparent (W3C Trace
 * Context) goes on with a parent id of its own for each attempt, which makes
 * two attempts siblings in the trace; one that is not well-formed is dropped.
 */
#ifndef TAILOR_PROXY_IDENTITY_H
#define TAILOR_PROXY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/http.h"

struct trace {
	char id[36];   /* "00-" and the trace id; "": none */
	char flags[3]; /* two hex digits */
};

/*
 * external_id_read(out, id, head, known):
 * The value of X-Request-Id for a request with our number id, into out[65].
 *   known  the client's own is taken over, if it is 1 to 64 letters, digits,
 *          "." "_" or "-"
 */
void external_id_read(
    char *out, uint64_t id, const struct http_head *head, bool known);

/* The client's traceparent, if there is one and it is well-formed. */
void trace_read(struct trace *out, const struct http_head *head);

/*
 * trace_line(t, id, attempt, out, size):
 * Write the line "traceparent: ..." for one attempt (0, 1); nothing if there
 * is no trace.  Returns its length; a size of 80 is enough.
 */
size_t trace_line(const struct trace *t, uint64_t id, unsigned attempt,
    char *out, size_t size);

#endif
