/* busiest.h: which keys of a stream occur most, in a fixed number of entries.
 *
 * A key that has no entry takes the least one's, with its count, which is then
 * how much the new one's may be too high (error).  So none whose share is more
 * than 1/n of all is missing, and count - error never is too high.  O(n) for
 * each, and no more memory than the caller's.
 * Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and
 * Top-k Elements in Data Streams", ICDT 2005 (Space-Saving). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct busiest {
	uint64_t key; /* 0: the entry is not used */
	uint64_t count, error;
};

/* Count a key (not 0) that many times, in one of n entries, which are zero in
 * the beginning.  Returns its entry. */
struct busiest *
busiest_add(struct busiest *of, unsigned n, uint64_t key, uint64_t times);

/* The entry of a key, or NULL. */
struct busiest *busiest_find(struct busiest *of, unsigned n, uint64_t key);

/* Forget half of what was counted. */
void busiest_halve(struct busiest *of, unsigned n);

/* Keep the first entries, those with the largest counts; the others become
 * zero. */
void busiest_keep(struct busiest *of, unsigned n, unsigned first);
