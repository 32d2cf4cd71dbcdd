#include "base/random.h"

void
prng_init(struct prng *p, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		p->s[i] = splitmix64(&seed);
}

static uint64_t
rotate_left(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t
prng_next(struct prng *p)
{
	uint64_t *s = p->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}
