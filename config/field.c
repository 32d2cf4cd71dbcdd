/* field.c: check a name of warmup.fields. */
#include "config/field.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 64

struct group {
	const char *const *names;
	const char *why;
};

/* Fields of one message or connection; Tailor writes its own. */
static const char *const framing[] = {"host", "connection", "content-length",
    "transfer-encoding", "keep-alive", "proxy-connection", "te", "trailer",
    "upgrade", "http2-settings", "expect", "content-type", "content-encoding",
    NULL};
/* Fields that would make a copy look like the original request. */
static const char *const identity[] = {"x-request-id", "traceparent",
    "tracestate", "x-forwarded-for", "x-real-ip", "forwarded", "via", NULL};

static const struct group groups[] = {
    {framing, "it belongs to one message or connection: Tailor writes it"},
    {identity, "it identifies the client: a copy has none"},
};

const char *
field_judge(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > NAME_MAX_BYTES ||
	    strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "0123456789!#$%&'*+-.^_`|~") != length)
		return "a field's name has 1 to 64 letters, digits or any of "
		       "!#$%&'*+-.^_`|~";
	if (strncasecmp(name, "tailor-", 7) == 0 ||
	    strncasecmp(name, "x-tailor-", 9) == 0)
		return "Tailor's own fields are never copied";
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const char *const *n = groups[i].names; *n != NULL; n++)
			if (strcasecmp(name, *n) == 0)
				return groups[i].why;
	return NULL;
}
