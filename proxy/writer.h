/*
 * writer.h: text put together in a buffer of fixed size.
 *
 * For what is written for each request, where snprintf would cost more than
 * all the rest of a head.  What does not fit is left out and remembered in
 * .full, so that it is looked at once, at the end.
 */
#ifndef TAILOR_PROXY_WRITER_H
#define TAILOR_PROXY_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"

struct writer {
	char *at; /* borrowed from the caller */
	size_t length, capacity;
	bool full;
};

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

/* Inlined, because the length of most texts is known then. */
static inline __attribute__((always_inline)) void
writer_text(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

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

/* 16 digits. */
static inline void
writer_hex(struct writer *w, uint64_t n)
{
	char digits[DIGITS_HEX];

	digits_hex(digits, n);
	writer_put(w, digits, sizeof(digits));
}

#endif
