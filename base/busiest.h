/* busiest.h: the most frequent keys of a stream, in a fixed number of entries.
 *
 * A key without an entry takes over the entry with the lowest count.  That
 * count stays, and becomes the entry's error: the new key's count may be too
 * high by this much.  So every key with more than 1/n of all occurrences has an
 * entry, and count - error is never too high.  O(n) for each call; only the
 * caller's memory.
 * Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and
 * Top-k Elements in Data Streams", ICDT 2005 (Space-Saving). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct busiest {
	uint64_t key; /* 0: the entry is not used */
	uint64_t count, error;
};

/* Count a key (not 0) that many times.  The n entries are zero in the
 * beginning.  Returns the key's entry. */
struct busiest *
busiest_add(struct busiest *of, unsigned n, uint64_t key, uint64_t times);

/* Return the entry of a key, or NULL. */
struct busiest *busiest_find(struct busiest *of, unsigned n, uint64_t key);

/* Halve all counts. */
void busiest_halve(struct busiest *of, unsigned n);

/* Sort by count, keep the first entries, those with the largest counts, and set
 * the others to zero. */
void busiest_keep(struct busiest *of, unsigned n, unsigned first);
