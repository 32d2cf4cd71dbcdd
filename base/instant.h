/* instant.h: points in time, and how far apart they are.
 *
 * A point in time is a struct, a duration is a plain int64_t of nanoseconds:
 * adding two points, or comparing a point with a duration, does not compile.
 * All instants of Tailor, of its channels and of the kernel's BPF clock are
 * CLOCK_MONOTONIC, so they can be compared on one machine.  This is not
 * wall-clock time; log lines and reports convert when they are written.
 *
 * Cost: instant_now() is one vDSO clock read, about 25 ns where the kernel's
 * clock source is the TSC and about ten times that where it is not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* Nanoseconds of CLOCK_MONOTONIC; 0 means "has not happened". */
struct instant {
	uint64_t ns;
};

#define INSTANT_NONE ((struct instant){0})

/* The present moment.  Any thread; never fails. */
static inline struct instant
instant_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (struct instant){
	    (uint64_t)t.tv_sec * (uint64_t)NS_PER_S + (uint64_t)t.tv_nsec};
}

/* True if a has happened: it is not INSTANT_NONE. */
static inline bool
instant_is_set(struct instant a)
{
	return a.ns != 0;
}

/* The moment delay_ns (may be negative) after a. */
static inline struct instant
instant_plus(struct instant a, int64_t delay_ns)
{
	return (struct instant){a.ns + (uint64_t)delay_ns};
}

/* The time from b to a, ns; negative if a is earlier. */
static inline int64_t
instant_since(struct instant a, struct instant b)
{
	return (int64_t)(a.ns - b.ns);
}

/* The wall clock, ns since 1970.  Any thread; never fails. */
static inline int64_t
instant_wall_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* The wall clock at a, ns since 1970, by the present difference of the two
 * clocks. */
static inline int64_t
instant_wall_ns(struct instant a)
{
	return instant_wall_now_ns() - instant_since(instant_now(), a);
}

/* True if a lies strictly before b. */
static inline bool
instant_before(struct instant a, struct instant b)
{
	return a.ns < b.ns;
}
