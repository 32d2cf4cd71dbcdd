/*
 * admin_request.h: one request to the running tailor.
 *
 * A blocking HTTP/1.0 client for the admin socket: one request per
 * connection, one deadline for all of it, a bounded response.
 */
#ifndef TAILOR_TAILORCTL_ADMIN_REQUEST_H
#define TAILOR_TAILORCTL_ADMIN_REQUEST_H

#include <stdbool.h>

#include "tailorctl/options.h"
#include "tailorctl/response.h"

#define RESPONSE_MAX (16u << 20) /* bytes */

struct admin_response {
	char *bytes; /* owned: all bytes received */
	struct response response;
};

/*
 * admin_request(options, method, target, out):
 * Connect to the selected tailor (find.h) and send a request.
 *   target  as sent; see admin_escape for parts from outside
 * Returns 0 with *out filled (any status), release with admin_response_fini; or -1
 * after one message on standard error that says what to do.
 */
int admin_request(const struct options *options, const char *method,
    const char *target, struct admin_response *out);
void admin_response_fini(struct admin_response *a);

/* As ask, but a response other than 200 is printed as an error, and -1. */
int admin_request_ok(const struct options *options, const char *method,
    const char *target, struct admin_response *out);

/* Explain a response other than 200 on standard error. */
void admin_response_complain(const struct admin_response *a);

/* Print that a response is not a tailor's, and what -a expects. */
void admin_response_not_json(const struct options *options);

/* Percent-encode text for a target, cut to fit.  Returns out. */
char *admin_escape(const char *text, char *out, size_t size);

#endif
