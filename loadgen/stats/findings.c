/* findings.c: an array searched from its end: there are tens of findings,
 * seldom thousands. */
#include "loadgen/stats/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "loadgen/stats/statistics.h"

int
findings_add(struct findings *f, const struct finding *one)
{
	struct finding *all =
	    array_reserve(f->all, &f->capacity, f->count + 1, sizeof(*all));

	if (all == NULL)
		return -ENOMEM;
	f->all = all;
	f->all[f->count++] = *one;
	return 0;
}

void
findings_fini(struct findings *f)
{
	free(f->all);
	*f = (struct findings){0};
}

const struct finding *
findings_of(const struct findings *f, unsigned iteration, uint32_t number)
{
	for (size_t i = f->count; i > 0; i--) {
		const struct finding *one = &f->all[i - 1];
		if (one->iteration == iteration && one->number == number)
			return one;
	}
	return NULL;
}

static int
by_count(const void *a, const void *b)
{
	const struct slow_cause *x = a;
	const struct slow_cause *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->code, y->code);
}

static int64_t
median_share(const struct findings *f, const char *code, int64_t *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->all[i].code, code) == 0 &&
		    f->all[i].share_ns >= 0)
			scratch[n++] = f->all[i].share_ns;
	}
	if (n == 0)
		return -1;
	array_sort_int64(scratch, n);
	return quantile_sorted(scratch, n, 50);
}

int
findings_causes(const struct findings *f, struct slow_cause *out, int max)
{
	int64_t *scratch = calloc(f->count + 1, sizeof(*scratch));
	int n = 0;

	if (scratch == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < f->count; i++) {
		int k = 0;
		while (k < n && strcmp(out[k].code, f->all[i].code) != 0)
			k++;
		if (k == max)
			continue;
		if (k == n)
			out[n++] = (struct slow_cause){
			    .code = f->all[i].code, .text = f->all[i].text};
		out[k].count++;
	}
	for (int k = 0; k < n; k++)
		out[k].median_ns = median_share(f, out[k].code, scratch);
	free(scratch);
	qsort(out, (size_t)n, sizeof(*out), by_count);
	return n;
}

/* --- the slowest ---------------------------------------------------------- */

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
