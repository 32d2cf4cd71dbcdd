/* token.h: the character class of HTTP names (RFC 9110, 5.6.2). */
#pragma once

#include "http/slice.h"

/* Whether c may stand in a method, a header name or another token. */
static inline bool
token_char(char c)
{
	return (http_chars[(unsigned char)c] & HTTP_CHAR_TOKEN) != 0;
}
