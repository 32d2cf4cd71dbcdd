/*
 * hex.h: hexadecimal digits.
 */
#ifndef TAILOR_BASE_HEX_H
#define TAILOR_BASE_HEX_H

/* The value of a digit of either case, or -1. */
static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
