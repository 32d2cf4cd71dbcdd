/* array.h: lengths of arrays, names from them, order in them. */
#pragma once

/* How many elements an array has. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Element i of an array of texts, "?" if it is out of range or has none. */
#define NAME_IN(names, i)                                        \
	((size_t)(i) < COUNT(names) && (names)[(size_t)(i)] != 0 \
		? (names)[(size_t)(i)]                           \
		: "?")

/* -1, 0 or 1: a is less than, equal to or greater than b, for qsort() and
 * bsearch().  Chain keys with "?:". */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
