/* summary_run.c: statistics across iterations; see summary.h. */
#include "loadgen/stats/summary.h"

#include <math.h>

#include "base/array.h"

/* Return a statistic of a distribution that has samples. */
static int64_t
statistic_of(const struct latency_summary *d, const struct percentiles *p,
    enum expectation_statistic statistic, double percent)
{
	if (statistic == STATISTIC_PERCENTILE)
		return d->at_ns[percentiles_index(p, percent)];
	if (statistic == STATISTIC_MEAN)
		return d->mean_ns;
	return statistic == STATISTIC_MIN ? d->min_ns : d->max_ns;
}

/* The median of n values, sorted in place. */
static struct median
median_of(int64_t *values, size_t n)
{
	struct median m = {.count = n};

	if (n == 0)
		return m;
	array_sort_int64(values, n);
	m.median_ns = quantile_sorted(values, n, 50);
	m.largest_ns = values[n - 1];
	m.bounded = rank_interval(n, 50, INTERVAL_LEVEL, &m.ranks);
	if (m.bounded) {
		m.low_ns = values[m.ranks.low - 1];
		m.high_ns = values[m.ranks.high - 1];
	}
	return m;
}

struct median
summary_median(struct summary *s, enum expectation_series series,
    enum expectation_statistic statistic, double percent)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct iteration_summary *sum = &s->iterations[i];
		const struct latency_summary *d = &sum->series[series];
		if (sum->partial || d->count == 0)
			continue;
		s->scratch[n++] = statistic_of(
		    d, &s->criteria->percentiles, statistic, percent);
	}
	return median_of(s->scratch, n);
}

struct median
summary_gap_at_p99(struct summary *s)
{
	unsigned p99 = percentiles_index(&s->criteria->percentiles, 99);
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct iteration_summary *sum = &s->iterations[i];
		const struct latency_summary *server =
		    &sum->series[SERIES_SERVER];
		if (sum->partial || server->count == 0)
			continue;
		s->scratch[n++] =
		    sum->series[SERIES_LATENCY].at_ns[p99] - server->at_ns[p99];
	}
	return median_of(s->scratch, n);
}

bool
summary_p99_with_errors(const struct summary *s, int64_t *out_ns)
{
	const struct sample_series *latency = &s->pool[SERIES_LATENCY];
	size_t n = latency->count + s->errors;

	if (n == 0)
		return false;
	size_t rank = quantile_rank(99, n);
	if (rank > latency->count)
		return false;
	*out_ns = latency->values[rank - 1];
	return true;
}

/* The median rate, in thousandths, of complete iterations. */
static bool
median_rate(struct summary *s, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct iteration_summary *sum = &s->iterations[i];
		if (!sum->partial && sum->rate_per_s > 0)
			s->scratch[n++] = llround(sum->rate_per_s * 1e3);
	}
	struct median m = median_of(s->scratch, n);
	*out = (double)m.median_ns / 1e3;
	return m.count > 0;
}

static bool
latency_actual(struct summary *s, const struct expectation *e, double *out)
{
	const struct latency_summary *all = &s->pooled[e->series];
	bool extreme =
	    e->statistic == STATISTIC_MIN || e->statistic == STATISTIC_MAX;

	if (e->scope == SCOPE_POOLED ||
	    (e->scope == SCOPE_DEFAULT && extreme)) {
		if (all->count == 0)
			return false;
		*out = (double)statistic_of(
		    all, &s->criteria->percentiles, e->statistic, e->percent);
		return true;
	}
	struct median m =
	    summary_median(s, e->series, e->statistic, e->percent);
	*out = (double)(e->scope == SCOPE_WORST ? m.largest_ns : m.median_ns);
	return m.count > 0;
}

bool
summary_actual(struct summary *s, const struct expectation *e, double *out)
{
	if (statistic_is_time(e->statistic))
		return latency_actual(s, e, out);
	if (e->statistic == STATISTIC_RATE)
		return median_rate(s, out);
	*out = (double)s->errors;
	if (e->statistic == STATISTIC_ERRORS_PERCENT)
		*out *= 100 / fmax((double)s->sent, 1);
	return s->sent > 0;
}
