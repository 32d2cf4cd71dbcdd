/* impact.c: the VarMRI paper's impact of values that are not times, and AUC.
 *
 * A value's CDF is fitted by lines; where two lines meet is a step, and values
 * above the largest step below p are high.  The impact is the part of q(p) that
 * goes if the requests with high values are left out. */
#include "blame/set.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_FIT 0.95	  /* ranges join if both have a larger R^2 */
#define INCLUDED_FIT 0.99 /* R^2 of a value that is k times its parent */
#define SECOND_NS INT64_C(1000000000)
#define RANGE_ROWS 100 /* fewest rows of a range; fewer are noise */

/* Sums of points of a line y(x): x a percentile, y a value. */
struct fit_line {
	double n, x, y, xx, xy, yy;
};

static void
line_add(struct fit_line *l, const struct fit_line *more)
{
	l->n += more->n;
	l->x += more->x;
	l->y += more->y;
	l->xx += more->xx;
	l->xy += more->xy;
	l->yy += more->yy;
}

/* Slope and intercept by least squares. */
static void
line_fit(const struct fit_line *l, double *slope, double *at)
{
	double spread = l->xx - l->x * l->x / l->n;

	*slope = spread <= 0 ? 0 : (l->xy - l->x * l->y / l->n) / spread;
	*at = (l->y - *slope * l->x) / l->n;
}

/* R^2 of these points under the line slope * x + at. */
static double
line_r2(const struct fit_line *l, double slope, double at)
{
	double residual = l->yy - 2 * slope * l->xy - 2 * at * l->y +
			  slope * slope * l->xx + 2 * slope * at * l->x +
			  at * at * l->n;
	double spread = l->yy - l->y * l->y / l->n;

	/* R^2 of equal values is not defined: 1 if the line fits them, else
	 * 0. */
	if (spread <= 1e-12 * l->n)
		return residual <= 1e-9 * l->n ? 1 : 0;
	return 1 - residual / spread;
}

static bool
line_join(struct fit_line *a, const struct fit_line *b)
{
	struct fit_line joint = *a;
	double slope, at;

	line_add(&joint, b);
	line_fit(&joint, &slope, &at);
	if (line_r2(a, slope, at) <= STEP_FIT ||
	    line_r2(b, slope, at) <= STEP_FIT)
		return false;
	*a = joint;
	return true;
}

/* Sum the points of each range of the CDF and return the number of ranges.
 * Values are scaled to 0 .. 1, so that the limits in line_r2() fit. */
static unsigned
ranges_fill(const double *x, const double *w, size_t n, struct fit_line *range,
    double *end)
{
	unsigned ranges = n / RANGE_ROWS < BLAME_RANGES
			      ? (unsigned)(n / RANGE_ROWS)
			      : BLAME_RANGES;
	double all = 0, below = 0;
	double scale = n > 0 && x[n - 1] > x[0] ? 1 / (x[n - 1] - x[0]) : 1;
	unsigned k = 0;

	for (size_t i = 0; i < n; i++)
		all += w[i];
	memset(range, 0, BLAME_RANGES * sizeof(*range));
	for (size_t i = 0; i < n && ranges > 0; i++) {
		double p = (below + w[i] / 2) / all, y = (x[i] - x[0]) * scale;

		below += w[i];
		line_add(
		    &range[k], &(struct fit_line){w[i], w[i] * p, w[i] * y,
				   w[i] * p * p, w[i] * p * y, w[i] * y * y});
		end[k] = below / all;
		if (below / all >= (double)(k + 1) / ranges && k + 1 < ranges)
			k++;
	}
	while (ranges > 0 && range[ranges - 1].n == 0)
		ranges--;
	return ranges;
}

unsigned
blame_steps(const double *x, const double *w, size_t n, double *step)
{
	struct fit_line *range = malloc(BLAME_RANGES * sizeof(*range));
	double end[BLAME_RANGES];
	unsigned ranges, kept;
	bool joined = true;

	if (range == NULL)
		return 0;
	ranges = ranges_fill(x, w, n, range, end);
	while (joined) {
		joined = false;
		kept = 0;
		for (unsigned k = 1; k < ranges; k++) {
			if (range[k].n == 0 ||
			    line_join(&range[kept], &range[k])) {
				end[kept] = end[k];
				joined = true;
				continue;
			}
			range[++kept] = range[k];
			end[kept] = end[k];
		}
		ranges = ranges == 0 ? 0 : kept + 1;
	}
	free(range);
	for (unsigned k = 0; k + 1 < ranges; k++)
		step[k] = end[k];
	return ranges == 0 ? 0 : ranges - 1;
}

/* A column: of values, or of one cause's times.  NaN: not recorded. */
struct value_column {
	double *x;     /* owned; of each row */
	bool *high;    /* owned */
	double weight; /* of the rows that recorded it */
	bool shared;   /* as struct blame_value */
};

static void
column_fini(struct value_column *c)
{
	free(c->x);
	free(c->high);
}

static int
column_init(struct value_column *c, const struct blame_set *s)
{
	c->weight = 0;
	c->shared = false;
	c->x = malloc((s->rows + 1) * sizeof(*c->x));
	c->high = calloc(s->rows + 1, sizeof(*c->high));
	if (c->x != NULL && c->high != NULL)
		return 0;
	column_fini(c);
	return -ENOMEM;
}

/* q(p) of the rows that recorded the column; if without, less those with high
 * values. */
static double
column_quantile(const struct blame_set *s, const struct value_column *c,
    double p, bool without)
{
	double all = 0, above = 0, at = 0;

	for (size_t i = 0; i < s->rows; i++)
		if (!isnan(c->x[i]) && !(without && c->high[i]))
			all += s->row[i].weight;
	for (size_t i = s->rows; i-- > 0 && !blame_passed(above, p, all);) {
		if (isnan(c->x[i]) || (without && c->high[i]))
			continue;
		at = (double)s->row[i].total_ns;
		above += s->row[i].weight;
	}
	return at;
}

/* The largest step below p, 0 if there is none, and the value at it. */
static void
column_threshold(const struct blame_number *n, size_t rows, bool shared,
    double p, double *threshold, double *value)
{
	double *x = malloc((rows + 1) * sizeof(*x));
	double *w = malloc((rows + 1) * sizeof(*w));
	double step[BLAME_RANGES];
	size_t points = 0;
	unsigned steps;

	*threshold = 0;
	if (x != NULL && w != NULL && rows != 0) {
		for (size_t i = 0; i < rows; i++) {
			if (shared && points > 0 && x[points - 1] == n[i].x) {
				w[points - 1] += n[i].w;
				continue;
			}
			x[points] = n[i].x;
			w[points++] = n[i].w;
		}
		steps = blame_steps(x, w, points, step);
		for (unsigned k = 0; k < steps; k++)
			if (step[k] < p)
				*threshold = step[k];
		*value = blame_weighted(x, w, points, *threshold);
	}
	free(x);
	free(w);
}

/* Probability that the value of a tail request is above that of another, where
 * ties count half (Mann and Whitney). */
static double
column_auc(const struct blame_set *s, const struct blame_number *n, size_t rows,
    double q)
{
	double body = 0, tail = 0, wins = 0;

	for (size_t i = 0; i < rows;) {
		double b = 0, t = 0;
		double x = n[i].x;

		for (; i < rows && n[i].x == x; i++) {
			if ((double)s->row[n[i].row].total_ns > q)
				t += n[i].w;
			else
				b += n[i].w;
		}
		wins += t * (body + b / 2);
		body += b;
		tail += t;
	}
	return body == 0 || tail == 0 ? 0.5 : wins / (body * tail);
}

/* Number of seconds in which rows ended that recorded a (and b, if not NULL;
 * with a high a, if high).  0, too, if memory ran out. */
static unsigned
column_seconds(const struct blame_set *s, const struct value_column *a,
    const struct value_column *b, bool high)
{
	int64_t *second = malloc((s->rows + 1) * sizeof(*second));
	unsigned found = 0;
	size_t n = 0;

	if (second == NULL)
		return 0;
	for (size_t i = 0; i < s->rows; i++)
		if (!isnan(a->x[i]) && (b == NULL || !isnan(b->x[i])) &&
		    (!high || a->high[i]))
			second[n++] = s->row[i].end_ns / SECOND_NS;
	array_sort_int64(second, n);
	for (size_t i = 0; i < n; i++)
		found += i == 0 || second[i] != second[i - 1];
	free(second);
	return found;
}

/* Fill in *out, except what the rules set. */
static int
column_impact(const struct blame_set *s, struct value_column *c, double p,
    struct blame_impact *out)
{
	struct blame_number *n = malloc((s->rows + 1) * sizeof(*n));
	struct blame_draw all = blame_draw_all(s);
	double q = column_quantile(s, c, p, false), value = INFINITY;
	size_t rows = 0;

	if (n == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->rows; i++)
		if (!isnan(c->x[i]))
			n[rows++] = (struct blame_number){
			    c->x[i], s->row[i].weight, (uint32_t)i, 0};
	blame_number_sort(n, rows);
	for (size_t i = 0; i < rows; i++)
		c->weight += n[i].w;
	*out = (struct blame_impact){
	    .recorded = all.weight > 0 ? c->weight / all.weight : 0,
	    .because = -1,
	    .auc = column_auc(s, n, rows, q)};
	column_threshold(n, rows, c->shared, p, &out->threshold, &value);
	for (size_t i = 0; i < s->rows && out->threshold > 0; i++)
		c->high[i] = c->x[i] > value;
	out->seconds = column_seconds(s, c, NULL, false);
	out->high = column_seconds(s, c, NULL, true);
	if (q > 0)
		out->impact = (q - column_quantile(s, c, p, true)) / q;
	out->adjusted = out->impact;
	free(n);
	return 0;
}

/* |H(a) and H(b)| / |H(a) or H(b)| of the requests that recorded both. */
static double
column_overlap(const struct blame_set *s, const struct value_column *a,
    const struct value_column *b)
{
	double both = 0, either = 0;

	for (size_t i = 0; i < s->rows; i++) {
		if (isnan(a->x[i]) || isnan(b->x[i]))
			continue;
		if (a->high[i] || b->high[i])
			either += s->row[i].weight;
		if (a->high[i] && b->high[i])
			both += s->row[i].weight;
	}
	return either == 0 ? 0 : both / either;
}

/* Rule 2: R^2 of a = k * b. */
static bool
column_included(const struct blame_set *s, const struct value_column *a,
    const struct value_column *b)
{
	struct fit_line l = {0}; /* x: of b, y: of a */

	for (size_t i = 0; i < s->rows; i++) {
		double w = s->row[i].weight, x = b->x[i], y = a->x[i];

		if (!isnan(x) && !isnan(y))
			line_add(&l, &(struct fit_line){w, w * x, w * y,
					 w * x * x, w * x * y, w * y * y});
	}
	/* Rows of one second may share a value: require enough seconds. */
	if (column_seconds(s, a, b, false) < BLAME_EPISODES)
		return false;
	return l.n > 0 && l.xx > 0 && l.yy > l.y * l.y / l.n &&
	       line_r2(&l, l.xy / l.xx, 0) >= INCLUDED_FIT;
}

static void
rules_apply(const struct blame_set *s, const struct value_column *column,
    struct blame_impact *out)
{
	const struct blame_value *value = s->shape.value;

	for (unsigned b = 0; b < s->shape.values; b++) {
		double most = 0;

		for (unsigned a = 0; a < s->shape.values; a++) {
			double deduct;

			if (value[a].group == BLAME_GROUP_NONE ||
			    value[a].group >= value[b].group)
				continue;
			deduct = out[a].impact *
				 column_overlap(s, &column[a], &column[b]);
			if (deduct > most) {
				most = deduct;
				out[b].because = (int)a;
			}
		}
		out[b].adjusted = out[b].impact - most;
		out[b].included =
		    value[b].parent >= 0 &&
		    column_included(s, &column[b], &column[value[b].parent]);
	}
}

int
blame_impacts(struct blame_set *s, double p, struct blame_impact *out)
{
	struct value_column column[BLAME_VALUES];
	unsigned n = 0;
	int err = blame_sort(s);

	while (err == 0 && n < s->shape.values) {
		err = column_init(&column[n], s);
		if (err != 0)
			break;
		column[n].shared = s->shape.value[n].shared;
		for (size_t i = 0; i < s->rows; i++)
			column[n].x[i] = s->value[i * s->shape.values + n];
		err = column_impact(s, &column[n], p, &out[n]);
		n++;
	}
	if (err == 0)
		rules_apply(s, column, out);
	while (n > 0)
		column_fini(&column[--n]);
	return err;
}

int
blame_cause_impact(
    struct blame_set *s, double p, unsigned cause, struct blame_impact *out)
{
	struct value_column c;
	int err = blame_sort(s);

	if (err == 0)
		err = column_init(&c, s);
	if (err != 0)
		return err;
	for (size_t i = 0; i < s->rows; i++)
		c.x[i] = (double)blame_part(s, i, cause);
	err = column_impact(s, &c, p, out);
	column_fini(&c);
	return err;
}
