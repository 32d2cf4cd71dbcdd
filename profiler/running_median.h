/*
 * running_median.h: what a rate usually is: a running median that forgets slowly.
 *
 * Values are counted into logarithmic buckets, sixteen to an octave, and all
 * counts are halved once there are MEDIAN_MOST of them: the median is that of
 * the last two or three thousand values, half a minute of busy time at 10 ms.
 * A thing that is slow for longer than that has become usual.
 *
 * Fixed size, no allocation; adding costs some ns, asking some hundreds.
 */
#ifndef TAILOR_PROFILER_RUNNING_MEDIAN_H
#define TAILOR_PROFILER_RUNNING_MEDIAN_H

#include <stdint.h>

#define MEDIAN_OCTAVES 24 /* values from 1 to 2^24 - 1 */
#define MEDIAN_STEPS 16	  /* buckets of an octave */
#define MEDIAN_LEAST 64	  /* values before anything is said */
#define MEDIAN_MOST 4096

struct running_median {
	uint32_t count;
	uint16_t bucket[MEDIAN_OCTAVES * MEDIAN_STEPS];
};

/* Count a value; 0 and what is beyond the range are not counted. */
void running_median_add(struct running_median *u, uint64_t value);

/*
 * The median of what was counted, within 1/32 of it; 0 while it is not known:
 * fewer than MEDIAN_LEAST values.
 */
uint64_t running_median_value(const struct running_median *u);

#endif
