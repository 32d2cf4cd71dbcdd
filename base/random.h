/* random.h: deterministic random numbers: a seed always gives the same ones, on
 * every machine.  Not for secrets, which need getrandom(2).  Allocates nothing.
 *
 * splitmix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number
 * Generators", 2014) also serves as a hash of a number.
 * For long streams there is xoshiro256** (D. Blackman, S. Vigna, "Scrambled
 * Linear Pseudorandom Number Generators", 2018), its state filled by
 * splitmix64, as its authors advise. */
#pragma once

#include <stdint.h>

/* One step of splitmix64: advances *state, returns 64 random bits. */
static inline uint64_t
splitmix64(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Turn the 53 highest of 64 random bits into a number in [0, 1). */
static inline double
random_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

struct prng {
	uint64_t s[4];
};

/* Fill the state from a seed; any seed is good. */
void prng_init(struct prng *p, uint64_t seed);

/* 64 random bits (xoshiro256**). */
uint64_t prng_next(struct prng *p);
