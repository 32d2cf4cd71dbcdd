/*
 * ask.h: asking the running tailor one thing.
 *
 * A blocking HTTP/1.0 client for the admin socket: one request per
 * connection, one deadline for all of it, a bounded reply.
 */
#ifndef TAILOR_TAILORCTL_ASK_H
#define TAILOR_TAILORCTL_ASK_H

#include <stdbool.h>

#include "tailorctl/options.h"
#include "tailorctl/reply.h"

#define ASK_REPLY_MAX (16u << 20) /* bytes */

struct answer {
	char *bytes; /* owned: all that came */
	struct reply reply;
};

/*
 * ask(options, method, target, out):
 * Connect to the tailor that is meant (find.h) and ask.
 *   target  as it goes on the wire; see ask_escape for parts from outside
 * Returns 0 with *out filled (any status), release with answer_fini; or -1
 * after one message on standard error that says what to do.
 */
int ask(const struct options *options, const char *method, const char *target,
    struct answer *out);
void answer_fini(struct answer *a);

/* The same as ask, but an answer that is not 200 is complained about and is -1. */
int ask_ok(const struct options *options, const char *method,
    const char *target, struct answer *out);

/* Say on standard error what a reply that is not 200 means. */
void answer_complain(const struct answer *a);

/* Say on standard error that a reply is no tailor's, and what -a wants. */
void answer_not_json(const struct options *options);

/* Percent-encode text for a target; cuts it to fit.  Returns out. */
char *ask_escape(const char *text, char *out, size_t size);

#endif
