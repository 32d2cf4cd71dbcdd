/*
 * digits.h: numbers as text, where a request waits for them.
 *
 * What snprintf does, without its format: some tens of instructions in place
 * of some hundreds, which counts only on the way of each request.  Everywhere
 * else snprintf says better what is meant.  Nothing is terminated.
 */
#ifndef TAILOR_BASE_DIGITS_H
#define TAILOR_BASE_DIGITS_H

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

/* To out[DIGITS_DECIMAL_MAX]; returns how many there are, at least one. */
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

#endif
