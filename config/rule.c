/* rule.c: check a rule of hedging.repeatable, a class of blame.classes, a field
 * of warmup.fields, and a status of health_status. */
#include "config/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/path_pattern.h"
#include "config/config.h"

#define METHOD_MAX 16

static bool
is_method(const char *rule, size_t length, const char *const *methods)
{
	for (; *methods != NULL; methods++)
		if (strlen(*methods) == length &&
		    memcmp(rule, *methods, length) == 0)
			return true;
	return false;
}

/* True if a rule is a regular expression, as rules once were.  No path has
 * these bytes unescaped, except "$", which rarely ends a path; no segment ends
 * in ".*". */
static bool
is_expression(const char *text)
{
	size_t n = strlen(text);

	return strpbrk(text, "^[]{}|\\") != NULL ||
	       strstr(text, ".*") != NULL || strstr(text, ".+") != NULL ||
	       (n > 0 && text[n - 1] == '$');
}

#define LIKE \
	"write it like \"POST /*/_search\": * is one segment, ** any number"

/* A sentence on a mistyped method (PSOT, post) that names the likely one; NULL:
 * none is near. */
static const char *
method_doubt(const char *rule, size_t length)
{
	static const struct {
		const char *name, *text;
	} known[] = {
	    {"GET", "did you mean GET? It needs no rule"},
	    {"POST", "an unknown method: did you mean POST?"},
	    {"PUT", "an unknown method: did you mean PUT?"},
	    {"DELETE", "an unknown method: did you mean DELETE?"},
	    {"PATCH", "an unknown method: did you mean PATCH?"},
	};
	char word[METHOD_MAX + 1];

	snprintf(word, sizeof(word), "%.*s", (int)length, rule);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(word, known[i].name) == 0)
			return NULL;
		if (nearest_distance(word, known[i].name) == 1)
			return known[i].text;
	}
	return NULL;
}

const char *
rule_judge(const char *rule)
{
	static const char *const safe[] = {"GET", "HEAD", "OPTIONS", NULL};
	static const char *const never[] = {"CONNECT", "TRACE", NULL};
	size_t method = strspn(rule, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
	const char *pattern = rule + method + 1;
	const char *doubt;

	if (is_expression(rule))
		return "regular expressions are not supported: " LIKE;
	if (method == 0 || method > METHOD_MAX || rule[method] != ' ' ||
	    *pattern == '\0')
		return "a rule is a method, a space and a path pattern: " LIKE;
	if (is_method(rule, method, never))
		return "CONNECT and TRACE are never forwarded";
	if (is_method(rule, method, safe))
		return "GET, HEAD and OPTIONS need no rule";
	doubt = method_doubt(rule, method);
	return doubt != NULL ? doubt : path_pattern_judge(pattern);
}

#define CLASS_MAX 47

const char *
class_judge(const char *text)
{
	static const char form[] = "a class is a method or *, a space and a "
				   "path pattern, like \"GET /search/**\"";
	size_t method = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

	if (method == 0 && *text == '*')
		method = 1;
	if (method == 0 || method > METHOD_MAX || text[method] != ' ')
		return form;
	if (strlen(text) > CLASS_MAX)
		return "a class has 47 bytes at most, as reports show it as a "
		       "name";
	for (const char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~' || strchr(",\"\\", *c) != NULL)
			return "a class has no comma, quote or backslash, and "
			       "only printable ASCII, as reports show it as "
			       "a name";
	return path_pattern_judge(text + method + 1);
}

#define NAME_MAX_BYTES 64

struct group {
	const char *const *names;
	const char *why;
};

/* Fields that belong to one message or connection; Tailor writes its own. */
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

/* Parse "404" or "200-399".  False: it is neither. */
static bool
status_range(const char *text, unsigned *first, unsigned *last)
{
	int n = 0;

	if (strspn(text, "0123456789-") != strlen(text))
		return false;
	if (sscanf(text, "%3u-%3u%n", first, last, &n) == 2 && n > 0 &&
	    text[n] == '\0')
		return true;
	if (sscanf(text, "%3u%n", first, &n) != 1 || text[n] != '\0')
		return false;
	*last = *first;
	return true;
}

const char *
status_judge(const char *text)
{
	unsigned first, last;

	if (!status_range(text, &first, &last) || first < 200 || last > 599 ||
	    first > last)
		return "a status is in 200..599, a range like 200-399";
	return NULL;
}

bool
config_status_expected(const struct config_server *s, unsigned status)
{
	unsigned first, last;

	for (unsigned i = 0; i < s->health_statuses; i++)
		if (status_range(s->health_status[i], &first, &last) &&
		    status >= first && status <= last)
			return true;
	return false;
}
