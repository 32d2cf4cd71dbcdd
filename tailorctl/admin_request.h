/* admin_request.h: requests to the admin socket of the running Tailor.
 *
 * http_client.h with this program's messages: errors are printed on standard
 * error before a function returns. */
#pragma once

#include <cjson/cJSON.h>

#include "http/client/client.h"
#include "tailorctl/options.h"

/* Connect to the selected tailor (find.h) and send a request.
 *   target  as sent; see admin_escape for parts from outside
 * Returns 0 with *out filled (any status), release with http_response_fini;
 * or -1 after one message that says what to do. */
int admin_request(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out);

/* The same, but a status other than 200 is printed as an error, and -1. */
int admin_request_ok(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out);

/* Explain a response other than 200 on standard error. */
void admin_response_complain(const struct http_response *a);

/* Print a body, ending in a newline. */
void admin_response_print(const struct http_response *a);

/* The JSON that a GET of target returns, or NULL after a message.  Free with
 * cJSON_Delete. */
cJSON *admin_json(const struct ctl_options *options, const char *target);

/* Request JSON; with --json print it unchanged, else show it.  Returns the exit
 * status. */
int admin_report(const struct ctl_options *options, const char *method,
    const char *target, void (*show)(const cJSON *tree));

/* Percent-encode text for a target, cut to fit.  Returns out. */
char *admin_escape(const char *text, char *out, size_t size);
