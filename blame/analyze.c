/* analyze.c: the report on one percentile.
 *
 * It computes shares and gains of the set, then these statistics of each
 * resample: q(p), each cause's share and excess, q(p) without each of the
 * largest causes, and the interaction of each pair of them. */
#include "blame/set.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL 0.5
/* An interaction below this part of q(p) - q(0.5) is not reported. */
#define PAIR_PART 0.1
#define SUBSETS (1U << BLAME_TOGETHER)
/* A resample may have less of the tail than the accounts do: orders hold so
 * many times the weight beyond q(p). */
#define DRAWN_DEEP 4
/* So many rows are held in any case: a few of large weight may not be drawn. */
#define DRAWN_ROWS 8192

/* One resample's statistics. */
struct resample {
	double q;
	double share[BLAME_CAUSES], excess[BLAME_CAUSES];
	double without[BLAME_TOGETHER], queue[BLAME_TOGETHER];
	double shift[BLAME_TOGETHER]; /* of the median of a BASE */
	double interaction[BLAME_PAIRS];
};

struct blame_work {
	struct blame_set *s;
	const struct blame_options *o;
	struct blame_report *out;
	struct blame_draw all;
	double gain[SUBSETS];
	unsigned line_of[BLAME_TOGETHER]; /* line index of each bit */
	struct blame_removable removable;
	struct blame_cells cells;
	struct resample *sample; /* owned, one per resample */
};

static int
line_compare(const void *a, const void *b)
{
	const struct blame_line *x = a, *y = b;
	int order =
	    COMPARE(x->kind == BLAME_UNEXPLAINED, y->kind == BLAME_UNEXPLAINED);

	if (order == 0)
		order = COMPARE(y->excess_ns, x->excess_ns);
	return order != 0 ? order : COMPARE(x->cause, y->cause);
}

static void
report_head(struct blame_work *w)
{
	struct blame_report *r = w->out;
	const struct blame_set *s = w->s;
	size_t at = blame_rank(s, &w->all, w->o->p);

	*r = (struct blame_report){.p = w->o->p,
	    .weight = w->all.weight,
	    .rows = s->rows,
	    .bytes = blame_bytes(s),
	    .first_ns = INT64_MAX,
	    .last_ns = INT64_MIN,
	    .q_ns = s->row[at].total_ns,
	    .p50_ns = s->row[blame_rank(s, &w->all, USUAL)].total_ns,
	    .resamples = w->o->resamples};
	for (size_t i = 0; i < s->rows; i++) {
		if (s->row[i].end_ns < r->first_ns)
			r->first_ns = s->row[i].end_ns;
		if (s->row[i].end_ns > r->last_ns)
			r->last_ns = s->row[i].end_ns;
		if (s->row[i].total_ns > r->q_ns) {
			r->beyond++;
			r->slower += s->row[i].weight;
		}
	}
}

/* The share of the tail's weight whose requests had the cause's signals on. */
static double
seen_of(const struct blame_set *s, unsigned cause, size_t from)
{
	double all = 0, seen = 0;

	for (size_t i = from; i < s->rows; i++) {
		all += s->row[i].weight;
		if ((s->row[i].seen >> cause & 1) != 0)
			seen += s->row[i].weight;
	}
	return all == 0 ? 0 : seen / all;
}

static void
report_lines(struct blame_work *w)
{
	int64_t share[BLAME_CAUSES], usual[BLAME_CAUSES], beyond[BLAME_CAUSES];
	struct blame_report *r = w->out;
	int64_t unexplained = 0;

	blame_shares(w->s, r->p, share);
	blame_shares(w->s, USUAL, usual);
	blame_beyond(w->s, r->p, beyond);
	for (unsigned c = 0; c < w->s->shape.causes; c++) {
		if ((w->s->present >> c & 1) == 0)
			continue;
		r->line[r->lines++] = (struct blame_line){.cause = c,
		    .kind = w->s->shape.cause[c].kind,
		    .share_ns = share[c],
		    .usual_ns = usual[c],
		    .excess_ns = share[c] - usual[c],
		    .beyond_ns = beyond[c],
		    .shapley_ns = (double)NAN};
		if (w->s->shape.cause[c].kind == BLAME_UNEXPLAINED)
			unexplained += share[c] - usual[c];
	}
	qsort(r->line, r->lines, sizeof(r->line[0]), line_compare);
	r->explained = 1;
	if (r->q_ns > r->p50_ns)
		r->explained -=
		    (double)unexplained / (double)(r->q_ns - r->p50_ns);
	/* Negative excesses may make the unexplained one larger. */
	r->explained = fmin(1, fmax(0, r->explained));
}

static int
report_episodes(struct blame_work *w)
{
	struct blame_report *r = w->out;
	/* Start at the lower edge of the band that the shares are means of. */
	size_t from = blame_rank(w->s, &w->all, r->p - blame_band(r->p));
	int err = 0;

	for (unsigned c = 0; c < w->s->shape.causes; c++)
		r->seen[c] = seen_of(w->s, c, from);
	for (unsigned i = 0; err == 0 && i < r->lines; i++) {
		struct blame_line *l = &r->line[i];

		err = blame_episodes(w->s, l, from, r->block_ns, &l->episodes);
		l->enough =
		    l->episodes >= BLAME_EPISODES && r->beyond >= BLAME_BEYOND;
	}
	return err;
}

/* Choose the causes to examine in subsets.  Bit k of a subset is the cause of
 * line line_of[k]. */
static void
together_choose(struct blame_work *w)
{
	struct blame_report *r = w->out;
	unsigned n = 0;

	for (unsigned i = 0; i < r->lines; i++) {
		if (r->line[i].kind == BLAME_UNEXPLAINED ||
		    r->together == BLAME_TOGETHER)
			break;
		r->line[i].removable = true;
		r->causes |= UINT64_C(1) << r->line[i].cause;
		r->together++;
	}
	/* Bits have the order of blame_removable_init: by number of the
	 * cause. */
	for (unsigned c = 0; c < w->s->shape.causes; c++)
		for (unsigned i = 0; i < r->lines; i++)
			if (r->line[i].cause == c && r->line[i].removable)
				w->line_of[n++] = i;
}

static unsigned
pair_index(unsigned a, unsigned b)
{
	return b * (b - 1) / 2 + a; /* a < b */
}

/* q(p) without more causes is no more: the largest that is known of a subset
 * with one cause more. */
static double
subset_least(const struct blame_work *w, unsigned subset)
{
	double least = 0;

	for (unsigned k = 0; k < w->out->together; k++)
		if ((subset >> k & 1) == 0)
			least = fmax(least,
			    (double)w->out->q_ns - w->gain[subset | 1U << k]);
	return least;
}

static int
subsets_examine(struct blame_work *w)
{
	struct blame_number *room = malloc((w->s->rows + 1) * sizeof(*room));
	double above = blame_above(w->out->p, w->all.weight);
	double shapley[BLAME_TOGETHER];
	struct blame_report *r = w->out;

	if (room == NULL)
		return -ENOMEM;
	for (unsigned a = (1U << r->together) - 1; a > 0; a--)
		w->gain[a] =
		    (double)r->q_ns - blame_subset_quantile(w->s, &w->removable,
					  a, above, subset_least(w, a), room);
	free(room);
	r->all_ns = w->gain[(1U << r->together) - 1];
	blame_shapley(w->gain, r->together, shapley);
	for (unsigned k = 0; k < r->together; k++) {
		struct blame_line *l = &r->line[w->line_of[k]];

		l->shapley_ns = shapley[k];
	}
	return 0;
}

static int
report_together(struct blame_work *w)
{
	int err;

	together_choose(w);
	err = blame_removable_init(
	    &w->removable, w->s, w->out->causes, w->cells.cell);
	return err != 0 ? err : subsets_examine(w);
}

static void
sample_share(
    struct blame_work *w, const struct blame_draw *d, struct resample *to)
{
	double usual[BLAME_CAUSES];

	to->q = blame_share(w->s, d, w->out->p, to->share);
	blame_share(w->s, d, USUAL, usual);
	for (unsigned c = 0; c < w->s->shape.causes; c++)
		to->excess[c] = to->share[c] - usual[c];
}

/* The rows of a subset's tail, and of that of its resamples. */
static int
order_begin(const struct blame_work *w, uint64_t subset, struct blame_order *o)
{
	double deep = DRAWN_DEEP * blame_above(w->out->p, w->all.weight);

	return blame_order_init(o, w->s, &w->removable, subset,
	    w->s->rows <= DRAWN_ROWS ? w->all.weight : deep);
}

/* One cause is gone, with the queue behind it (they are removable then), or
 * not. */
static int
samples_without(struct blame_work *w, unsigned k, bool queue)
{
	uint64_t subset = UINT64_C(1) << k;
	struct blame_order o;
	int err = order_begin(w, subset, &o);

	for (unsigned i = 0; err == 0 && i < w->o->resamples; i++) {
		struct blame_draw d = blame_cells_draw(&w->cells, i);
		struct resample *to = &w->sample[i];

		*(queue ? &to->queue[k] : &to->without[k]) =
		    blame_order_without(
			&o, &w->removable, &d, subset, to->shift, w->out->p);
	}
	if (err == 0)
		blame_order_fini(&o);
	return err;
}

/* gain(ab) - gain(a) - gain(b) of each draw. */
static int
samples_pair(struct blame_work *w, unsigned a, unsigned b)
{
	uint64_t subset = UINT64_C(1) << a | UINT64_C(1) << b;
	struct blame_order o;
	int err = order_begin(w, subset, &o);

	for (unsigned i = 0; err == 0 && i < w->o->resamples; i++) {
		struct blame_draw d = blame_cells_draw(&w->cells, i);
		struct resample *to = &w->sample[i];

		to->interaction[pair_index(a, b)] =
		    to->without[a] + to->without[b] - to->q -
		    blame_order_without(
			&o, &w->removable, &d, subset, to->shift, w->out->p);
	}
	if (err == 0)
		blame_order_fini(&o);
	return err;
}

static int
samples_take(struct blame_work *w)
{
	int err = 0;

	w->out->block_ns = w->cells.block_ns;
	w->out->blocks = w->cells.blocks;
	w->sample = calloc(w->o->resamples + 1, sizeof(*w->sample));
	if (w->sample == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < w->o->resamples; i++) {
		struct blame_draw d = blame_cells_draw(&w->cells, i);

		sample_share(w, &d, &w->sample[i]);
		for (unsigned k = 0; k < w->out->together; k++)
			w->sample[i].shift[k] =
			    blame_removable_shift(&w->removable, w->s, &d, k);
	}
	for (unsigned b = 0;
	     err == 0 && w->o->resamples > 0 && b < w->out->together; b++) {
		err = samples_without(w, b, false);
		for (unsigned a = 0; err == 0 && a < b; a++)
			err = samples_pair(w, a, b);
	}
	return err;
}

/* The last use of the removable times: it adds to them. */
static int
report_queue(struct blame_work *w)
{
	struct blame_number *room = malloc((w->s->rows + 1) * sizeof(*room));
	double above = blame_above(w->out->p, w->all.weight);
	int err =
	    room == NULL ? -ENOMEM : blame_backlog(w->s, 0, &w->removable);

	for (unsigned k = 0; err == 0 && k < w->out->together; k++) {
		w->out->line[w->line_of[k]].without_ns =
		    llround(blame_subset_quantile(
			w->s, &w->removable, UINT64_C(1) << k, above, 0, room));
		if (w->o->resamples > 0)
			err = samples_without(w, k, true);
	}
	free(room);
	return err;
}

/* Copy a statistic of the resamples, by its place in struct resample. */
static void
samples_copy(const struct blame_work *w, size_t offset, double *x)
{
	for (unsigned i = 0; i < w->o->resamples; i++)
		memcpy(
		    &x[i], (const char *)&w->sample[i] + offset, sizeof(x[i]));
}

static struct blame_interval
interval_at(const struct blame_work *w, size_t offset)
{
	double x[BLAME_RESAMPLES];

	samples_copy(w, offset, x);
	return blame_interval_of(x, w->o->resamples, w->out->blocks);
}

static struct blame_interval
prediction_at(const struct blame_work *w, size_t offset, int64_t estimate_ns)
{
	double x[BLAME_RESAMPLES];

	samples_copy(w, offset, x);
	return blame_interval_predicted(
	    x, w->o->resamples, w->out->blocks, (double)estimate_ns);
}
#define INTERVAL(w, field, i) \
	interval_at(w, offsetof(struct resample, field) + (i) * sizeof(double))
#define PREDICTION(w, field, i, estimate_ns)                         \
	prediction_at(w,                                             \
	    offsetof(struct resample, field) + (i) * sizeof(double), \
	    estimate_ns)

/* True if a line gets a rank: it is a cause, with enough observations, and the
 * interval of its excess is above zero. */
static bool
is_ranked(const struct blame_line *l)
{
	return l->enough && l->excess.low_ns > 0 &&
	       l->kind != BLAME_UNEXPLAINED;
}

static void
report_ranks(struct blame_report *r)
{
	for (unsigned i = 0; i < r->lines; i++) {
		struct blame_line *l = &r->line[i];

		if (!is_ranked(l))
			continue;
		l->rank = 1;
		for (unsigned j = 0; j < r->lines; j++)
			if (is_ranked(&r->line[j]) &&
			    r->line[j].excess.low_ns > l->excess.high_ns)
				l->rank++;
	}
}

static void
report_intervals(struct blame_work *w)
{
	struct blame_report *r = w->out;

	r->q = INTERVAL(w, q, 0);
	for (unsigned i = 0; i < r->lines; i++) {
		r->line[i].share = INTERVAL(w, share, r->line[i].cause);
		r->line[i].excess = INTERVAL(w, excess, r->line[i].cause);
	}
	for (unsigned k = 0; k < r->together; k++) {
		struct blame_line *l = &r->line[w->line_of[k]];

		l->without = PREDICTION(w, queue, k, l->without_ns);
	}
	report_ranks(r);
}

/* True if a pair's interaction is large enough and its interval excludes zero;
 * without intervals only its size counts. */
static bool
pair_certain(const struct blame_work *w, const struct blame_pair *p)
{
	double least = PAIR_PART * (double)(w->out->q_ns - w->out->p50_ns);

	if (fabs((double)p->interaction_ns) <= least)
		return false;
	return w->o->resamples == 0 || p->interaction.low_ns > 0 ||
	       p->interaction.high_ns < 0;
}

static void
report_pairs(struct blame_work *w)
{
	struct blame_report *r = w->out;

	for (unsigned b = 0; b < r->together; b++)
		for (unsigned a = 0; a < b; a++) {
			double ab = w->gain[1U << a | 1U << b];
			struct blame_pair p = {
			    .a = r->line[w->line_of[a]].cause,
			    .b = r->line[w->line_of[b]].cause,
			    .without_ns = r->q_ns - llround(ab),
			    .interaction_ns = llround(
				ab - w->gain[1U << a] - w->gain[1U << b]),
			    .interaction =
				INTERVAL(w, interaction, pair_index(a, b))};

			if (pair_certain(w, &p))
				r->pair[r->pairs++] = p;
		}
}

static void
work_fini(struct blame_work *w)
{
	blame_cells_fini(&w->cells);
	blame_removable_fini(&w->removable);
	free(w->sample);
}

static int
work_divide(struct blame_work *w, struct blame_set *s,
    const struct blame_options *o, struct blame_report *out)
{
	int err;

	memset(w, 0, sizeof(*w));
	if (!(o->p > 0.5 && o->p < 1) || o->resamples > BLAME_RESAMPLES)
		return -EINVAL;
	if (s->rows == 0)
		return -ENODATA;
	err = blame_sort(s);
	if (err != 0)
		return err;
	w->s = s;
	w->o = o;
	w->out = out;
	w->all = blame_draw_all(s);
	report_head(w);
	report_lines(w);
	return 0;
}

int
blame_divide(struct blame_set *s, double p, struct blame_report *out)
{
	struct blame_options o = {.p = p};
	struct blame_work w;

	return work_divide(&w, s, &o, out);
}

static int
work_begin(struct blame_work *w, struct blame_set *s,
    const struct blame_options *o, struct blame_report *out)
{
	int err = work_divide(w, s, o, out);

	return err != 0 ? err : blame_cells_init(&w->cells, s, o);
}

int
blame_analyze(struct blame_set *s, const struct blame_options *o,
    struct blame_report *out)
{
	struct blame_work w;
	int err = work_begin(&w, s, o, out);

	if (err != 0)
		return err;
	err = report_together(&w);
	if (err == 0)
		err = samples_take(&w);
	if (err == 0)
		err = report_queue(&w);
	if (err == 0)
		err = report_episodes(&w);
	if (err == 0) {
		report_intervals(&w);
		report_pairs(&w);
	}
	work_fini(&w);
	return err;
}

static int
change_compare(const void *a, const void *b)
{
	const struct blame_change *x = a, *y = b;
	int order = COMPARE(llabs(y->change_ns), llabs(x->change_ns));

	return order != 0 ? order : COMPARE(x->cause, y->cause);
}

static void
changes_fill(const struct blame_work *now, const struct blame_work *then,
    struct blame_change *out, unsigned *n)
{
	int64_t new[BLAME_CAUSES], old[BLAME_CAUSES];
	uint64_t present = now->s->present | then->s->present;
	size_t blocks = now->out->blocks < then->out->blocks
			    ? now->out->blocks
			    : then->out->blocks;
	double x[BLAME_RESAMPLES];

	blame_shares(now->s, now->out->p, new);
	blame_shares(then->s, now->out->p, old);
	*n = 0;
	for (unsigned c = 0; c < now->s->shape.causes; c++) {
		if ((present >> c & 1) == 0)
			continue;
		for (unsigned i = 0; i < now->o->resamples; i++)
			x[i] =
			    now->sample[i].share[c] - then->sample[i].share[c];
		out[(*n)++] = (struct blame_change){.cause = c,
		    .change_ns = new[c] - old[c],
		    .interval =
			blame_interval_of(x, now->o->resamples, blocks)};
	}
	qsort(out, *n, sizeof(*out), change_compare);
}

int
blame_against(struct blame_set *now, struct blame_set *then,
    const struct blame_options *o, struct blame_change *out, unsigned *n)
{
	struct blame_options other = *o;
	struct blame_report report[2];
	struct blame_work a, b;
	int err;

	other.seed++; /* the two times are drawn independently */
	err = work_begin(&a, now, o, &report[0]);
	if (err != 0)
		return err;
	err = work_begin(&b, then, &other, &report[1]);
	if (err == 0)
		err = samples_take(&a);
	if (err == 0)
		err = samples_take(&b);
	if (err == 0)
		changes_fill(&a, &b, out, n);
	work_fini(&a);
	work_fini(&b);
	return err;
}
