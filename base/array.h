/* array.h: arrays: length, lookup of names, sorting, growth. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Number of elements of an array. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Element i of an array of texts; "?" if i is out of range or the element is
 * NULL. */
#define NAME_IN(names, i)                                        \
	((size_t)(i) < COUNT(names) && (names)[(size_t)(i)] != 0 \
		? (names)[(size_t)(i)]                           \
		: "?")

/* -1, 0 or 1: a is less than, equal to or greater than b, for qsort() and
 * bsearch().  Chain keys with "?:". */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Sort n values, the smallest first; no value may be NaN. */
void array_sort_int64(int64_t *values, size_t n);
void array_sort_double(double *values, size_t n);

/* The first i of 0 .. n - 1 for which a condition holds; it must hold for all
 * later i, too.  n: it holds for none.  O(log n). */
#define FIRST_WHERE(i, n, condition)                   \
	({                                             \
		size_t low_ = 0, high_ = (n), i;       \
                                                       \
		while (low_ < high_) {                 \
			i = low_ + (high_ - low_) / 2; \
			if (condition)                 \
				high_ = i;             \
			else                           \
				low_ = i + 1;          \
		}                                      \
		low_;                                  \
	})

/* Make room in a malloc()ed array, or NULL, for need elements of size bytes, by
 * doubling *capacity.  Returns the array, which may have moved; NULL: no
 * memory, and the array is as before. */
void *array_reserve(void *array, size_t *capacity, size_t need, size_t size);
