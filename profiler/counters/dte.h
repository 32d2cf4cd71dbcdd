/* dte.h: double-time error correction.
 *
 * A rate needs two counters and the clock at two times, and they cannot be read
 * at once.  If reading took longer at one end of a period than at the other (an
 * interrupt, a cache miss), the counters cover a different time than the clock
 * does and the rate is wrong, even impossible.  So the clock is read twice for
 * each sample, before and after the counters: if the two disagree about the
 * length of the period, it is dropped.
 *
 *	CPC = (end - last end) / (begin - last begin), kept: |CPC - 1| <= margin
 *
 * Source: Yang, Blackburn, McKinley, "Computer Performance Microscopy with
 * SHIM", ISCA 2015, section 4.1.  Cost: some adds and one multiplication. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The paper's margin of one percent, in parts per million. */
#define DTE_MARGIN_PPM 10000

/* The two clock readings of one sample. */
struct dte_clock {
	uint64_t begin; /* before the first counter */
	uint64_t end;	/* after the last */
};

/* True if rates of the period between two samples can be trusted.
 *   margin_ppm  0 .. 1000000
 * A period in which the clock stood still or ran backwards is never kept. */
static inline bool
dte_keep(struct dte_clock last, struct dte_clock now, uint32_t margin_ppm)
{
	int64_t by_begin = (int64_t)(now.begin - last.begin);
	int64_t by_end = (int64_t)(now.end - last.end);
	uint64_t apart;

	if (by_begin <= 0 || by_end <= 0)
		return false;
	apart = by_begin > by_end ? (uint64_t)(by_begin - by_end)
				  : (uint64_t)(by_end - by_begin);
	/* Doubles are exact enough here and cannot overflow. */
	return (double)apart * 1e6 <= (double)by_begin * margin_ppm;
}
