/* resample.c: draw blocks of time for resamples, and compute confidence
 * intervals from the results of the resamples.
 *
 * Time is cut into cells, a block is BLAME_CELLS neighbouring ones, and a block
 * may begin at any cell and wraps around at the end (Politis and Romano).  A
 * draw has the number of times that each cell was drawn. */
#include "blame/set.h"

#include "base/array.h"
#include "base/instant.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_PAUSES 5 /* times the longest request */
#define BLOCKS_MAX 100 /* longer blocks show longer effects */

static void
time_span(const struct blame_set *s, int64_t *first, int64_t *last)
{
	*first = INT64_MAX;
	*last = INT64_MIN;
	for (size_t i = 0; i < s->rows; i++) {
		if (s->row[i].end_ns < *first)
			*first = s->row[i].end_ns;
		if (s->row[i].end_ns > *last)
			*last = s->row[i].end_ns;
	}
}

static int64_t
block_length(const struct blame_set *s, int64_t span_ns)
{
	int64_t longest_ns = s->row[s->rows - 1].total_ns;
	int64_t block_ns = longest_ns > INT64_MAX / BLOCK_PAUSES
			       ? INT64_MAX
			       : BLOCK_PAUSES * longest_ns;

	if (block_ns < NS_PER_S)
		block_ns = NS_PER_S;
	if (block_ns < span_ns / BLOCKS_MAX)
		block_ns = span_ns / BLOCKS_MAX;
	if (block_ns > span_ns / BLAME_BLOCKS)
		block_ns = span_ns / BLAME_BLOCKS;
	return block_ns < BLAME_CELLS ? BLAME_CELLS : block_ns;
}

static void
cells_number(struct blame_cells *c, const struct blame_set *s, int64_t first_ns)
{
	int64_t cell_ns = c->block_ns / BLAME_CELLS;

	for (size_t i = 0; i < s->rows; i++) {
		size_t at = i;

		if (c->run == BLAME_CELLS)
			at = (size_t)((s->row[i].end_ns - first_ns) / cell_ns);
		if (at >= c->cells)
			at = c->cells - 1;
		c->cell[i] = (uint32_t)at;
		c->weight[at] += s->row[i].weight;
	}
}

/* Draw one resample; returns its W. */
static double
cells_draw(const struct blame_cells *c, uint32_t *times, uint64_t *seed)
{
	double weight;

	do {
		weight = 0;
		memset(times, 0, c->cells * sizeof(*times));
		for (size_t b = 0; b < c->blocks; b++) {
			size_t at = splitmix64(seed) % c->cells;

			for (size_t k = 0; k < c->run; k++)
				times[(at + k) % c->cells]++;
		}
		for (size_t k = 0; k < c->cells; k++)
			weight += times[k] * c->weight[k];
	} while (weight <= 0);
	return weight;
}

int
blame_cells_init(struct blame_cells *c, const struct blame_set *s,
    const struct blame_options *o)
{
	uint64_t seed = o->seed;
	int64_t first_ns, last_ns;

	*c = (struct blame_cells){0};
	time_span(s, &first_ns, &last_ns);
	c->block_ns = block_length(s, last_ns - first_ns);
	c->run = o->single ? 1 : BLAME_CELLS;
	c->cells =
	    o->single
		? s->rows
		: (size_t)((last_ns - first_ns) / (c->block_ns / BLAME_CELLS)) +
		      1;
	c->blocks = (c->cells + c->run - 1) / c->run;
	c->cell = malloc((s->rows + 1) * sizeof(*c->cell));
	c->weight = calloc(c->cells, sizeof(*c->weight));
	c->times =
	    calloc(c->cells * (size_t)(o->resamples + 1), sizeof(*c->times));
	c->drawn = calloc(o->resamples + 1, sizeof(*c->drawn));
	if (c->cell == NULL || c->weight == NULL || c->times == NULL ||
	    c->drawn == NULL) {
		blame_cells_fini(c);
		return -ENOMEM;
	}
	cells_number(c, s, first_ns);
	for (unsigned i = 0; i < o->resamples; i++)
		c->drawn[i] = cells_draw(c, c->times + i * c->cells, &seed);
	return 0;
}

void
blame_cells_fini(struct blame_cells *c)
{
	free(c->cell);
	free(c->weight);
	free(c->times);
	free(c->drawn);
	*c = (struct blame_cells){0};
}

struct blame_draw
blame_cells_draw(const struct blame_cells *c, unsigned i)
{
	return (struct blame_draw){.cell = c->cell,
	    .times = c->times + i * c->cells,
	    .weight = c->drawn[i]};
}

/* The part of resamples to leave out at each end.  Resamples of b blocks spread
 * less than samples do, by the factor sqrt((b - 1) / b), and like a normal
 * variable instead of Student's t, which is approximated (Hesterberg 2015).  A
 * tail is in some blocks only, so b is a third of the blocks: intervals then
 * contain the truth of known populations (docs/lab/blame.md). */
static double
interval_outside(size_t blocks)
{
	const double z = 1.959964;
	double b = blocks < 6 ? 2 : (double)blocks / 3;
	double t = z + (z * z * z + z) / (4 * (b - 1));

	return erfc(sqrt(b / (b - 1)) * t / sqrt(2)) / 2;
}

struct blame_interval
blame_interval_of(double *x, size_t n, size_t blocks)
{
	size_t out = (size_t)(interval_outside(blocks) * (double)(n + 1));

	if (n == 0)
		return (struct blame_interval){0, 0};
	if (out > 0)
		out--;
	array_sort_double(x, n);
	return (struct blame_interval){
	    llround(x[out]), llround(x[n - 1 - out])};
}

struct blame_interval
blame_interval_predicted(double *x, size_t n, size_t blocks, double estimate)
{
	double first = n > 0 ? x[0] : 0;

	/* Resamples are independent, so the next one is a second one. */
	for (size_t i = 0; i < n; i++) {
		double next = i + 1 < n ? x[i + 1] : first;

		x[i] = estimate > 0 ? x[i] * next / estimate : x[i] + next;
	}
	return blame_interval_of(x, n, blocks);
}
