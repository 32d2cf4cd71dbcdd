/* usual.c: see the header. */
#include "profiler/usual.h"

#include <string.h>

_Static_assert(USUAL_MOST <= UINT16_MAX, "a bucket may hold them all");

/* Small values have whole buckets to themselves, so some stay empty. */
static unsigned
bucket_of(uint64_t value)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll(value);
	uint64_t within = value - (UINT64_C(1) << octave);

	return octave * USUAL_STEPS +
	       (unsigned)(within * USUAL_STEPS >> octave);
}

/* The middle of a bucket. */
static uint64_t
bucket_value(unsigned bucket)
{
	uint64_t octave = UINT64_C(1) << bucket / USUAL_STEPS;

	return octave + octave * (UINT64_C(2) * (bucket % USUAL_STEPS) + 1) /
			    (UINT64_C(2) * USUAL_STEPS);
}

static void
usual_halve(struct usual *u)
{
	unsigned i;

	u->count = 0;
	for (i = 0; i < USUAL_OCTAVES * USUAL_STEPS; i++) {
		u->bucket[i] /= 2;
		u->count += u->bucket[i];
	}
}

void
usual_add(struct usual *u, uint64_t value)
{
	if (value == 0 || value >> USUAL_OCTAVES != 0)
		return;
	if (u->count >= USUAL_MOST)
		usual_halve(u);
	u->bucket[bucket_of(value)]++;
	u->count++;
}

uint64_t
usual_value(const struct usual *u)
{
	uint32_t seen = 0;
	unsigned i;

	if (u->count < USUAL_LEAST)
		return 0;
	for (i = 0; i < USUAL_OCTAVES * USUAL_STEPS; i++) {
		seen += u->bucket[i];
		if (2 * seen >= u->count)
			break;
	}
	return bucket_value(i);
}
