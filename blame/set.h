/* set.h: accounts in memory, and walks over their ranks.
 *
 * Once sorted, rows ascend by total and the parts lie in the same order, so a
 * band of ranks is a run of memory.  A resample gives each cell of time a
 * number of times that it was drawn; nothing is sorted again. */
#pragma once

#include "blame/blame.h"

struct blame_set {
	struct blame_shape shape;
	struct blame_account *row; /* owned, room of them */
	int64_t *part;		   /* owned, shape.causes for each row */
	double *value;		   /* owned, shape.values for each row */
	size_t rows, room;
	unsigned level;	 /* of requests that are not slower than fast_ns: */
	int64_t fast_ns; /* one in 2^level is held */
	bool sorted;
	uint64_t present; /* causes that occur */
};

/* Times that rows count: their weights, or a resample of them. */
struct blame_draw {
	const uint32_t *cell; /* of each row; NULL: each counts once */
	const double *times;  /* of each cell */
	double weight;	      /* W of the draw */
};

/* Ascend by total; equal totals by time and id, so that the order of adding
 * does not matter.  -ENOMEM. */
int blame_sort(struct blame_set *s);

/* The weight of row i in a draw. */
static inline double
blame_weight(const struct blame_set *s, const struct blame_draw *d, size_t i)
{
	double w = s->row[i].weight;

	return d->cell == NULL ? w : w * d->times[d->cell[i]];
}

/* Every row once. */
struct blame_draw blame_draw_all(const struct blame_set *s);

/* Half of the band of ranks around p. */
static inline double
blame_band(double p)
{
	return (1 - p) / 4;
}

/* True if a walk down from the top that left so much weight above has passed
 * q(p): nearest rank, up to rounding errors. */
static inline bool
blame_passed(double above, double p, double weight)
{
	return above > (1 - p + 1e-12) * weight;
}

/* Row of q(p); set sorted.  0 if there is no row. */
size_t
blame_rank(const struct blame_set *s, const struct blame_draw *d, double p);

/* share(c, p) of a draw, not rounded; returns q(p). */
double blame_share(const struct blame_set *s, const struct blame_draw *d,
    double p, double *share);

/* The x at which weight p of the total is reached; x ascends.  n > 0. */
double blame_weighted(const double *x, const double *w, size_t n, double p);

/* Sort pairs of a number and a weight by the number. */
struct blame_number {
	double x, w;
	uint32_t row;
};
void blame_number_sort(struct blame_number *number, size_t n);

/* --- what may go (without.c) ---------------------------------------------- */

/* For each row and each of some causes, what goes without it. */
struct blame_removable {
	unsigned cause[BLAME_CAUSES];
	unsigned causes;
	double *part; /* owned; causes for each row */
	struct blame_number *base[BLAME_CAUSES]; /* owned: times of a BASE,
						  * ascending; NULL: others */
	double keeps[BLAME_CAUSES];		 /* its median */
};
int blame_removable_init(
    struct blame_removable *r, struct blame_set *s, uint64_t causes);
/* Add the waits that they left behind; of causes that are gone there are none
 * left.  -ENOMEM. */
int blame_removable_queue(
    struct blame_removable *r, struct blame_set *s, uint64_t gone);
void blame_removable_fini(struct blame_removable *r);

/* How much more than that a draw's median of a BASE is; 0 for others. */
double blame_removable_shift(const struct blame_removable *r,
    const struct blame_set *s, const struct blame_draw *d, unsigned k);

/* Rows that may be in the tail, by what is left of them, largest first. */
struct blame_order {
	struct blame_number *left; /* owned */
	size_t n;
};
/* from: the first row to regard; subset: bits of r's causes. */
int blame_order_init(struct blame_order *o, const struct blame_set *s,
    const struct blame_removable *r, unsigned subset, size_t from);
void blame_order_fini(struct blame_order *o);
/* q(p) of what is left, at row *row. */
double blame_order_at(const struct blame_order *o, const struct blame_set *s,
    const struct blame_draw *d, double p, uint32_t *row);
double blame_order_quantile(const struct blame_order *o,
    const struct blame_set *s, const struct blame_draw *d, double p);

/* The first row that can be in the tail whatever goes. */
int blame_tail_begin(const struct blame_set *s, const struct blame_removable *r,
    double p, size_t *from);

/* Shapley's value of each of n players; gain has 1 << n, gain[0] is 0. */
void blame_shapley(const double *gain, unsigned n, double *value);

/* Time in queues and for a CPU, but for causes that are gone, that is due to
 * each cause: adds to extra, which has shape.causes for each row
 * (backlog.c). */
int blame_backlog(struct blame_set *s, uint64_t gone, double *extra);

/* --- resampling (resample.c) ---------------------------------------------- */

/* Cells of time; a block is BLAME_CELLS of them. */
#define BLAME_CELLS 4
struct blame_cells {
	uint32_t *cell;	   /* owned; of each row */
	double *weight;	   /* owned; of each cell */
	double *times;	   /* owned; of the draw */
	size_t cells, run; /* cells of a block */
	int64_t block_ns;
	size_t blocks;
};
int blame_cells_init(struct blame_cells *c, const struct blame_set *s,
    const struct blame_options *o);
void blame_cells_fini(struct blame_cells *c);
/* One resample. */
struct blame_draw blame_cells_draw(struct blame_cells *c, uint64_t *seed);

/* The 95 % interval of a statistic from n resamples of so many blocks: a little
 * more than the middle 95 %.  x is sorted.
 * Source: Hesterberg, "What Teachers Should Know About the Bootstrap", The
 * American Statistician 69, 2015 (expanded percentile interval). */
struct blame_interval blame_interval_of(double *x, size_t n, size_t blocks);

/* Distinct episodes of a line's cause among the rows from from on
 * (episodes.c). */
int blame_episodes(const struct blame_set *s, const struct blame_line *l,
    size_t from, int64_t block_ns, unsigned *out);
