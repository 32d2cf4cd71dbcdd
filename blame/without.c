/* without.c: what a percentile would be if some causes had taken no time.
 *
 * T' = T - x[c], summed over the causes.  Only the rows with the largest T' are
 * brought into order: those of the tail. */
#include "blame/set.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A cause's times, ascending. */
static struct blame_number *
times_of(
    const struct blame_set *s, const struct blame_removable *r, unsigned cause)
{
	struct blame_number *n = malloc((s->rows + 1) * sizeof(*n));

	for (size_t i = 0; n != NULL && i < s->rows; i++)
		n[i] =
		    (struct blame_number){.x = (double)blame_part(s, i, cause),
			.w = s->row[i].weight,
			.row = (uint32_t)i,
			.cell = r->cell != NULL ? r->cell[i] : 0};
	if (n != NULL)
		blame_number_sort(n, s->rows);
	return n;
}

/* The weight of a number in a draw. */
static inline double
number_weight(const struct blame_number *n, const struct blame_draw *d)
{
	return d->times == NULL ? n->w : n->w * d->times[n->cell];
}

static double
median_of(const struct blame_set *s, const struct blame_draw *d,
    const struct blame_number *n)
{
	double below = 0;

	for (size_t i = 0; i < s->rows; i++) {
		below += number_weight(&n[i], d);
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
		r->base[k] = times_of(s, r, c);
		if (r->base[k] == NULL)
			return -ENOMEM;
		r->keeps[k] = median_of(s, &all, r->base[k]);
	}
	for (size_t i = 0; i < s->rows; i++) {
		double x = (double)blame_part(s, i, c);

		r->part[i * r->causes + k] = fmax(0, x - r->keeps[k]);
	}
	return 0;
}

int
blame_removable_init(struct blame_removable *r, struct blame_set *s,
    uint64_t causes, const uint32_t *cell)
{
	int err = 0;

	*r = (struct blame_removable){.cell = cell};
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

/* Fill in the numbers of all rows with at least that time left without a
 * subset.  Returns how many. */
static size_t
left_fill(struct blame_number *left, const struct blame_set *s,
    const struct blame_removable *r, uint64_t subset, double least)
{
	size_t n = 0;

	for (size_t i = 0; i < s->rows; i++) {
		double x = (double)s->row[i].total_ns;

		for (uint64_t gone = subset; gone != 0; gone &= gone - 1)
			x -= r->part[i * r->causes +
				     (unsigned)__builtin_ctzll(gone)];
		x = fmax(0, x);
		if (x < least)
			continue;
		left[n++] = (struct blame_number){.x = x,
		    .w = s->row[i].weight,
		    .row = (uint32_t)i,
		    .cell = r->cell != NULL ? r->cell[i] : 0};
	}
	return n;
}

double
blame_subset_quantile(const struct blame_set *s,
    const struct blame_removable *r, uint64_t subset, double above,
    double least, struct blame_number *room)
{
	size_t n = left_fill(room, s, r, subset, least);
	size_t top = blame_number_top(room, n, above);

	return top == 0 ? least : room[top - 1].x;
}

int
blame_order_init(struct blame_order *o, const struct blame_set *s,
    const struct blame_removable *r, uint64_t subset, double weight)
{
	o->left = malloc((s->rows + 1) * sizeof(*o->left));
	if (o->left == NULL)
		return -ENOMEM;
	o->n = blame_number_top(
	    o->left, left_fill(o->left, s, r, subset, 0), weight);
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
blame_order_at(const struct blame_order *o, const struct blame_draw *d,
    double p, uint32_t *row)
{
	double above = 0, at = o->n > 0 ? o->left[0].x : 0;

	*row = o->n > 0 ? o->left[0].row : 0;
	for (size_t i = o->n; i-- > 0;) {
		double w = number_weight(&o->left[i], d);

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
blame_order_quantile(
    const struct blame_order *o, const struct blame_draw *d, double p)
{
	uint32_t row;

	return blame_order_at(o, d, p, &row);
}

double
blame_order_without(const struct blame_order *o,
    const struct blame_removable *r, const struct blame_draw *d,
    uint64_t subset, const double *shift, double p)
{
	uint32_t row;
	double left = blame_order_at(o, d, p, &row);

	for (; subset != 0; subset &= subset - 1) {
		unsigned k = (unsigned)__builtin_ctzll(subset);

		if (r->part[row * r->causes + k] > 0)
			left += shift[k];
	}
	return fmax(0, left);
}

/* All of r's causes. */
static uint64_t
subset_all(const struct blame_removable *r)
{
	return r->causes < 64 ? (UINT64_C(1) << r->causes) - 1 : UINT64_MAX;
}

/* Bring all rows into the order of what is left without these causes. */
static int
without_order(struct blame_order *o, struct blame_removable *r,
    struct blame_set *s, uint64_t causes, bool queue, const uint32_t *cell)
{
	struct blame_draw all = blame_draw_all(s);
	int err = blame_removable_init(r, s, causes, cell);

	if (err == 0 && queue)
		err = blame_backlog(s, causes, r);
	if (err == 0)
		err = blame_order_init(o, s, r, subset_all(r), all.weight);
	if (err != 0)
		blame_removable_fini(r);
	return err;
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
		err = without_order(&o, &r, s, causes, queue, NULL);
	if (err != 0)
		return err;
	for (unsigned i = 0; i < n; i++)
		out_ns[i] = llround(blame_order_quantile(&o, &all, p[i]));
	blame_order_fini(&o);
	blame_removable_fini(&r);
	return 0;
}

int
blame_without_interval(struct blame_set *s, const struct blame_options *o,
    uint64_t causes, bool queue, struct blame_interval *out)
{
	struct blame_draw all = blame_draw_all(s), d;
	double x[BLAME_RESAMPLES], shift[BLAME_CAUSES];
	struct blame_removable r;
	struct blame_cells cells;
	struct blame_order order;
	int err = s->rows == 0 ? -ENODATA : blame_sort(s);

	if (err == 0)
		err = blame_cells_init(&cells, s, o);
	if (err != 0)
		return err;
	err = without_order(&order, &r, s, causes, queue, cells.cell);
	for (unsigned i = 0; err == 0 && i < o->resamples; i++) {
		d = blame_cells_draw(&cells, i);
		for (unsigned k = 0; k < r.causes; k++)
			shift[k] = blame_removable_shift(&r, s, &d, k);
		x[i] = blame_order_without(
		    &order, &r, &d, subset_all(&r), shift, o->p);
	}
	if (err == 0) {
		*out = blame_interval_predicted(x, o->resamples, cells.blocks,
		    blame_order_quantile(&order, &all, o->p));
		blame_order_fini(&order);
		blame_removable_fini(&r);
	}
	blame_cells_fini(&cells);
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
