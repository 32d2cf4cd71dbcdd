#include "base/array.h"

#include <stdlib.h>

static int
int64_compare(const void *a, const void *b)
{
	return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

static int
double_compare(const void *a, const void *b)
{
	return COMPARE(*(const double *)a, *(const double *)b);
}

void
array_sort_int64(int64_t *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), int64_compare);
}

void
array_sort_double(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), double_compare);
}

void *
array_reserve(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t room = *capacity;
	void *grown;

	if (need <= room && array != NULL)
		return array;
	for (room = room < 16 ? 16 : room; room < need;)
		room *= 2;
	grown = reallocarray(array, room, size);
	if (grown != NULL)
		*capacity = room;
	return grown;
}
