/* tags.c: the table of tags, open addressing with linear search. */
#include "shim/tags.h"

#include <stdlib.h>
#include <string.h>

void
tags_init(struct tags *t)
{
	memset(t, 0, sizeof(*t));
}

struct tag_row *
tags_row(struct tags *t, uint64_t tag)
{
	/* Fibonacci hashing spreads neighbouring thread ids. */
	size_t i = (size_t)(tag * UINT64_C(0x9e3779b97f4a7c15) >> 54) % TAGS;
	struct tag_row *r;

	for (;; i = (i + 1) % TAGS) {
		r = &t->row[i];
		if (r->samples == 0)
			break;
		if (r->tag == tag)
			return r;
	}
	if (t->used == TAGS_MAX)
		return &t->others;
	t->used++;
	r->tag = tag;
	/* The row is in use when the caller has counted its sample. */
	return r;
}

static int
row_compare(const void *va, const void *vb)
{
	const struct tag_row *a = *(const struct tag_row *const *)va;
	const struct tag_row *b = *(const struct tag_row *const *)vb;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return (a->tag > b->tag) - (a->tag < b->tag);
}

size_t
tags_sorted(const struct tags *t, const struct tag_row **rows, size_t max)
{
	struct tag_row const *all[TAGS] = {NULL};
	size_t n = 0, i;

	for (i = 0; i < TAGS; i++)
		if (t->row[i].samples > 0)
			all[n++] = &t->row[i];
	qsort(all, n, sizeof(const void *), row_compare);
	if (t->others.samples > 0)
		all[n++] = &t->others;
	for (i = 0; i < n && i < max; i++)
		rows[i] = all[i];
	return i;
}
