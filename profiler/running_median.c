#include "profiler/running_median.h"

#include <string.h>

_Static_assert(MEDIAN_MOST <= UINT16_MAX, "a bucket may hold them all");

/* Small values have a bucket each, so some buckets stay empty. */
static unsigned
bucket_of(uint64_t value)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll(value);
	uint64_t within = value - (UINT64_C(1) << octave);

	return octave * MEDIAN_STEPS +
	       (unsigned)(within * MEDIAN_STEPS >> octave);
}

/* The middle of a bucket. */
static uint64_t
bucket_value(unsigned bucket)
{
	uint64_t octave = UINT64_C(1) << bucket / MEDIAN_STEPS;

	return octave + octave * (UINT64_C(2) * (bucket % MEDIAN_STEPS) + 1) /
			    (UINT64_C(2) * MEDIAN_STEPS);
}

static void
running_median_halve(struct running_median *u)
{
	unsigned i;

	u->count = 0;
	for (i = 0; i < MEDIAN_OCTAVES * MEDIAN_STEPS; i++) {
		u->bucket[i] /= 2;
		u->count += u->bucket[i];
	}
}

void
running_median_add(struct running_median *u, uint64_t value)
{
	if (value == 0 || value >> MEDIAN_OCTAVES != 0)
		return;
	if (u->count >= MEDIAN_MOST)
		running_median_halve(u);
	u->bucket[bucket_of(value)]++;
	u->count++;
}

uint64_t
running_median_value(const struct running_median *u)
{
	uint32_t seen = 0;
	unsigned i;

	if (u->count < MEDIAN_LEAST)
		return 0;
	for (i = 0; i < MEDIAN_OCTAVES * MEDIAN_STEPS; i++) {
		seen += u->bucket[i];
		if (2 * seen >= u->count)
			break;
	}
	return bucket_value(i);
}
