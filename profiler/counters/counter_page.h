/* counter_page.h: reading a hardware counter through its perf page.
 *
 * The kernel shares one page per event.  While the event is on this CPU the
 * page says which hardware counter holds it, how wide that is, and what to add;
 * the kernel changes all of it whenever it reschedules the event, under a
 * sequence lock.  Ignoring that gives values of another event, values that jump
 * by 2^48, or a fault.
 *
 * Pure over the page and a function that reads counter number n, so tests can
 * simulate the kernel.  Source: perf_event_open(2), "cap_user_rdpmc".
 *
 * Cost: about 40 cycles with the instruction. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define COUNTER_PAGE_TRIES 64

/* Sign-extend a counter of width bits, 1 .. 64. */
static inline int64_t
counter_extend(uint64_t value, unsigned width)
{
	unsigned unused = 64 - (width >= 1 && width <= 64 ? width : 64);

	return (int64_t)(value << unused) >> unused;
}

/* Read the page's words before its lock again.  GCC's ThreadSanitizer does not
 * support fences; no harm here, as every racing access is atomic by itself. */
static inline void
counter_fence(void)
{
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#pragma GCC diagnostic pop
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* Store the event's present value in *out.  False when the event is on no CPU
 * (multiplexed, or its task sleeps), when it has been multiplexed before (its
 * value must be scaled, by read(2)'s times), when the kernel does not permit
 * rdpmc, or when the page kept changing for COUNTER_PAGE_TRIES tries: then use
 * read(2).
 *   rdpmc  reads hardware counter n; called only for a valid one
 * Only on the CPU where the event is, which the page does not say: the caller's
 * own thread's, or of a CPU to which it is pinned. */
static inline bool
counter_page_read(const struct perf_event_mmap_page *page,
    uint64_t (*rdpmc)(unsigned n), uint64_t *out)
{
	uint32_t sequence, index;
	int64_t offset, value;
	bool whole;
	unsigned tries;

	for (tries = 0; tries < COUNTER_PAGE_TRIES; tries++) {
		sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		index = __atomic_load_n(&page->index, __ATOMIC_RELAXED);
		offset = __atomic_load_n(&page->offset, __ATOMIC_RELAXED);
		whole =
		    __atomic_load_n(&page->time_running, __ATOMIC_RELAXED) ==
		    __atomic_load_n(&page->time_enabled, __ATOMIC_RELAXED);
		value = 0;
		if (index != 0 && page->cap_user_rdpmc)
			value = counter_extend(
			    rdpmc(index - 1), __atomic_load_n(&page->pmc_width,
						  __ATOMIC_RELAXED));
		counter_fence();
		if (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) !=
			sequence ||
		    (sequence & 1) != 0)
			continue;
		if (index == 0 || !page->cap_user_rdpmc || !whole)
			return false;
		*out = (uint64_t)offset + (uint64_t)value;
		return true;
	}
	return false;
}
