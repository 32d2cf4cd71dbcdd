/* writer.h: a text built in a buffer of fixed size.
 *
 * For text that is written for each request, where snprintf would cost more
 * than the rest of a head; elsewhere use snprintf, which is easier to read.
 * Text that does not fit is left out and sets .full, so the caller checks for
 * it once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DIGITS_HEX 16
#define DIGITS_DECIMAL_MAX 20

/* 16 lower-case hexadecimal digits to out[DIGITS_HEX]. */
static inline void
digits_hex(char *out, uint64_t n)
{
	for (int i = DIGITS_HEX - 1; i >= 0; i--, n >>= 4)
		out[i] = "0123456789abcdef"[n & 15];
}

/* Decimal digits to out[DIGITS_DECIMAL_MAX]; returns how many, at least 1. */
static inline size_t
digits_decimal(char *out, uint64_t n)
{
	char text[DIGITS_DECIMAL_MAX];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	memcpy(out, text + at, sizeof(text) - at);
	return sizeof(text) - at;
}

struct writer {
	char *at; /* borrowed from the caller */
	size_t length, capacity;
	bool full;
};

/* Append length bytes; sets w->full if they do not fit. */
static inline void
writer_put(struct writer *w, const char *at, size_t length)
{
	if (w->full || length > w->capacity - w->length) {
		w->full = true;
		return;
	}
	if (length > 0)
		memcpy(w->at + w->length, at, length);
	w->length += length;
}

/* Append a terminated text.  Inlined, so that the length of a constant text is
 * computed by the compiler. */
static inline __attribute__((always_inline)) void
writer_text(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

/* Append a number in decimal digits. */
static inline void
writer_decimal(struct writer *w, uint64_t n)
{
	char digits[DIGITS_DECIMAL_MAX];

	writer_put(w, digits, digits_decimal(digits, n));
}

/* Copy a text to out[size], cut where it does not fit; terminated. */
static inline void
writer_copy(char *out, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memcpy(out, text, n);
	out[n] = '\0';
}

/* The same for length bytes; a text that is cut ends in "...". */
static inline void
writer_cut(char *out, size_t size, const char *text, size_t length)
{
	size_t n = length < size - 1 ? length : size - 1;

	memcpy(out, text, n);
	out[n] = '\0';
	if (n < length && n >= 3)
		memcpy(out + n - 3, "...", 3);
}

/* Append a number in 16 hexadecimal digits. */
static inline void
writer_hex(struct writer *w, uint64_t n)
{
	char digits[DIGITS_HEX];

	digits_hex(digits, n);
	writer_put(w, digits, sizeof(digits));
}
