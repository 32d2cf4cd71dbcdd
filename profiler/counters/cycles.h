/* cycles.h: the cheapest clock of this CPU, and reading it in order.
 *
 * The time stamp counter of x86, the virtual counter of arm64, elsewhere
 * CLOCK_MONOTONIC.  Counts at a constant rate that has little to do with the
 * CPU's present clock speed; "cycle" in this folder means one tick of it, as
 * in the paper's CPC.
 *
 * Cost: 10 to 25 ns in order, half of that out of order. */
#pragma once

#include "base/instant.h"

/* The clock after all earlier instructions have completed. */
static inline uint64_t
cycles_in_order(void)
{
#if defined(__x86_64__)
	unsigned aux;

	return __builtin_ia32_rdtscp(&aux);
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t)::"memory");
	return t;
#else
	return instant_now().ns;
#endif
}

/* The same, but later instructions need not wait for the clock. */
static inline uint64_t
cycles_beside(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
#else
	return cycles_in_order();
#endif
}

/* The clock, without any ordering. */
static inline uint64_t
cycles_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return cycles_in_order();
#endif
}

/* Yield the core to the SMT sibling for some dozens of cycles. */
static inline void
cycles_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory"); /* many cores ignore yield */
#endif
}

/* Ticks per second: measured once over 20 ms, then kept. */
double cycles_hz(void);
