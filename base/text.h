/* text.h: a growing text buffer, and functions on texts.
 *
 * The writers of JSON and of metrics use this buffer, too.  If memory runs out,
 * later calls do nothing and text_take() reports it.  Text from outside goes
 * through text_safe(), which makes it printable ASCII. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/instant.h"

#define TEXT_COLUMNS 80

struct text {
	char *at; /* owned; terminated when taken */
	size_t length, capacity;
	bool failed;
};

/* Make room for n more bytes and a terminator.  False: t has failed. */
bool text_reserve(struct text *t, size_t n);

/* Append n bytes; or a terminated text. */
static inline void
text_put(struct text *t, const char *bytes, size_t n)
{
	if (t->capacity - t->length <= n && !text_reserve(t, n))
		return;
	memcpy(t->at + t->length, bytes, n);
	t->length += n;
}
static inline void
text_puts(struct text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

/* Append, printf-like. */
void text_add(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append words (printable, separated by single spaces), as if at that column.
 * Lines break before column 80; later lines begin at indent.  Ends with a
 * newline. */
void text_wrap(struct text *t, const char *words, size_t column, size_t indent);

/* Append to the text in out[size], printf-like; cut to fit. */
void text_append(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copy s with every byte outside printable ASCII, and backslashes, as \xNN; a
 * text that does not fit is cut and ends in "...".  Returns out. */
char *text_safe(char *out, size_t size, const char *s);

/* Nanoseconds as milliseconds, for printing. */
static inline double
text_ms_of(int64_t ns)
{
	return (double)ns / (double)NS_PER_MS;
}

/* A length for people: "0.12 ms", "1.90 ms", "46.1 ms".  Returns out. */
char *text_ms(char out[32], int64_t ns);

/* A wall-clock time in UTC as "2026-10-04T10:15:03.412345Z", "?" if it is none.
 * Returns out. */
char *text_wall(char out[40], int64_t wall_ns);

/* Give the text away (the caller frees it).  0, or -ENOMEM and *out NULL. */
int text_take(struct text *t, char **out, size_t *length);

/* Length of the well-formed UTF-8 sequence at s (n > 0 bytes left), 0 if there
 * is none: overlong forms, surrogates and code points above U+10FFFF are not
 * well formed.  Any thread.  Source: The Unicode Standard 15, table 3-7. */
size_t utf8_sequence(const unsigned char *s, size_t n);

/* Return the code point of a well-formed sequence if it affects the text around
 * it, else 0: controls U+0080 .. U+009F, which terminals obey like ESC, line
 * separators (U+2028 and 2029) and marks of direction, which reorder text
 * (U+061C, U+200E, 200F, U+202A .. 202E, U+2066 .. 2069).  0 for all ASCII
 * controls.  Source: The Unicode Standard 15, Bidi_Control. */
unsigned utf8_control(const unsigned char *s, size_t length);

/* Length of the character at s (n > 0 bytes left) if it is safe to send to a
 * terminal; 0 for controls and what is not UTF-8. */
static inline size_t
utf8_shown(const unsigned char *s, size_t n)
{
	size_t length = utf8_sequence(s, n);

	if ((length == 1 && (*s < ' ' || *s == 0x7f)) ||
	    utf8_control(s, length) != 0)
		return 0;
	return length;
}

/* The value of a hexadecimal digit of either case, or -1. */
static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The XML entity of c; NULL: c needs none. */
static inline const char *
xml_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}
