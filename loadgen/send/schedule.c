#include "loadgen/send/schedule.h"

#include <math.h>

#include "base/instant.h"

const char *
arrivals_name(enum arrivals arrivals)
{
	switch (arrivals) {
	case ARRIVALS_POISSON:
		return "poisson";
	case ARRIVALS_UNIFORM:
		return "uniform";
	case ARRIVALS_FILE:
		return "file";
	case ARRIVALS_CLOSED:
		return "closed";
	}
	return "?";
}

uint64_t
splitmix64(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

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

double
prng_uniform(struct prng *p)
{
	return (double)(prng_next(p) >> 11) * 0x1p-53;
}

uint64_t
schedule_iteration_seed(uint64_t seed, unsigned iteration)
{
	return seed + iteration;
}

uint64_t
schedule_warmup_seed(uint64_t seed)
{
	return seed ^ UINT64_C(0x7761726d2d757021); /* "warm-up!" */
}

void
schedule_fill(enum arrivals arrivals, double rate_per_s, uint64_t seed,
    int64_t *offset_ns, size_t n)
{
	const double gap_ns = (double)NS_PER_S / rate_per_s;
	struct prng p;
	int64_t at_ns = 0;

	if (arrivals == ARRIVALS_UNIFORM) {
		/* From the start each time: rounding must not add up. */
		for (size_t i = 0; i < n; i++)
			offset_ns[i] = llround((double)(i + 1) * gap_ns);
		return;
	}
	prng_init(&p, seed);
	for (size_t i = 0; i < n; i++) {
		at_ns += llround(-log1p(-prng_uniform(&p)) * gap_ns);
		offset_ns[i] = at_ns;
	}
}
