/* slice.c: one table says what each byte may be part of. */
#include "http/slice.h"

#include <string.h>
#include <strings.h>

#define T HTTP_CHAR_TOKEN
#define V HTTP_CHAR_VALUE
#define R HTTP_CHAR_TARGET
#define H HTTP_CHAR_HOST

const unsigned char http_chars[256] = {
    ['\t'] = V,
    [' '] = V,
    ['!'] = T | V | R,
    ['"'] = V | R,
    ['#'] = T | V,
    ['$' ... '\''] = T | V | R,
    ['('] = V | R,
    [')'] = V | R,
    ['*'] = T | V | R,
    ['+'] = T | V | R,
    [','] = V | R,
    ['-'] = T | V | R | H,
    ['.'] = T | V | R | H,
    ['/'] = V | R,
    ['0' ... '9'] = T | V | R | H,
    [':' ... '@'] = V | R,
    ['A' ... 'Z'] = T | V | R | H,
    ['[' ... ']'] = V | R,
    ['^'] = T | V | R,
    ['_'] = T | V | R | H,
    ['`'] = T | V | R,
    ['a' ... 'z'] = T | V | R | H,
    ['{'] = V | R,
    ['|'] = T | V | R,
    ['}'] = V | R,
    ['~'] = T | V | R | H,
    [0x80 ... 0xff] = V,
};

#undef T
#undef V
#undef R
#undef H

bool
slice_is(struct slice s, const char *word)
{
	return strlen(word) == s.length &&
	       strncasecmp(s.at, word, s.length) == 0;
}

bool
slice_same(struct slice a, struct slice b)
{
	return a.length == b.length && strncasecmp(a.at, b.at, a.length) == 0;
}

bool
slice_begins(struct slice s, const char *word)
{
	size_t length;

	/* fast path: nearly always decides; words begin with a letter */
	if (s.length == 0 || (s.at[0] | 0x20) != word[0])
		return false;
	length = strlen(word);
	return s.length >= length && strncasecmp(s.at, word, length) == 0;
}

bool
slice_all(struct slice s, unsigned class)
{
	for (size_t i = 0; i < s.length; i++)
		if (!(http_chars[(unsigned char)s.at[i]] & class))
			return false;
	return s.length > 0;
}

struct slice
slice_trim(struct slice s)
{
	while (s.length > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
		s.at++;
		s.length--;
	}
	while (s.length > 0 &&
	       (s.at[s.length - 1] == ' ' || s.at[s.length - 1] == '\t'))
		s.length--;
	return s;
}

bool
list_next(struct slice *rest, struct slice *item)
{
	while (rest->length > 0) {
		const char *comma = memchr(rest->at, ',', rest->length);
		size_t length =
		    comma != NULL ? (size_t)(comma - rest->at) : rest->length;

		*item = slice_trim((struct slice){rest->at, length});
		if (comma != NULL)
			length++;
		rest->at += length;
		rest->length -= length;
		if (item->length > 0)
			return true;
	}
	return false;
}

bool
line_take(struct slice *rest, struct slice *line)
{
	const char *lf = NULL;
	size_t length;

	if (rest->length > 0)
		lf = memchr(rest->at, '\n', rest->length);
	if (lf == NULL)
		return false;
	length = (size_t)(lf - rest->at);
	*line = (struct slice){rest->at, length};
	if (length > 0 && lf[-1] == '\r')
		line->length--;
	rest->at += length + 1;
	rest->length -= length + 1;
	return true;
}
