/* set.h: accounts in memory, and walks over their ranks.
 *
 * Once sorted, rows ascend by total and the parts lie in the same order, so a
 * band of ranks is a run of memory.  A resample gives each cell of time a
 * number of times that it was drawn; nothing is sorted again. */
#pragma once

#include "blame/blame.h"

struct blame_set {
	struct blame_shape shape;
	struct blame_account *row; /* owned; room is its capacity */
	int64_t *part;		   /* owned, columns for each row */
	double *value;		   /* owned, shape.values for each row */
	size_t rows, room;
	unsigned level;	 /* of fast rows one in 2^level is held */
	int64_t fast_ns; /* rows up to this total are fast */
	bool sorted;
	uint64_t present; /* causes that occur; only these have a column */
	unsigned columns;
	uint8_t column[BLAME_CAUSES]; /* of a cause that occurs */
	uint8_t cause[BLAME_CAUSES];  /* of a column */
};

/* The time of row i in a cause. */
static inline int64_t
blame_part(const struct blame_set *s, size_t i, unsigned cause)
{
	if ((s->present >> cause & 1) == 0)
		return 0;
	return s->part[i * s->columns + s->column[cause]];
}

/* How often each row counts: once, or as often as a resample drew it. */
struct blame_draw {
	const uint32_t *cell; /* cell of each row; NULL: each row counts once */
	const uint32_t *times; /* how often each cell was drawn */
	double weight;	       /* W of the draw */
};

/* Sort the rows by total, ascending; equal totals by time and id, so that the
 * order of adding does not matter.  0 or -ENOMEM. */
int blame_sort(struct blame_set *s);

/* The weight of row i in a draw. */
static inline double
blame_weight(const struct blame_set *s, const struct blame_draw *d, size_t i)
{
	double w = s->row[i].weight;

	return d->cell == NULL ? w : w * d->times[d->cell[i]];
}

/* The draw that counts every row once. */
struct blame_draw blame_draw_all(const struct blame_set *s);

/* Half of the band of ranks around p. */
static inline double
blame_band(double p)
{
	return (1 - p) / 4;
}

/* The weight above q(p), nearest rank, up to rounding errors. */
static inline double
blame_above(double p, double weight)
{
	return (1 - p + 1e-12) * weight;
}

/* True if a walk down from the top that left so much weight above has passed
 * q(p). */
static inline bool
blame_passed(double above, double p, double weight)
{
	return above > blame_above(p, weight);
}

/* The row of q(p); the set must be sorted.  0 if it has no rows. */
size_t
blame_rank(const struct blame_set *s, const struct blame_draw *d, double p);

/* share(c, p) of a draw, not rounded; returns q(p). */
double blame_share(const struct blame_set *s, const struct blame_draw *d,
    double p, double *share);

/* The x at which weight p of the total is reached; x ascends.  n > 0. */
double blame_weighted(const double *x, const double *w, size_t n, double p);

/* A number of a row, with the row's weight and cell. */
struct blame_number {
	double x, w;
	uint32_t row, cell;
};

/* Sort by x, ascending; equal ones by row. */
void blame_number_sort(struct blame_number *number, size_t n);

/* Bring the largest to the front, in any order, but that the last of them is
 * the smallest: as many as have more than that weight together, or all.
 * Returns how many.  O(n). */
size_t blame_number_top(struct blame_number *number, size_t n, double weight);

/* --- what may go (without.c) ---------------------------------------------- */

/* For each row and each of some causes, the time that goes with the cause. */
struct blame_removable {
	unsigned cause[BLAME_CAUSES];
	unsigned causes;
	const uint32_t *cell; /* borrowed; of each row, or NULL */
	double *part;	      /* owned; causes for each row */
	struct blame_number *base[BLAME_CAUSES]; /* owned: times of a BASE,
						  * ascending; NULL: other
						  * kinds */
	double keeps[BLAME_CAUSES];		 /* median of a BASE, else 0 */
};
int blame_removable_init(struct blame_removable *r, struct blame_set *s,
    uint64_t causes, const uint32_t *cell);
void blame_removable_fini(struct blame_removable *r);

/* A draw's median of the cause with index k less keeps[k], if it is a BASE; 0
 * for other kinds. */
double blame_removable_shift(const struct blame_removable *r,
    const struct blame_set *s, const struct blame_draw *d, unsigned k);

/* Add the waits that these causes left behind: in queues and for a CPU.  Waits
 * in the causes of gone do not count: they are removed already.  0 or -ENOMEM
 * (backlog.c). */
int
blame_backlog(struct blame_set *s, uint64_t gone, struct blame_removable *r);

/* The percentile of the times left of all rows without a subset of r's causes,
 * bits 1 << index.
 *   above  the weight above it (blame_above)
 *   least  it is known to be no less
 *   room   as many as there are rows; overwritten */
double blame_subset_quantile(const struct blame_set *s,
    const struct blame_removable *r, uint64_t subset, double above,
    double least, struct blame_number *room);

/* The rows with most time left without a subset, ascending by that time. */
struct blame_order {
	struct blame_number *left; /* owned */
	size_t n;
};
/* weight: of the rows in the order, at least. */
int blame_order_init(struct blame_order *o, const struct blame_set *s,
    const struct blame_removable *r, uint64_t subset, double weight);
void blame_order_fini(struct blame_order *o);
/* q(p) of the times left; *row receives the row that has it. */
double blame_order_at(const struct blame_order *o, const struct blame_draw *d,
    double p, uint32_t *row);
double blame_order_quantile(
    const struct blame_order *o, const struct blame_draw *d, double p);
/* q(p) of an order that leaves out a subset, where a BASE keeps the median of
 * the draw.
 *   shift  of each of r's causes: blame_removable_shift of the draw */
double blame_order_without(const struct blame_order *o,
    const struct blame_removable *r, const struct blame_draw *d,
    uint64_t subset, const double *shift, double p);

/* The Shapley values of n players; gain has one number for each subset, 1 << n
 * of them, and gain[0] is 0. */
void blame_shapley(const double *gain, unsigned n, double *value);

/* --- resampling (resample.c) ---------------------------------------------- */

/* Cells of time, a block being BLAME_CELLS of them, and how often each resample
 * drew each cell. */
#define BLAME_CELLS 4
struct blame_cells {
	uint32_t *cell;	   /* owned; cell of each row */
	double *weight;	   /* owned; of each cell */
	uint32_t *times;   /* owned; cells for each resample */
	double *drawn;	   /* owned; W of each resample */
	size_t cells, run; /* cells of a block */
	int64_t block_ns;
	size_t blocks;
};
int blame_cells_init(struct blame_cells *c, const struct blame_set *s,
    const struct blame_options *o);
void blame_cells_fini(struct blame_cells *c);
/* Resample number i. */
struct blame_draw blame_cells_draw(const struct blame_cells *c, unsigned i);

/* The 95 % interval of a statistic from n resamples of so many blocks: a little
 * more than the middle 95 %.  Sorts x.
 * Source: Hesterberg, "What Teachers Should Know About the Bootstrap", The
 * American Statistician 69, 2015 (expanded percentile interval). */
struct blame_interval blame_interval_of(double *x, size_t n, size_t blocks);

/* The interval in which the statistic of another time, as long, lies: its own
 * chance is added to that of the estimate, as the ratio of a second resample to
 * the estimate.  Overwrites x. */
struct blame_interval
blame_interval_predicted(double *x, size_t n, size_t blocks, double estimate);

/* Count the distinct episodes of a line's cause among the rows from number from
 * on.  0 or -ENOMEM (episodes.c). */
int blame_episodes(const struct blame_set *s, const struct blame_line *l,
    size_t from, int64_t block_ns, unsigned *out);
