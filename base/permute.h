/* permute.h: unpredictable distinct numbers from a counter.
 *
 * A keyed permutation of all 64-bit numbers: distinct numbers stay distinct,
 * and without the key the image of the next one cannot be guessed from those
 * before it.  It is the block cipher Speck64/128.
 *
 * Cost: 27 rounds of five instructions, about 30 ns.
 * Source: Beaulieu et al., "The Simon and Speck Families of Lightweight Block
 * Ciphers", Cryptology ePrint Archive 2013/404, with its test vector. */
#ifndef TAILOR_BASE_PERMUTE_H
#define TAILOR_BASE_PERMUTE_H

#include <stdint.h>

#define PERMUTE_ROUNDS 27

struct permutation {
	uint32_t round_key[PERMUTE_ROUNDS];
};

/* Derive the permutation from a key of four words, lowest first. */
void permutation_init(struct permutation *p, const uint32_t key[4]);

/* The image of n.  Any thread. */
uint64_t permutation_of(const struct permutation *p, uint64_t n);

#endif
