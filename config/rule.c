/* rule.c: judging a rule of hedging.allow.  See rule.h. */
#include "config/rule.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define METHOD_MAX 16
#define EXPRESSION_MAX 256
#define DEPTH_MAX 8 /* each repeated group doubles what is in it */

/* The last byte of the bracket expression that begins at p. */
static const char *
bracket_end(const char *p)
{
	p++;
	if (*p == '^')
		p++;
	if (*p == ']') /* the first one is meant as such */
		p++;
	for (; *p != '\0' && *p != ']'; p++) {
		char kind = p[1];

		if (*p != '[' || strchr(":.=", kind) == NULL || kind == '\0')
			continue;
		for (p += 2; *p != '\0' && (p[0] != kind || p[1] != ']'); p++)
			continue;
		if (*p == '\0')
			break;
		p++; /* at its ']'; not the end of all */
	}
	return *p == '\0' ? p - 1 : p;
}

/* What would make the compiled expression, or matching it, unbounded. */
static const char *
judge_size(const char *expression)
{
	bool repeated = false; /* what is before p ends in a repeat */
	unsigned depth = 0;

	for (const char *p = expression; *p != '\0'; p++) {
		bool repeats = false;

		switch (*p) {
		case '\\':
			if (isdigit((unsigned char)p[1]))
				return "back references are not supported";
			p += p[1] != '\0';
			break;
		case '[':
			p = bracket_end(p);
			break;
		case '(':
			if (++depth > DEPTH_MAX)
				return "its groups are in one another more "
				       "than 8 deep";
			break;
		case ')':
			depth -= depth > 0;
			break;
		case '{':
			return "repeat counts {} are not supported";
		case '*':
		case '+':
		case '?':
			if (repeated)
				return "a repeat of a repeat is not supported";
			repeats = true;
			break;
		default:
			break;
		}
		repeated = repeats;
	}
	return NULL;
}

const char *
rule_judge(const char *rule)
{
	size_t method = strspn(rule, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
	const char *expression = rule + method + 1;
	const char *why;
	regex_t regex;

	if (method == 0 || method > METHOD_MAX || rule[method] != ' ' ||
	    *expression == '\0')
		return "it is not a method, a space and an expression";
	if (strncmp(rule, "CONNECT ", 8) == 0 ||
	    strncmp(rule, "TRACE ", 6) == 0)
		return "CONNECT and TRACE are never forwarded";
	if (strlen(expression) > EXPRESSION_MAX)
		return "the expression has more than 256 bytes";
	why = judge_size(expression);
	if (why != NULL)
		return why;
	if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
		return "the expression is not a POSIX extended one";
	regfree(&regex);
	return NULL;
}
