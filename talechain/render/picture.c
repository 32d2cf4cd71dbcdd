/* picture.c: the layout: folds, rows and the scale of time.
 *
 * Folding: the longest gap between neighbouring moments at which something
 * happens is folded as long as it is more than FOLD_SHARE of the time that is
 * not folded yet.  A little of it stays at both ends, to show that it goes
 * on. */
#include "talechain/render/picture.h"

#include "base/array.h"
#include "base/plot.h"

#define FOLD_SHARE 0.6
#define FOLD_REST 0.1 /* kept at each end, of the time not folded */

static int64_t
clamp(const struct story *s, int64_t ns)
{
	return ns < 0 ? 0 : ns > s->total_ns ? s->total_ns : ns;
}

/* Every moment at which something happens, sorted; the caller frees it. */
static int64_t *
moments_list(const struct story *s, size_t *count)
{
	int64_t *m;
	size_t n = 0;

	m = calloc(2 * (s->bars + s->arrows + s->segments + 1), sizeof(*m));
	if (m == NULL)
		return NULL;
	m[n++] = 0;
	m[n++] = s->total_ns;
	for (size_t i = 0; i < s->bars; i++) {
		if (s->bar[i].kind == STORY_BAR_OTHER)
			continue;
		m[n++] = clamp(s, s->bar[i].begin_ns);
		m[n++] = clamp(s, s->bar[i].end_ns);
	}
	for (size_t i = 0; i < s->arrows; i++) {
		m[n++] = clamp(s, s->arrow[i].from_ns);
		m[n++] = clamp(s, s->arrow[i].to_ns);
	}
	for (size_t i = 0; i < s->segments; i++) {
		m[n++] = clamp(s, s->segment[i].begin_ns);
		m[n++] = clamp(s, s->segment[i].end_ns);
	}
	array_sort_int64(m, n);
	*count = n;
	return m;
}

/* Index in m where the longest gap that is not folded yet begins; n: there is
 * none. */
static size_t
gap_longest(const struct picture *p, const int64_t *m, size_t n)
{
	size_t best = n;
	unsigned f;

	for (size_t i = 0; i + 1 < n; i++) {
		for (f = 0; f < p->folds; f++)
			if (p->fold[f].begin_ns == m[i])
				break;
		if (f == p->folds &&
		    (best == n || m[i + 1] - m[i] > m[best + 1] - m[best]))
			best = i;
	}
	return best;
}

static int
fold_compare(const void *a, const void *b)
{
	const struct picture_fold *x = a, *y = b;

	return COMPARE(x->begin_ns, y->begin_ns);
}

static int
folds_find(struct picture *p)
{
	const struct story *s = p->story;
	int64_t rest_ns = s->total_ns, stays_ns;
	int64_t *m;
	size_t n, at;

	m = moments_list(s, &n);
	if (m == NULL)
		return -ENOMEM;
	while (p->folds < PICTURE_FOLDS) {
		at = gap_longest(p, m, n);
		if (at == n ||
		    (double)(m[at + 1] - m[at]) <= FOLD_SHARE * (double)rest_ns)
			break;
		/* One gap is all the time: nothing else needs room. */
		if (m[at + 1] - m[at] == rest_ns)
			break;
		p->fold[p->folds++] = (struct picture_fold){m[at], m[at + 1]};
		rest_ns -= m[at + 1] - m[at];
	}
	free(m);
	stays_ns = (int64_t)(FOLD_REST * (double)rest_ns);
	for (unsigned f = 0; f < p->folds; f++) {
		p->fold[f].begin_ns += stays_ns;
		p->fold[f].end_ns -= stays_ns;
	}
	qsort(p->fold, p->folds, sizeof(p->fold[0]), fold_compare);
	return 0;
}

static void
scale_set(struct picture *p)
{
	int64_t shown_ns = p->story->total_ns;

	for (unsigned f = 0; f < p->folds; f++)
		shown_ns -= p->fold[f].end_ns - p->fold[f].begin_ns;
	p->scale =
	    (PICTURE_RIGHT - PICTURE_LEFT - (double)p->folds * PICTURE_FOLD) /
	    (double)(shown_ns > 0 ? shown_ns : 1);
}

double
picture_x(const struct picture *p, int64_t ns)
{
	double x = PICTURE_LEFT;
	const struct picture_fold *f;
	int64_t from_ns = 0;

	ns = clamp(p->story, ns);
	for (unsigned i = 0; i < p->folds; i++) {
		f = &p->fold[i];
		if (ns <= f->begin_ns)
			break;
		x += (double)(f->begin_ns - from_ns) * p->scale;
		if (ns < f->end_ns)
			return x + PICTURE_FOLD * (double)(ns - f->begin_ns) /
				       (double)(f->end_ns - f->begin_ns);
		x += PICTURE_FOLD;
		from_ns = f->end_ns;
	}
	return x + (double)(ns - from_ns) * p->scale;
}

static int
bar_compare(const void *a, const void *b, void *story)
{
	const struct story *s = story;
	const size_t *i = a, *j = b;
	const struct story_bar *x = &s->bar[*i], *y = &s->bar[*j];

	int order = COMPARE(x->begin_ns, y->begin_ns);

	order = order ?: COMPARE(y->end_ns, x->end_ns);
	return order ?: COMPARE(*i, *j);
}

/* Put each bar in the first free row of its lane. */
static int
rows_assign(struct picture *p)
{
	const struct story *s = p->story;
	const struct story_bar *b;
	struct picture_lane *l;
	int64_t(*until)[PICTURE_ROWS];
	size_t bar;
	unsigned row;

	until = calloc(s->lanes + 1, sizeof(*until));
	if (until == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->bars; i++)
		p->order[i] = i;
	qsort_r(p->order, s->bars, sizeof(*p->order), bar_compare,
	    (void *)(uintptr_t)s);
	for (size_t i = 0; i < s->bars; i++) {
		bar = p->order[i];
		b = &s->bar[bar];
		l = &p->lane[b->lane];
		for (row = 0; row < PICTURE_ROWS - 1; row++)
			if (until[b->lane][row] <= b->begin_ns)
				break;
		until[b->lane][row] = b->end_ns;
		p->row[bar] = row;
		if (row + 1 > l->rows)
			l->rows = row + 1;
	}
	free(until);
	return 0;
}

/* Place the lanes; one without bars and ends of arrows takes no room. */
static void
lanes_place(struct picture *p)
{
	const struct story *s = p->story;
	struct picture_lane *l;

	for (size_t i = 0; i < s->arrows; i++) {
		l = &p->lane[s->arrow[i].from_lane];
		l->rows += l->rows == 0;
		l = &p->lane[s->arrow[i].to_lane];
		l->rows += l->rows == 0;
	}
	for (size_t i = 0; i < s->curves; i++) {
		l = &p->lane[s->series[i].lane];
		l->rows += l->rows == 0;
		l->curves++;
	}
	for (size_t i = 0; i < s->lanes; i++) {
		p->lane[i].y = p->height;
		if (p->lane[i].rows == 0)
			continue;
		p->height += p->lane[i].rows * PICTURE_ROW -
			     (PICTURE_ROW - PICTURE_BAR) + 2 * PICTURE_PAD +
			     p->lane[i].curves * PICTURE_CURVE;
	}
}

int
picture_init(struct picture *p, const struct story *s)
{
	int err;

	*p = (struct picture){.story = s};
	p->lane = calloc(s->lanes + 1, sizeof(*p->lane));
	p->row = calloc(s->bars + 1, sizeof(*p->row));
	p->order = calloc(s->bars + 1, sizeof(*p->order));
	err =
	    p->lane == NULL || p->row == NULL || p->order == NULL ? -ENOMEM : 0;
	if (err == 0)
		err = rows_assign(p);
	if (err == 0)
		err = folds_find(p);
	if (err < 0) {
		picture_fini(p);
		return err;
	}
	scale_set(p);
	lanes_place(p);
	return 0;
}

void
picture_fini(struct picture *p)
{
	free(p->lane);
	free(p->row);
	free(p->order);
	*p = (struct picture){0};
}

double
picture_curve_y(const struct picture *p, size_t curve)
{
	const struct story *s = p->story;
	unsigned lane = s->series[curve].lane;
	size_t before = 0;

	for (size_t i = 0; i < curve; i++)
		before += s->series[i].lane == lane;
	return p->lane[lane].y + PICTURE_PAD +
	       p->lane[lane].rows * PICTURE_ROW +
	       (double)before * PICTURE_CURVE;
}

double
picture_bar_y(const struct picture *p, size_t bar)
{
	return p->lane[p->story->bar[bar].lane].y + PICTURE_PAD +
	       p->row[bar] * PICTURE_ROW;
}

/* True if an arrow at a moment on a lane touches the bar. */
static bool
bar_touched(const struct story_bar *b, unsigned lane, int64_t ns)
{
	return b->lane == lane && b->begin_ns <= ns && ns <= b->end_ns &&
	       b->kind != STORY_BAR_OTHER;
}

double
picture_touch_y(const struct picture *p, unsigned lane, int64_t ns)
{
	double y = p->lane[lane].y + PICTURE_PAD;

	for (size_t i = 0; i < p->story->bars; i++)
		if (bar_touched(&p->story->bar[i], lane, ns) &&
		    picture_bar_y(p, i) > y)
			y = picture_bar_y(p, i);
	return y;
}

bool
picture_touches(const struct picture *p, unsigned lane, int64_t ns)
{
	for (size_t i = 0; i < p->story->bars; i++)
		if (bar_touched(&p->story->bar[i], lane, ns))
			return true;
	return false;
}

int64_t
picture_tick_ns(const struct picture *p)
{
	double wanted_ns = PICTURE_TICK / p->scale;

	return wanted_ns < 1 ? 1 : (int64_t)plot_step(wanted_ns);
}
