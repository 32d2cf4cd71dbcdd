#include "loadgen/stats/rate_search.h"

#include <math.h>

#include "loadgen/stats/statistics.h"

#define RESOLUTION 1.08 /* high / low of an interval that is small */
#define CONFIRM 3	/* full trials of the result */
#define LATE_MAX 3	/* late trials of a rate; then it is given up */
#define RISES_TO 2	/* times the first median */
#define SAME 1.01	/* rates closer than that are one */
/* Factor of the likelihood's allowance: trials end when the interval is small,
 * and no server has exactly this curve. */
#define SPARE 2
#define NEAR 8 /* times the limit's share: not near it */

/* --- the trials ----------------------------------------------------------- */

static bool
rises(const struct rate_trial *trial)
{
	/* Every second, so that a queue may fluctuate. */
	for (unsigned i = 3; i < SEARCH_SLICES; i += 2) {
		if (trial->slices[i].median_ns <=
		    trial->slices[i - 2].median_ns)
			return false;
	}
	return trial->slices[SEARCH_SLICES - 1].median_ns >
	       RISES_TO * trial->slices[1].median_ns;
}

/* Return the entry of a rate, made if it is new; NULL: no room. */
static struct tried_rate *
find_or_insert(struct rate_search *s, double rate_per_s)
{
	size_t i = s->count;

	while (i > 0 && s->tried[i - 1].rate_per_s >= rate_per_s)
		i--;
	if (i < s->count && s->tried[i].rate_per_s <= rate_per_s)
		return &s->tried[i];
	if (s->count == SEARCH_RATES_MAX)
		return NULL;
	for (size_t k = s->count++; k > i; k--)
		s->tried[k] = s->tried[k - 1];
	s->tried[i] = (struct tried_rate){.rate_per_s = rate_per_s};
	return &s->tried[i];
}

void
rate_search_add(struct rate_search *s, const struct rate_trial *trial)
{
	struct tried_rate *t = find_or_insert(s, trial->rate_per_s);
	bool rising = rises(trial);

	s->trials++;
	if (t == NULL || t->slices == SEARCH_SLICES * SEARCH_TRIALS_MAX)
		return;
	if (trial->late) {
		t->late++;
		return;
	}
	t->full += trial->full;
	t->rising |= rising;
	for (unsigned i = 0; i < SEARCH_SLICES; i++) {
		struct trial_slice *slice = &t->slice[t->slices++];
		*slice = trial->slices[i];
		if (rising)
			slice->over_most = slice->over_least = slice->requests;
		t->requests += slice->requests;
		t->over_most += slice->over_most;
		t->over_least += slice->over_least;
	}
}

static bool
keeps(double percent, size_t requests, size_t over)
{
	return requests > 0 &&
	       requests - over >= quantile_rank(percent, requests);
}

bool
rate_keeps(const struct rate_search *s, const struct tried_rate *t)
{
	return keeps(s->percent, t->requests, t->over_most);
}

/* True if the rate was given up, or did not keep the limit even if all that the
 * generator added is left out. */
static bool
exceeds(const struct rate_search *s, const struct tried_rate *t)
{
	if (t->requests == 0)
		return t->late >= LATE_MAX;
	return !keeps(s->percent, t->requests, t->over_least);
}

/* --- the curve ------------------------------------------------------------ */

#define CURVE_RATES 240 /* in the interval; to choose rates, a quarter */
#define CURVE_SLOPES 24

/* One way to count requests over the limit: the most or the least. */
struct curve {
	const struct rate_search *s; /* borrowed */
	bool least;
	bool full;	 /* leave out what kept the limit for a short time */
	size_t from, to; /* rates in the fit */
	double odds;	 /* log-odds of the limit's share */
};

static double
over_in(const struct curve *c, const struct trial_slice *slice)
{
	return (double)(c->least ? slice->over_least : slice->over_most);
}

static double
over_of(const struct curve *c, const struct tried_rate *t)
{
	return (double)(c->least ? t->over_least : t->over_most);
}

/* True if a rate within from and to has a part in the fit. */
static bool
counts(const struct curve *c, const struct tried_rate *t)
{
	return t->requests > 0 &&
	       (!c->full || t->full > 0 || !rate_keeps(c->s, t));
}

/* The share of requests over the limit at a rate, by the curve that goes
 * through the limit's share at another. */
static double
share_at(const struct curve *c, double at, double slope, double rate_per_s)
{
	double odds = c->odds + slope * (rate_per_s / at - 1);
	double share = 1 / (1 + exp(-odds));

	return fmin(fmax(share, 1e-12), 1 - 1e-12);
}

static double
likelihood(const struct curve *c, double at, double slope)
{
	double sum = 0;

	for (size_t i = c->from; i < c->to; i++) {
		const struct tried_rate *t = &c->s->tried[i];
		double over = over_of(c, t);
		double share = share_at(c, at, slope, t->rate_per_s);
		if (!counts(c, t))
			continue;
		sum += over * log(share) +
		       ((double)t->requests - over) * log1p(-share);
	}
	return sum;
}

/* Return the largest likelihood over all slopes, and that slope. */
static double
profile(const struct curve *c, double at, double *slope)
{
	double best = -INFINITY;

	for (unsigned i = 0; i < CURVE_SLOPES; i++) {
		double b = 0.4 * exp(i * 0.27);
		double l = likelihood(c, at, b);
		if (l > best) {
			best = l;
			*slope = b;
		}
	}
	return best;
}

/* Leave out rates far from the limit, by the curve so far, but for the nearest
 * on either side. */
static void
curve_choose(struct curve *c, double at, double slope)
{
	double limit = 1 - c->s->percent / 100;

	c->from = 0;
	c->to = c->s->count;
	for (size_t i = 0; i < c->s->count; i++) {
		double rate_per_s = c->s->tried[i].rate_per_s;
		double share = share_at(c, at, slope, rate_per_s);
		if (!counts(c, &c->s->tried[i]))
			continue;
		if (share < limit / NEAR)
			c->from = i;
		if (share > fmin(limit * NEAR, (1 + limit) / 2) &&
		    c->to == c->s->count)
			c->to = i + 1;
	}
}

/* The square of Student's t, two-sided 95 %, by Cornish and Fisher's
 * expansion. */
static double
student_squared(double freedom)
{
	double f = 1 / freedom;
	double t = 1.96 + f * (2.37 + f * (2.82 + f * (2.56 + f * 3)));

	return t * t;
}

/* Counts against what was expected, of slices or of trials. */
struct scatter {
	double squares; /* sum of (count - expected)^2 / variance */
	unsigned count;
	unsigned nonzero; /* counts above 0 */
};

static void
scatter_add(struct scatter *a, double over, double n, double share)
{
	if (n <= 0 || share <= 0 || share >= 1)
		return;
	a->squares +=
	    (over - n * share) * (over - n * share) / (n * share * (1 - share));
	a->count++;
	a->nonzero += over > 0;
}

/* Return by how much the likelihood of a rate in the interval may be below the
 * best: half of chi-square's quantile, times the dispersion.  Where little was
 * over the limit that dispersion itself is a guess: as Student's t has it. */
static double
scatter_allows(const struct scatter *a, unsigned lost)
{
	double freedom = a->count > lost ? a->count - lost : 1;
	double seen = a->nonzero > 2 ? a->nonzero - 1 : 1;

	return fmax(1, a->squares / freedom) * student_squared(seen) / 2 *
	       SPARE;
}

/* The larger of that for slices about their trial and for trials about the
 * curve. */
static double
allowance(const struct curve *c, double at, double slope)
{
	struct scatter within = {0}, about = {0};
	unsigned trials = 0;

	for (size_t i = c->from; i < c->to; i++) {
		const struct tried_rate *t = &c->s->tried[i];
		for (unsigned k = 0; counts(c, t) && k < t->slices;
		     k += SEARCH_SLICES) {
			const struct trial_slice *slice = &t->slice[k];
			double n = 0, over = 0;
			for (unsigned j = 0; j < SEARCH_SLICES; j++) {
				n += (double)slice[j].requests;
				over += over_in(c, &slice[j]);
			}
			scatter_add(&about, over, n,
			    share_at(c, at, slope, t->rate_per_s));
			for (unsigned j = 0; j < SEARCH_SLICES; j++)
				scatter_add(&within, over_in(c, &slice[j]),
				    (double)slice[j].requests, over / n);
			trials += over > 0 && over < n;
		}
	}
	return fmax(scatter_allows(&within, trials), scatter_allows(&about, 2));
}

struct grid {
	double from, step; /* rates, of equal ratio */
	unsigned count;
	double likelihood[CURVE_RATES];
	unsigned best;
	double slope; /* at the best */
};

static double
grid_rate(const struct grid *g, unsigned i)
{
	return g->from * exp(i * g->step);
}

static void
grid_fill(struct grid *g, const struct curve *c, unsigned count)
{
	double slope = 1;

	g->count = count;
	g->from = c->s->tried[c->from].rate_per_s / 2;
	g->step = log(4 * c->s->tried[c->to - 1].rate_per_s /
		      c->s->tried[c->from].rate_per_s) /
		  (count - 1);
	for (unsigned i = 0; i < count; i++) {
		g->likelihood[i] = profile(c, grid_rate(g, i), &slope);
		if (i == 0 || g->likelihood[i] > g->likelihood[g->best]) {
			g->best = i;
			g->slope = slope;
		}
	}
}

/* Find the interval of the rate at which the curve has the limit's share; low
 * or high is 0 where the trials give no bound.  Returns the best rate. */
static double
curve_interval(struct curve *c, double *low, double *high)
{
	struct grid g = {.best = 0};
	unsigned first = 0, last;

	c->from = 0;
	c->to = c->s->count;
	for (size_t i = 0; i < c->to; i++)
		c->full |= c->s->tried[i].full > 0 &&
			   rate_keeps(c->s, &c->s->tried[i]);
	grid_fill(&g, c, CURVE_RATES / 4);
	for (int i = 0; i < 2; i++) {
		curve_choose(c, grid_rate(&g, g.best), g.slope);
		grid_fill(&g, c, i == 0 ? CURVE_RATES / 4 : CURVE_RATES);
	}
	double at = grid_rate(&g, g.best);
	double enough = g.likelihood[g.best] - allowance(c, at, g.slope);
	last = g.count - 1;
	while (g.likelihood[first] < enough)
		first++;
	while (g.likelihood[last] < enough)
		last--;
	*low = first == 0 ? 0 : grid_rate(&g, first - 1);
	*high = last == g.count - 1 ? 0 : grid_rate(&g, last + 1);
	return at;
}

/* --- the search ----------------------------------------------------------- */

/* Find the result among the rates that were tried, below the curve's. */
static void
result_below(const struct rate_search *s, double at, struct rate_found *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct tried_rate *t = &s->tried[i];
		if (exceeds(s, t)) {
			out->over = t;
			return;
		}
		if (t->full > 0 && rate_keeps(s, t) && t->rate_per_s <= at)
			out->rate = t;
	}
}

void
rate_search_result(const struct rate_search *s, struct rate_found *out)
{
	struct curve most = {.s = s}, least = {.s = s, .least = true};
	double limit = 1 - s->percent / 100, none, at = INFINITY;
	bool kept = false;

	*out = (struct rate_found){NULL, NULL, 0, 0};
	result_below(s, at, out);
	for (size_t i = 0; i < s->count; i++)
		kept |= rate_keeps(s, &s->tried[i]);
	if (out->over == NULL || out->over->requests == 0 || !kept)
		return;
	most.odds = least.odds = log(limit / (1 - limit));
	at = curve_interval(&most, &out->low_per_s, &none);
	(void)curve_interval(&least, &none, &out->high_per_s);
	out->rate = NULL;
	result_below(s, at, out);
}

/* Keep a rate within the bounds, and make it one that was tried if it is as
 * good as that. */
static enum search_step
choose(const struct rate_search *s, double rate_per_s, enum search_step step,
    double *out)
{
	*out = fmin(fmax(rate_per_s, s->lowest_per_s), s->highest_per_s);
	for (size_t i = 0; i < s->count; i++) {
		double ratio = s->tried[i].rate_per_s / *out;
		if (ratio < SAME && ratio > 1 / SAME)
			*out = s->tried[i].rate_per_s;
	}
	return step;
}

/* Try a rate in full, unless that was done often enough. */
static enum search_step
confirm(const struct rate_search *s, const struct tried_rate *t, double *out)
{
	return t->full < CONFIRM && t->late < LATE_MAX
		   ? choose(s, t->rate_per_s, SEARCH_TRY_FULL, out)
		   : SEARCH_DONE;
}

enum search_step
rate_search_next(const struct rate_search *s, bool last, double *rate_per_s)
{
	/* Where in the interval: both sides of the middle show the slope. */
	static const double places[] = {0.5, 0.3, 0.7};
	const struct tried_rate *bottom = &s->tried[0], *top;
	struct rate_found f;
	bool kept = false;

	if (s->count == 0)
		return choose(s, s->start_per_s, SEARCH_TRY_SHORT, rate_per_s);
	top = &s->tried[s->count - 1];
	for (const struct tried_rate *t = bottom; t <= top; t++) {
		if (t->requests == 0 && t->late < LATE_MAX)
			return choose(
			    s, t->rate_per_s, SEARCH_TRY_SHORT, rate_per_s);
		kept |= rate_keeps(s, t);
	}
	if (s->count == SEARCH_RATES_MAX)
		return SEARCH_DONE;
	rate_search_result(s, &f);
	if (f.over == NULL)
		return top->rate_per_s < s->highest_per_s
			   ? choose(s, top->rate_per_s * 2, SEARCH_TRY_SHORT,
				 rate_per_s)
			   : confirm(s, top, rate_per_s);
	if (!kept)
		return bottom->rate_per_s > s->lowest_per_s
			   ? choose(s, bottom->rate_per_s / 2, SEARCH_TRY_SHORT,
				 rate_per_s)
		       : bottom->full > 0 ? SEARCH_DONE
					  : confirm(s, bottom, rate_per_s);
	double low = fmax(f.low_per_s, bottom->rate_per_s);
	double high = f.high_per_s > 0 ? f.high_per_s : top->rate_per_s * 1.5;
	if (f.over->requests == 0)
		high = fmin(high, f.over->rate_per_s);
	if (!last && high / low > RESOLUTION)
		return choose(s, low * pow(high / low, places[s->trials % 3]),
		    SEARCH_TRY_FULL, rate_per_s);
	if (f.rate != NULL && f.rate->rate_per_s * SAME >= low)
		return confirm(s, f.rate, rate_per_s);
	/* Below all that did not keep the limit, as what is found must. */
	for (const struct tried_rate *t = top; t >= bottom; t--) {
		if (!rate_keeps(s, t) && t->rate_per_s <= low * SAME)
			low = t->rate_per_s * 0.97;
	}
	if (f.rate != NULL && f.rate->rate_per_s * SAME >= low)
		return confirm(s, f.rate, rate_per_s);
	return choose(s, low, SEARCH_TRY_FULL, rate_per_s);
}
