/*
 * ask.h: one HTTP request, its answer waited for; not for measuring.
 *
 * A connection for each, closed afterwards.  The answer must have a length
 * and at most ASK_ANSWER_MAX bytes.  Blocks, but never longer than a limit.
 */
#ifndef TAILOR_LOADGEN_ASK_H
#define TAILOR_LOADGEN_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "loadgen/send/target.h"

#define ASK_ANSWER_MAX ((size_t)16 << 20)

struct ask {
	const char *method;
	const char *path;
	const char *body; /* JSON text, or NULL */
	int64_t timeout_ns;
};

struct answer {
	int status;
	char *text; /* owned; NUL-terminated body */
	size_t length;
};

/*
 * ask_server(t, question, out):
 * Ask the server of *t (its paths are not used).
 * Returns 0 with *out filled, whose text the caller frees, or a negative
 * errno: -ETIMEDOUT, -EPROTO (not such an answer), those of sockets.
 */
int ask_server(
    const struct target *t, const struct ask *question, struct answer *out);

#endif
