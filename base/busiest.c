/* busiest.c: Space-Saving by linear search: entries are few. */
#include "base/busiest.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct busiest *
busiest_find(struct busiest *of, unsigned n, uint64_t key)
{
	for (unsigned i = 0; i < n; i++)
		if (of[i].key == key)
			return &of[i];
	return NULL;
}

struct busiest *
busiest_add(struct busiest *of, unsigned n, uint64_t key, uint64_t times)
{
	struct busiest *one = busiest_find(of, n, key);

	if (one == NULL) {
		one = &of[0];
		for (unsigned i = 1; i < n; i++)
			if (of[i].count < one->count)
				one = &of[i];
		one->key = key;
		one->error = one->count;
	}
	one->count += times;
	return one;
}

void
busiest_halve(struct busiest *of, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		of[i].count /= 2;
		of[i].error /= 2;
		if (of[i].count == 0)
			of[i] = (struct busiest){.key = 0};
	}
}

static int
compare(const void *a, const void *b)
{
	const struct busiest *x = a, *y = b;

	return COMPARE(y->count, x->count);
}

void
busiest_keep(struct busiest *of, unsigned n, unsigned first)
{
	qsort(of, n, sizeof(*of), compare);
	if (first < n)
		memset(of + first, 0, (n - first) * sizeof(*of));
}
