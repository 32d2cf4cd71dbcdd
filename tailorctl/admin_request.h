/* admin_request.h: finds the running tailor, sends requests to its admin
 * socket, and reads members of the JSON in its responses.
 *
 * Uses http/client/client.h; errors are printed on standard error before a
 * function returns.  The tailor may be of another version: a member that is
 * missing, or of another type, reads as unknown. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "http/client/client.h"
#include "tailorctl/options.h"

/* Connect to the selected tailor (find_tailor) and send a request.
 *   target  as sent; see admin_escape for parts from outside
 * Returns 0 with *out filled (any status), release with http_response_fini;
 * or -1 after one message that says what to do. */
int admin_request(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out);

/* The same, but a status other than 200 is printed as an error and returns
 * -1. */
int admin_request_ok(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out);

/* Explain a response other than 200 on standard error. */
void admin_response_complain(const struct http_response *a);

/* Print a body, ending in a newline. */
void admin_response_print(const struct http_response *a);

/* Get the JSON document of target, or NULL after a message.  Free it with
 * cJSON_Delete. */
cJSON *admin_json(const struct ctl_options *options, const char *target);

/* Request a JSON document; with --json print it unchanged, else call show.
 * Returns the exit status. */
int admin_report(const struct ctl_options *options, const char *method,
    const char *target, void (*show)(const cJSON *tree));

/* Percent-encode text for a target, cut to fit.  Returns out. */
char *admin_escape(const char *text, char *out, size_t size);

/* Return a member that is a text, borrowed from the tree, or NULL. */
static inline const char *
field_text(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(
	    cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Return a member that is a number, or missing if there is none.  Whole numbers
 * are exact up to 2^53. */
static inline long long
field_number(const cJSON *object, const char *key, long long missing)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(item) || !(item->valuedouble > -9e15) ||
	    !(item->valuedouble < 9e15))
		return missing;
	return (long long)item->valuedouble;
}

/* The same for a number of any size. */
static inline double
field_double(const cJSON *object, const char *key, double missing)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : missing;
}

/* True if the member is there and true. */
static inline bool
field_true(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Return a member, an array or object, or NULL; cJSON_ArrayForEach accepts
 * NULL. */
static inline const cJSON *
field_list(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Return the server of that name in the document of /servers, borrowed from the
 * tree, or NULL. */
static inline const cJSON *
field_server(const cJSON *tree, const char *name)
{
	const cJSON *s;

	cJSON_ArrayForEach(s, field_list(tree, "servers"))
	{
		const char *found = field_text(s, "name");

		if (found != NULL && strcmp(found, name) == 0)
			return s;
	}
	return NULL;
}

/* Connect to the running tailor: the one that --admin names; else the one that
 * the environment names ($TAILOR_ADMIN: admin socket, $TAILOR_INSTANCE: name);
 * else the only one that runs.  The name is the value of the key "instance",
 * and part of the name of the admin socket.  Returns a connected, non-blocking
 * socket, which the caller closes; or -1 after one message on standard error
 * that says what to do. */
int find_tailor(const struct ctl_options *options);

/* True if any tailor runs or one is named; then find_tailor succeeds or prints
 * why not.  Prints nothing. */
bool find_any(const struct ctl_options *options);

/* Print the names of running tailors that begin with typed, for shells. */
void find_print_names(const struct ctl_options *options, const char *typed);
