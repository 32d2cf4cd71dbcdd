/* running_median.c: a running median that forgets slowly.
 *
 * Values are counted in logarithmic buckets, sixteen to an octave, and all
 * counts are halved once there are MEDIAN_MOST of them: the median is that of
 * the last two or three thousand values, half a minute of busy time at 10 ms.
 * It takes about that long for a lasting change to become the median.
 *
 * Fixed size, no allocation; adding a value costs some ns, reading some
 * hundreds. */
#include "profiler/rates/rates_read.h"

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
	u->count = 0;
	for (unsigned i = 0; i < MEDIAN_OCTAVES * MEDIAN_STEPS; i++) {
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
