/* nearest.h: the known word nearest to a mistyped one, for "did you mean". */
#pragma once

#include <stdbool.h>

#define NEAREST_FAR 1000u

/* Count the single-byte insertions, deletions, replacements and swaps of
 * neighbours that turn a into b; NEAREST_FAR if either is longer than 48 bytes.
 * Source: F. Damerau, CACM 7(3), 1964, in the form that edits no substring
 * twice ("optimal string alignment"). */
unsigned nearest_distance(const char *a, const char *b);

/* True if a word at that distance may be a typing error for word: at most a
 * third of its letters differ. */
bool nearest_is_slip(unsigned distance, const char *word);

/* The nearest word so far; starts as {NULL, 0}. */
struct nearest {
	const char *word; /* borrowed; NULL: none is near */
	unsigned distance;
};

/* Compare one more known word with the typed one, and keep it if it may be
 * meant: a slip (above) that has the first letter right, or only one wrong.
 * Ties keep the first. */
void
nearest_consider(struct nearest *n, const char *typed, const char *candidate);
