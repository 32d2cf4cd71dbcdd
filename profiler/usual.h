/*
 * usual.h: what a rate usually is: a running median that forgets slowly.
 *
 * Values are counted into logarithmic buckets, sixteen to an octave, and all
 * counts are halved once there are USUAL_MOST of them: the median is that of
 * the last two or three thousand values, half a minute of busy time at 10 ms.
 * A thing that is slow for longer than that has become usual.
 *
 * Fixed size, no allocation; adding costs some ns, asking some hundreds.
 */
#ifndef TAILOR_PROFILER_USUAL_H
#define TAILOR_PROFILER_USUAL_H

#include <stdint.h>

#define USUAL_OCTAVES 24 /* values from 1 to 2^24 - 1 */
#define USUAL_STEPS 16	 /* buckets of an octave */
#define USUAL_LEAST 64	 /* values before anything is said */
#define USUAL_MOST 4096

struct usual {
	uint32_t count;
	uint16_t bucket[USUAL_OCTAVES * USUAL_STEPS];
};

/* Count a value; 0 and what is beyond the range are not counted. */
void usual_add(struct usual *u, uint64_t value);

/*
 * The median of what was counted, within 1/32 of it; 0 while it is not known:
 * fewer than USUAL_LEAST values.
 */
uint64_t usual_value(const struct usual *u);

#endif
