/* quantile.c: quantiles and means over bands of ranks, of rows or of a draw of
 * them; walks from the top, because the tail is short. */
#include "blame/set.h"

#include "base/array.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct blame_draw
blame_draw_all(const struct blame_set *s)
{
	struct blame_draw d = {0};

	for (size_t i = 0; i < s->rows; i++)
		d.weight += s->row[i].weight;
	return d;
}

size_t
blame_rank(const struct blame_set *s, const struct blame_draw *d, double p)
{
	double above = 0;
	size_t at = s->rows == 0 ? 0 : s->rows - 1;

	for (size_t i = s->rows; i-- > 0;) {
		double w = blame_weight(s, d, i);

		if (w == 0)
			continue;
		if (blame_passed(above, p, d->weight))
			break;
		at = i;
		above += w;
	}
	return at;
}

static void
row_add(const struct blame_set *s, size_t i, double w, double *sum)
{
	const int64_t *part = s->part + i * s->columns;

	for (unsigned k = 0; k < s->columns; k++)
		sum[k] += w * (double)part[k];
}

/* Mean of each cause over ranks low .. high; set sorted. */
static void
blame_mean(const struct blame_set *s, const struct blame_draw *d, double low,
    double high, double *mean)
{
	double from = (1 - high) * d->weight, to = (1 - low) * d->weight;
	double sum[BLAME_CAUSES] = {0}; /* by column */
	double above = 0, within = 0;

	for (size_t i = s->rows; i-- > 0 && above < to;) {
		double next = above + blame_weight(s, d, i);
		/* Of a row across an edge only the weight inside counts. */
		double w = fmin(next, to) - fmax(above, from);

		above = next;
		if (w <= 0)
			continue;
		within += w;
		row_add(s, i, w, sum);
	}
	memset(mean, 0, s->shape.causes * sizeof(*mean));
	for (unsigned k = 0; within > 0 && k < s->columns; k++)
		mean[s->cause[k]] = sum[k] / within;
}

double
blame_share(const struct blame_set *s, const struct blame_draw *d, double p,
    double *share)
{
	double q = (double)s->row[blame_rank(s, d, p)].total_ns, sum = 0;
	double h = blame_band(p);

	blame_mean(s, d, p - h, p + h, share);
	for (unsigned c = 0; c < s->shape.causes; c++)
		sum += share[c];
	for (unsigned c = 0; sum > 0 && c < s->shape.causes; c++)
		share[c] *= q / sum;
	return q;
}

/* Round n values to whole ns so that each running sum is the rounded sum of the
 * values. */
static void
blame_round(const double *value, unsigned n, int64_t *out)
{
	double sum = 0;
	int64_t given = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += value[i];
		out[i] = llround(sum) - given;
		given += out[i];
	}
}

int64_t
blame_quantile(struct blame_set *s, double p)
{
	struct blame_draw all = blame_draw_all(s);

	if (s->rows == 0 || blame_sort(s) != 0)
		return 0;
	return s->row[blame_rank(s, &all, p)].total_ns;
}

static bool
shares_ready(struct blame_set *s, int64_t *out)
{
	memset(out, 0, s->shape.causes * sizeof(*out));
	return s->rows != 0 && blame_sort(s) == 0;
}

void
blame_shares(struct blame_set *s, double p, int64_t *share_ns)
{
	struct blame_draw all = blame_draw_all(s);
	double share[BLAME_CAUSES];

	if (!shares_ready(s, share_ns))
		return;
	blame_share(s, &all, p, share);
	blame_round(share, s->shape.causes, share_ns);
}

void
blame_beyond(struct blame_set *s, double p, int64_t *beyond_ns)
{
	struct blame_draw all = blame_draw_all(s);
	double mean[BLAME_CAUSES];

	if (!shares_ready(s, beyond_ns))
		return;
	blame_mean(s, &all, p, 1, mean);
	blame_round(mean, s->shape.causes, beyond_ns);
}

double
blame_weighted(const double *x, const double *w, size_t n, double p)
{
	double all = 0, below = 0;

	for (size_t i = 0; i < n; i++)
		all += w[i];
	for (size_t i = 0; i + 1 < n; i++) {
		below += w[i];
		if (below >= (p - 1e-12) * all)
			return x[i];
	}
	return x[n - 1];
}

static int
number_compare(const void *a, const void *b)
{
	const struct blame_number *x = a, *y = b;
	int order = COMPARE(x->x, y->x);

	return order != 0 ? order : COMPARE(x->row, y->row);
}

void
blame_number_sort(struct blame_number *number, size_t n)
{
	qsort(number, n, sizeof(*number), number_compare);
}

static void
number_swap(struct blame_number *a, struct blame_number *b)
{
	struct blame_number was = *a;

	*a = *b;
	*b = was;
}

/* Move the numbers of n that are above its last one to the front, then that
 * one.  Returns how many are above, and adds their weight to *above. */
static size_t
number_part(struct blame_number *number, size_t n, double *above)
{
	struct blame_number *last = &number[n - 1];
	size_t at = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (number_compare(&number[i], last) < 0)
			continue;
		*above += number[i].w;
		number_swap(&number[at++], &number[i]);
	}
	number_swap(&number[at], last);
	return at;
}

size_t
blame_number_top(struct blame_number *number, size_t n, double weight)
{
	size_t first = 0, end = n; /* the last one to take is between */
	double above = 0;	   /* weight of those before first */
	uint64_t seed = n;

	/* Quickselect; a random place, as the order may be any. */
	while (first < end) {
		size_t length = end - first, at;
		double larger = above;

		number_swap(&number[first + splitmix64(&seed) % length],
		    &number[end - 1]);
		at = first + number_part(number + first, length, &larger);
		if (larger > weight) {
			end = at;
			continue;
		}
		above = larger + number[at].w;
		first = at + 1;
		if (above > weight)
			break;
	}
	return first;
}
