#include "base/permute.h"

static uint32_t
rotate_left(uint32_t n, unsigned bits)
{
	return n << bits | n >> (32 - bits);
}

/* One round. */
static void
mix(uint32_t *high, uint32_t *low, uint32_t key)
{
	*high = (rotate_left(*high, 24) + *low) ^ key;
	*low = rotate_left(*low, 3) ^ *high;
}

void
permutation_init(struct permutation *p, const uint32_t key[4])
{
	uint32_t low = key[0], more[3] = {key[1], key[2], key[3]};

	for (uint32_t i = 0; i < PERMUTE_ROUNDS; i++) {
		p->round_key[i] = low;
		mix(&more[i % 3], &low, i);
	}
}

uint64_t
permutation_of(const struct permutation *p, uint64_t n)
{
	uint32_t high = (uint32_t)(n >> 32), low = (uint32_t)n;

	for (int i = 0; i < PERMUTE_ROUNDS; i++)
		mix(&high, &low, p->round_key[i]);
	return (uint64_t)high << 32 | low;
}
