/*
 * running_median.h: a running median that forgets slowly.
 *
 * Values are counted in logarithmic buckets, sixteen to an octave, and all
 * counts are halved once there are MEDIAN_MOST of them: the median is that of
 * the last two or three thousand values, half a minute of busy time at 10 ms.
 * It takes about that long for a lasting change to become the median.
 *
 * Fixed size, no allocation; adding a value costs some ns, reading some
 * hundreds.
 */
#ifndef TAILOR_PROFILER_RUNNING_MEDIAN_H
#define TAILOR_PROFILER_RUNNING_MEDIAN_H

#include <stdint.h>

#define MEDIAN_OCTAVES 24 /* values from 1 to 2^24 - 1 */
#define MEDIAN_STEPS 16	  /* buckets of an octave */
#define MEDIAN_LEAST 64	  /* values needed for a median */
#define MEDIAN_MOST 4096

struct running_median {
	uint32_t count;
	uint16_t bucket[MEDIAN_OCTAVES * MEDIAN_STEPS];
};

/* Add a value; 0 and values out of range are ignored. */
void running_median_add(struct running_median *u, uint64_t value);

/* The median, within 1/32 of it; 0 with fewer than MEDIAN_LEAST values. */
uint64_t running_median_value(const struct running_median *u);

#endif
