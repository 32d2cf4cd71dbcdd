/* cycles.c: the frequency of the clock of cycles.h.
 *
 * Measured against CLOCK_MONOTONIC, because in virtual machines neither CPUID
 * nor the perf page is reliable. */
#include "profiler/counters/cycles.h"

#include <stdatomic.h>

#define MEASURE_NS (20 * NS_PER_MS)

double
cycles_hz(void)
{
	static _Atomic double known;
	struct instant from, to;
	uint64_t begin, end;

	if (known > 0)
		return known;
	from = instant_now();
	begin = cycles_in_order();
	do {
		cycles_relax();
		to = instant_now();
		end = cycles_in_order();
	} while (instant_since(to, from) < MEASURE_NS);
	known = (double)(end - begin) * (double)NS_PER_S /
		(double)instant_since(to, from);
	return known;
}
