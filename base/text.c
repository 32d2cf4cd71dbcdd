#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

bool
text_reserve(struct text *t, size_t n)
{
	size_t capacity = t->capacity > 0 ? t->capacity : 1024;
	char *grown;

	if (t->failed)
		return false;
	while (capacity - t->length <= n)
		capacity *= 2;
	if (capacity == t->capacity)
		return true;
	grown = realloc(t->at, capacity);
	if (grown == NULL) {
		t->failed = true;
		return false;
	}
	t->at = grown;
	t->capacity = capacity;
	return true;
}

void
text_add(struct text *t, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n > 0 && text_reserve(t, (size_t)n)) {
		vsnprintf(t->at + t->length, (size_t)n + 1, format, again);
		t->length += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

void
text_append(char *out, size_t size, const char *format, ...)
{
	size_t n = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + n, size - n, format, args);
	va_end(args);
}

void
text_wrap(struct text *t, const char *words, size_t column, size_t indent)
{
	size_t n;
	bool fresh = column <= indent; /* nothing on this line yet */

	for (size_t gap = 0; *words != '\0'; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n > TEXT_COLUMNS - 1 - indent)
			n = TEXT_COLUMNS - 1 - indent;
		if (!fresh && column + gap + n >= TEXT_COLUMNS) {
			text_add(t, "\n%*s", (int)indent, "");
			column = indent;
			gap = 0;
		}
		text_add(t, "%*s%.*s", (int)gap, "", (int)n, words);
		column += gap + n;
		gap = 1;
		fresh = false;
	}
	text_add(t, "\n");
}

char *
text_safe(char *out, size_t size, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0, fits = 0, step;
	unsigned char c;

	for (; *s != '\0'; s++) {
		c = (unsigned char)*s;
		step = c < 0x20 || c > 0x7e || c == '\\' ? 4 : 1;
		if (n + step >= size) {
			memcpy(out + fits, "...", 4);
			return out;
		}
		if (step == 1) {
			out[n] = (char)c;
		} else {
			out[n] = '\\';
			out[n + 1] = 'x';
			out[n + 2] = hex[c >> 4];
			out[n + 3] = hex[c & 15];
		}
		n += step;
		/* The last place where a cut leaves room for the dots. */
		if (n + 4 <= size)
			fits = n;
	}
	out[n] = '\0';
	return out;
}

char *
text_ms(char out[32], int64_t ns)
{
	double ms = text_ms_of(ns);
	int digits = fabs(ms) < 0.0995 ? 3 : fabs(ms) < 9.995 ? 2 : 1;

	snprintf(out, 32, "%.*f ms", digits, ms);
	return out;
}

char *
text_wall(char out[40], int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	if (wall_ns < 0 || gmtime_r(&seconds, &tm) == NULL ||
	    strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm) != 19)
		snprintf(out, 40, "?");
	else
		snprintf(out + 19, 21, ".%06dZ",
		    (int)(wall_ns % NS_PER_S / NS_PER_US));
	return out;
}

int
text_take(struct text *t, char **out, size_t *length)
{
	int err = text_reserve(t, 0) ? 0 : -ENOMEM;

	if (err == 0)
		t->at[t->length] = '\0';
	else
		free(t->at);
	*out = err == 0 ? t->at : NULL;
	*length = err == 0 ? t->length : 0;
	*t = (struct text){0};
	return err;
}

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

unsigned
utf8_control(const unsigned char *s, size_t length)
{
	unsigned c = 0;

	if (length == 2)
		c = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	else if (length == 3)
		c = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	if ((c >= 0x80 && c <= 0x9f) || c == 0x61c || c == 0x200e ||
	    c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069))
		return c;
	return 0;
}
