/* rule.c: judging a rule of hedging.allow.  See rule.h. */
#include "config/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/path_pattern.h"

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

/* Rules were regular expressions once.  No path has these bytes unescaped, but
 * a "$", which is not at the end of many. */
static bool
is_expression(const char *pattern)
{
	size_t n = strlen(pattern);

	return strpbrk(pattern, "^[]{}|\\") != NULL || pattern[n - 1] == '$';
}

const char *
rule_judge(const char *rule)
{
	static const char *const safe[] = {"GET", "HEAD", "OPTIONS", NULL};
	static const char *const never[] = {"CONNECT", "TRACE", NULL};
	size_t method = strspn(rule, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
	const char *pattern = rule + method + 1;

	if (method == 0 || method > METHOD_MAX || rule[method] != ' ' ||
	    *pattern == '\0')
		return "a rule is a method, a space and a path pattern";
	if (is_method(rule, method, never))
		return "CONNECT and TRACE are never forwarded";
	if (is_method(rule, method, safe))
		return "GET, HEAD and OPTIONS need no rule";
	if (is_expression(pattern))
		return "regular expressions are not supported: write a path "
		       "pattern like \"POST /*/_search\", where * is one "
		       "segment and ** any number";
	return path_pattern_judge(pattern);
}
