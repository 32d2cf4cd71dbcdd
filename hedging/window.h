/* window.h: exact quantiles of the latest durations, at a fixed cost.
 *
 * A ring keeps the order of arrival, a sorted copy answers any quantile by
 * index.  Adding one value is two binary searches and one memmove inside 1 KiB:
 * tens of nanoseconds, always the same, so nothing is recomputed lazily.
 * Unlike a histogram it forgets old values. */
#pragma once

#include <stdint.h>

#define WINDOW_MAX 128

struct window {
	unsigned capacity; /* 1 .. WINDOW_MAX */
	unsigned count;
	unsigned next; /* ring index that is written next */
	int64_t ring_ns[WINDOW_MAX];
	int64_t sorted_ns[WINDOW_MAX]; /* the first count are valid */
};

/* Make it empty, to hold the last capacity values. */
void window_init(struct window *w, unsigned capacity);

/* Add a duration; the oldest leaves when it is full. */
void window_add(struct window *w, int64_t value_ns);

/* The value at rank ceil(percent * count / 100), nearest rank; 0 when empty.
 * 1 <= percent <= 100. */
int64_t window_percentile(const struct window *w, unsigned percent);
