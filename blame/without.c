/* without.c: what a percentile would be if some causes had taken no time.
 *
 * T' = T - x[c], summed over the causes.  T' <= T, so a row whose T is below
 * q(T') with all causes gone is in no subset's tail: the other rows, a few per
 * cent of all, are sorted for each subset. */
#include "blame/set.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A cause's times, ascending. */
static struct blame_number *
times_of(const struct blame_set *s, unsigned cause)
{
	struct blame_number *n = malloc((s->rows + 1) * sizeof(*n));

	for (size_t i = 0; n != NULL && i < s->rows; i++)
		n[i] = (struct blame_number){
		    .x = (double)s->part[i * s->shape.causes + cause],
		    .w = s->row[i].weight,
		    .row = (uint32_t)i};
	if (n != NULL)
		blame_number_sort(n, s->rows);
	return n;
}

static double
median_of(const struct blame_set *s, const struct blame_draw *d,
    const struct blame_number *n)
{
	double below = 0;

	for (size_t i = 0; i < s->rows; i++) {
		below += blame_weight(s, d, n[i].row);
		if (below >= d->weight / 2)
			return n[i].x;
	}
	return 0;
}

double
blame_removable_shift(const struct blame_removable *r,
    const struct blame_set *s, const struct blame_draw *d, unsigned k)
{
	return r->base[k] == NULL ? 0
				  : median_of(s, d, r->base[k]) - r->keeps[k];
}

static int
removable_cause(
    struct blame_removable *r, const struct blame_set *s, unsigned k)
{
	struct blame_draw all = blame_draw_all(s);
	unsigned c = r->cause[k];

	if (s->shape.cause[c].kind == BLAME_UNEXPLAINED)
		return 0;
	if (s->shape.cause[c].kind == BLAME_BASE) {
		r->base[k] = times_of(s, c);
		if (r->base[k] == NULL)
			return -ENOMEM;
		r->keeps[k] = median_of(s, &all, r->base[k]);
	}
	for (size_t i = 0; i < s->rows; i++) {
		double x = (double)s->part[i * s->shape.causes + c];

		r->part[i * r->causes + k] = fmax(0, x - r->keeps[k]);
	}
	return 0;
}

int
blame_removable_queue(
    struct blame_removable *r, struct blame_set *s, uint64_t gone)
{
	double *extra = calloc(s->rows * s->shape.causes + 1, sizeof(*extra));
	int err = extra == NULL ? -ENOMEM : blame_backlog(s, gone, extra);

	for (size_t i = 0; err == 0 && i < s->rows; i++)
		for (unsigned k = 0; k < r->causes; k++)
			r->part[i * r->causes + k] +=
			    extra[i * s->shape.causes + r->cause[k]];
	free(extra);
	return err;
}

int
blame_removable_init(
    struct blame_removable *r, struct blame_set *s, uint64_t causes)
{
	int err = 0;

	*r = (struct blame_removable){0};
	for (unsigned c = 0; c < s->shape.causes; c++)
		if ((causes >> c & 1) != 0)
			r->cause[r->causes++] = c;
	r->part = calloc(s->rows * r->causes + 1, sizeof(*r->part));
	if (r->part == NULL)
		return -ENOMEM;
	for (unsigned k = 0; err == 0 && k < r->causes; k++)
		err = removable_cause(r, s, k);
	if (err != 0)
		blame_removable_fini(r);
	return err;
}

void
blame_removable_fini(struct blame_removable *r)
{
	for (unsigned k = 0; k < r->causes; k++)
		free(r->base[k]);
	free(r->part);
	*r = (struct blame_removable){0};
}

static double
left_of(const struct blame_set *s, const struct blame_removable *r,
    unsigned subset, size_t i)
{
	double left = (double)s->row[i].total_ns;

	for (unsigned k = 0; k < r->causes; k++)
		if ((subset >> k & 1) != 0)
			left -= r->part[i * r->causes + k];
	return fmax(0, left);
}

int
blame_order_init(struct blame_order *o, const struct blame_set *s,
    const struct blame_removable *r, unsigned subset, size_t from)
{
	o->n = s->rows - from;
	o->left = malloc((o->n + 1) * sizeof(*o->left));
	if (o->left == NULL)
		return -ENOMEM;
	for (size_t i = from; i < s->rows; i++)
		o->left[i - from] =
		    (struct blame_number){.x = left_of(s, r, subset, i),
			.w = s->row[i].weight,
			.row = (uint32_t)i};
	blame_number_sort(o->left, o->n);
	return 0;
}

void
blame_order_fini(struct blame_order *o)
{
	free(o->left);
	o->left = NULL;
}

double
blame_order_at(const struct blame_order *o, const struct blame_set *s,
    const struct blame_draw *d, double p, uint32_t *row)
{
	double above = 0, at = 0;

	*row = 0;

	for (size_t i = o->n; i-- > 0;) {
		double w = blame_weight(s, d, o->left[i].row);

		if (w == 0)
			continue;
		if (blame_passed(above, p, d->weight))
			break;
		at = o->left[i].x;
		*row = o->left[i].row;
		above += w;
	}
	return at;
}

double
blame_order_quantile(const struct blame_order *o, const struct blame_set *s,
    const struct blame_draw *d, double p)
{
	uint32_t row;

	return blame_order_at(o, s, d, p, &row);
}

int
blame_tail_begin(const struct blame_set *s, const struct blame_removable *r,
    double p, size_t *from)
{
	struct blame_draw all = blame_draw_all(s);
	struct blame_order o;
	double least;
	int err = blame_order_init(&o, s, r, (1U << r->causes) - 1, 0);

	*from = 0;
	if (err != 0)
		return err;
	/* Twice the tail, because a resample may have less of it. */
	least = blame_order_quantile(&o, s, &all, fmax(0, 2 * p - 1));
	blame_order_fini(&o);
	while (*from < s->rows && (double)s->row[*from].total_ns < least)
		++*from;
	return 0;
}

int
blame_without(struct blame_set *s, uint64_t causes, bool queue, const double *p,
    unsigned n, int64_t *out_ns)
{
	struct blame_draw all = blame_draw_all(s);
	struct blame_removable r;
	struct blame_order o;
	int err = blame_sort(s);

	if (err == 0)
		err = blame_removable_init(&r, s, causes);
	if (err != 0)
		return err;
	if (queue)
		err = blame_removable_queue(&r, s, causes);
	for (unsigned k = 1; k < r.causes; k++)
		for (size_t i = 0; i < s->rows; i++)
			r.part[i * r.causes] += r.part[i * r.causes + k];
	if (err == 0)
		err = blame_order_init(&o, s, &r, r.causes != 0, 0);
	if (err == 0) {
		for (unsigned i = 0; i < n; i++)
			out_ns[i] =
			    llround(blame_order_quantile(&o, s, &all, p[i]));
		blame_order_fini(&o);
	}
	blame_removable_fini(&r);
	return err;
}

/* phi[i] = sum over A without i of |A|! (n - |A| - 1)! / n!
 *          * (gain(A and i) - gain(A)) */
void
blame_shapley(const double *gain, unsigned n, double *value)
{
	double weight[BLAME_TOGETHER + 1]; /* of |A| */

	for (unsigned k = 0; k < n; k++) {
		weight[k] = 1.0 / n;
		for (unsigned j = 1; j <= k; j++)
			weight[k] *= (double)j / (n - j);
	}
	for (unsigned i = 0; i < n; i++) {
		value[i] = 0;
		for (unsigned a = 0; a < 1U << n; a++)
			if ((a >> i & 1) == 0)
				value[i] += weight[__builtin_popcount(a)] *
					    (gain[a | 1U << i] - gain[a]);
	}
}
