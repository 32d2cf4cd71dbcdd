/* where.c: which requests the tail consists of, by one of their fields. */
#include "blame/set.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct keyed {
	uint32_t key, row;
};

static int
keyed_compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = COMPARE(x->key, y->key);

	return order != 0 ? order : COMPARE(x->row, y->row);
}

static int
place_compare(const void *a, const void *b)
{
	const struct blame_place *x = a, *y = b;
	int order = COMPARE(y->tail, x->tail);

	return order != 0 ? order : COMPARE(x->key, y->key);
}

/* Rows of one key ascend by total, as the set does. */
static struct blame_place
place_of(const struct blame_set *s, double p, int64_t q_ns,
    const struct keyed *k, size_t n)
{
	struct blame_place place = {.key = k->key, .rows = n};
	double weight = 0, above = 0;

	for (size_t i = 0; i < n; i++) {
		const struct blame_account *a = &s->row[k[i].row];

		weight += a->weight;
		if (a->total_ns > q_ns)
			place.tail += a->weight;
	}
	for (size_t i = n; i-- > 0 && !blame_passed(above, p, weight);) {
		place.q_ns = s->row[k[i].row].total_ns;
		above += s->row[k[i].row].weight;
	}
	place.requests = weight;
	return place;
}

int
blame_where(struct blame_set *s, double p,
    uint32_t (*key)(const struct blame_account *account, void *user),
    void *user, struct blame_place *out, unsigned max)
{
	struct keyed *k = malloc((s->rows + 1) * sizeof(*k));
	struct blame_place *place = malloc((s->rows + 1) * sizeof(*place));
	struct blame_draw all = blame_draw_all(s);
	double tail = 0;
	int64_t q_ns = blame_quantile(s, p);
	size_t n = 0;
	int err = k == NULL || place == NULL ? -ENOMEM : blame_sort(s);

	for (size_t i = 0; err == 0 && i < s->rows; i++)
		k[i] = (struct keyed){key(&s->row[i], user), (uint32_t)i};
	if (err == 0)
		qsort(k, s->rows, sizeof(*k), keyed_compare);
	for (size_t i = 0, end; err == 0 && i < s->rows; i = end) {
		for (end = i; end < s->rows && k[end].key == k[i].key;)
			end++;
		place[n] = place_of(s, p, q_ns, k + i, end - i);
		place[n].requests /= all.weight;
		tail += place[n++].tail;
	}
	for (size_t i = 0; i < n; i++)
		place[i].tail = tail > 0 ? place[i].tail / tail : 0;
	if (err == 0) {
		qsort(place, n, sizeof(*place), place_compare);
		memcpy(out, place, (n < max ? n : max) * sizeof(*out));
	}
	free(k);
	free(place);
	return err != 0 ? err : (int)n;
}

/* The part of a draw's tail in rows with has[] set. */
static double
tail_part(const struct blame_set *s, const struct blame_draw *d, double p,
    const bool *has)
{
	int64_t q_ns = s->row[blame_rank(s, d, p)].total_ns;
	double all = 0, part = 0;

	for (size_t i = s->rows; i-- > 0 && s->row[i].total_ns > q_ns;) {
		double w = blame_weight(s, d, i);

		all += w;
		part += has[i] ? w : 0;
	}
	return all > 0 ? part / all : 0;
}

int
blame_where_interval(struct blame_set *s, const struct blame_options *o,
    uint32_t (*key)(const struct blame_account *account, void *user),
    void *user, struct blame_place *place)
{
	const double unit = 1e9; /* intervals are rounded to integers */
	bool *has = malloc(s->rows + 1);
	struct blame_interval found;
	struct blame_cells cells;
	double x[BLAME_RESAMPLES];
	int err = has == NULL ? -ENOMEM : blame_sort(s);

	if (err == 0)
		err = blame_cells_init(&cells, s, o);
	if (err != 0) {
		free(has);
		return err;
	}
	for (size_t i = 0; i < s->rows; i++)
		has[i] = key(&s->row[i], user) == place->key;
	for (unsigned i = 0; i < o->resamples; i++) {
		struct blame_draw d = blame_cells_draw(&cells, i);

		x[i] = unit * tail_part(s, &d, o->p, has);
	}
	found = blame_interval_of(x, o->resamples, cells.blocks);
	place->tail_low = (double)found.low_ns / unit;
	place->tail_high = (double)found.high_ns / unit;
	blame_cells_fini(&cells);
	free(has);
	return 0;
}

unsigned
blame_examples(
    struct blame_set *s, double p, unsigned cause, uint64_t *id, unsigned max)
{
	struct blame_draw all = blame_draw_all(s);
	size_t row[BLAME_EXAMPLES];
	unsigned n = 0;

	if (s->rows == 0 || blame_sort(s) != 0)
		return 0;
	if (max > BLAME_EXAMPLES)
		max = BLAME_EXAMPLES;
	for (size_t i = blame_rank(s, &all, p); i < s->rows; i++) {
		unsigned at = n < max ? n++ : max;

		for (; at > 0 && blame_part(s, row[at - 1], cause) <
				     blame_part(s, i, cause);
		     at--)
			if (at < max)
				row[at] = row[at - 1];
		if (at < max)
			row[at] = i;
	}
	while (n > 0 && blame_part(s, row[n - 1], cause) == 0)
		n--;
	for (unsigned k = 0; k < n; k++)
		id[k] = s->row[row[k]].id;
	return n;
}
