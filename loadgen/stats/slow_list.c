/* slow_list.c: insertion into a short sorted array; nearly every request is
 * refused by one comparison with the last entry. */
#include "loadgen/stats/slow_list.h"

#include <errno.h>
#include <stdlib.h>

int
slow_list_init(struct slow_list *l, size_t capacity)
{
	*l = (struct slow_list){.capacity = capacity};
	if (capacity == 0)
		return 0;
	l->slowest = calloc(capacity, sizeof(*l->slowest));
	return l->slowest == NULL ? -ENOMEM : 0;
}

void
slow_list_fini(struct slow_list *l)
{
	free(l->slowest);
	*l = (struct slow_list){0};
}

bool
slow_list_offer(struct slow_list *l, const struct slow *candidate)
{
	size_t at = l->count;

	if (l->capacity == 0)
		return false;
	if (l->count == l->capacity) {
		at--;
		if (l->slowest[at].latency_ns >= candidate->latency_ns)
			return false;
	} else {
		l->count++;
	}
	while (
	    at > 0 && l->slowest[at - 1].latency_ns < candidate->latency_ns) {
		l->slowest[at] = l->slowest[at - 1];
		at--;
	}
	l->slowest[at] = *candidate;
	return true;
}
