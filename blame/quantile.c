/* quantile.c: quantiles and means over bands of ranks, of rows or of a draw of
 * them; walks from the top, because the tail is short. */
#include "blame/set.h"

#include "base/array.h"

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
mean_add(
    const struct blame_set *s, size_t i, double w, double mean[BLAME_CAUSES])
{
	const int64_t *part = s->part + i * s->shape.causes;

	for (uint64_t left = s->present; left != 0; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctzll(left);

		mean[c] += w * (double)part[c];
	}
}

/* Mean of each cause over ranks low .. high; set sorted. */
static void
blame_mean(const struct blame_set *s, const struct blame_draw *d, double low,
    double high, double *mean)
{
	double from = (1 - high) * d->weight, to = (1 - low) * d->weight;
	double above = 0, within = 0;

	memset(mean, 0, s->shape.causes * sizeof(*mean));
	for (size_t i = s->rows; i-- > 0 && above < to;) {
		double next = above + blame_weight(s, d, i);
		/* Of a row across an edge only the weight inside counts. */
		double w = fmin(next, to) - fmax(above, from);

		above = next;
		if (w <= 0)
			continue;
		within += w;
		mean_add(s, i, w, mean);
	}
	for (unsigned c = 0; within > 0 && c < s->shape.causes; c++)
		mean[c] /= within;
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
