/* window.c: the latest durations, in a ring and in a sorted array. */
#include "hedging/window.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"

void
window_init(struct window *w, unsigned capacity)
{
	assert(capacity >= 1 && capacity <= WINDOW_MAX);
	w->capacity = capacity;
	w->count = 0;
	w->next = 0;
}

/* The index of the first of n sorted values that is not below value. */
static unsigned
lower_bound(const int64_t *sorted, unsigned n, int64_t value)
{
	return (unsigned)FIRST_WHERE(i, n, sorted[i] >= value);
}

void
window_add(struct window *w, int64_t value_ns)
{
	int64_t *sorted = w->sorted_ns;
	unsigned at;

	if (w->count == w->capacity) {
		at = lower_bound(sorted, w->count, w->ring_ns[w->next]);
		w->count--;
		memmove(&sorted[at], &sorted[at + 1],
		    (w->count - at) * sizeof(*sorted));
	}
	at = lower_bound(sorted, w->count, value_ns);
	memmove(
	    &sorted[at + 1], &sorted[at], (w->count - at) * sizeof(*sorted));
	sorted[at] = value_ns;
	w->count++;
	w->ring_ns[w->next] = value_ns;
	w->next = (w->next + 1) % w->capacity;
}

int64_t
window_percentile(const struct window *w, unsigned percent)
{
	assert(percent >= 1 && percent <= 100);
	if (w->count == 0)
		return 0;
	return w->sorted_ns[(w->count * percent + 99) / 100 - 1];
}
