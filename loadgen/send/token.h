/* token.h: the character class of HTTP names (RFC 9110, 5.6.2). */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Whether c may stand in a method, a header name or another token. */
static inline bool
token_char(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9'))
		return true;
	return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}
