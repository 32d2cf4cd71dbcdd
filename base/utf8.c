#include "base/utf8.h"

#include <stdbool.h>

static bool
is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t
utf8_sequence(const unsigned char *s, size_t n)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || n < 2 || !is_continuation(s[1]))
		return 0;
	if (s[0] < 0xe0)
		return 2;
	if (n < 3 || !is_continuation(s[2]) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f))
		return 0;
	if (s[0] < 0xf0)
		return 3;
	if (n < 4 || !is_continuation(s[3]) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return 4;
}
