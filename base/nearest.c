#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

#define WORD_MAX 48

static unsigned
smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
nearest_distance(const char *a, const char *b)
{
	/* The last three rows of the table: two back, one back, this one. */
	unsigned rows[3][WORD_MAX + 1];
	size_t m = strlen(a), n = strlen(b);

	if (m > WORD_MAX || n > WORD_MAX)
		return NEAREST_FAR;
	for (unsigned k = 0; k <= n; k++)
		rows[0][k] = k;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *now = rows[i % 3];
		const unsigned *before = rows[(i + 2) % 3];
		const unsigned *earlier = rows[(i + 1) % 3];

		now[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			now[k] = smaller(before[k], now[k - 1]) + 1;
			now[k] = smaller(
			    now[k], before[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				now[k] = smaller(now[k], earlier[k - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

bool
nearest_is_slip(unsigned distance, const char *word)
{
	return distance <= (strlen(word) + 1) / 3;
}

void
nearest_consider(struct nearest *n, const char *typed, const char *candidate)
{
	unsigned distance = nearest_distance(typed, candidate);

	/* People seldom mistype the first letter and another one. */
	if (nearest_is_slip(distance, typed) &&
	    (distance < 2 || typed[0] == candidate[0]) &&
	    (n->word == NULL || distance < n->distance))
		*n = (struct nearest){candidate, distance};
}
