#include "loadgen/stats/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/quantity.h"

#define FINE_NS (50 * NS_PER_US)
#define FINE_SHARE 20 /* 5 % */

const char *const verdict_names[] = {
    [VERDICT_GOOD] = "good",
    [VERDICT_APPROXIMATE] = "approximate",
    [VERDICT_DOUBTFUL] = "doubtful",
    [VERDICT_BAD] = "bad",
    [VERDICT_CLOSED] = "closed",
    [VERDICT_NONE] = "none",
};

const char *const trust_names[] = {
    [TRUST_GOOD] = "good",
    [TRUST_WITHIN] = "within",
    [TRUST_DOUBTFUL] = "doubtful",
};

enum trust
trust_of(int64_t least_ns, int64_t reported_ns)
{
	int64_t apart_ns = reported_ns - least_ns;

	if (apart_ns < FINE_NS || apart_ns * FINE_SHARE < reported_ns)
		return TRUST_GOOD;
	return apart_ns <= reported_ns / 2 ? TRUST_WITHIN : TRUST_DOUBTFUL;
}

const char *
figure_name(double percent, char out[PERCENTILE_KEY_MAX])
{
	if (percent >= 100)
		snprintf(out, PERCENTILE_KEY_MAX, "max");
	else
		snprintf(out, PERCENTILE_KEY_MAX, "p%.9g", percent);
	return out;
}

static const char *
figure_format(const struct figure *f, char out[FIGURE_TEXT_MAX])
{
	char name[PERCENTILE_KEY_MAX], t[2][QUANTITY_TEXT_MAX];

	snprintf(out, FIGURE_TEXT_MAX, "%s %s %s - %s%s",
	    figure_name(f->percent, name), trust_names[f->trust],
	    quantity_format_ns(f->least_ns, t[0]),
	    quantity_format_ns(f->reported_ns, t[1]),
	    f->pooled ? " (of all)" : " (median)");
	return out;
}

const struct figure *
verdict_find(const struct verdict *v, double percent)
{
	const struct figure *worst = NULL;

	for (unsigned i = 0; i < v->figure_count; i++) {
		const struct figure *f = &v->figures[i];
		/* Both are from the same list of percentiles. */
		if (f->percent < percent || f->percent > percent)
			continue;
		if (worst == NULL || f->trust > worst->trust)
			worst = f;
	}
	return worst;
}

const char *
verdict_reason(const struct verdict *v, const struct percentiles *p,
    unsigned *at, char text[FIGURE_TEXT_MAX])
{
	if (v->level == VERDICT_CLOSED || v->level == VERDICT_NONE) {
		if ((*at)++ > 0)
			return NULL;
		return v->level == VERDICT_CLOSED ? VERDICT_CLOSED_WHY
						  : VERDICT_NONE_WHY;
	}
	while (*at <= p->count) {
		unsigned i = (*at)++;
		const struct figure *f =
		    verdict_find(v, i < p->count ? p->at[i] : 100);
		if (f != NULL && f->trust != TRUST_GOOD)
			return figure_format(f, text);
	}
	return NULL;
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void
collect(struct verdict *v, const struct summary *s)
{
	int64_t cpu_ns = 0;
	int64_t wall_ns = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct iteration_summary *sum = &s->iterations[i];
		v->over_1ms += sum->lag_over_1ms;
		v->waited += sum->waited;
		v->hiccups.spin_max_ns =
		    larger(v->hiccups.spin_max_ns, sum->hiccups.spin_max_ns);
		v->hiccups.pause_max_ns =
		    larger(v->hiccups.pause_max_ns, sum->hiccups.pause_max_ns);
		v->involuntary_switches += sum->involuntary_switches;
		cpu_ns += sum->cpu_ns;
		wall_ns += sum->wall_ns;
	}
	if (wall_ns > 0)
		v->cpu_pct = 100 * (double)cpu_ns / (double)wall_ns;
}

static void
judge(struct verdict *v, double percent, bool pooled, int64_t least_ns,
    int64_t reported_ns)
{
	struct figure *f = &v->figures[v->figure_count++];

	*f = (struct figure){.percent = percent,
	    .pooled = pooled,
	    .least_ns = least_ns,
	    .reported_ns = reported_ns,
	    .trust = trust_of(least_ns, reported_ns)};
	if (f->trust == TRUST_WITHIN && v->level < VERDICT_APPROXIMATE)
		v->level = VERDICT_APPROXIMATE;
	if (f->trust == TRUST_DOUBTFUL && v->level < VERDICT_DOUBTFUL)
		v->level = VERDICT_DOUBTFUL;
	if (f->trust == TRUST_DOUBTFUL && percent <= 99 && !pooled)
		v->level = VERDICT_BAD;
}

static void
judge_median(struct verdict *v, struct summary *s,
    enum expectation_statistic statistic, double percent)
{
	struct median least =
	    summary_median(s, SERIES_LEAST, statistic, percent);
	struct median most =
	    summary_median(s, SERIES_LATENCY, statistic, percent);

	if (most.count > 0)
		judge(v, percent, false, least.median_ns, most.median_ns);
}

void
verdict_reach(struct verdict *v, struct summary *s)
{
	const struct percentiles *p = &s->criteria->percentiles;
	const struct latency_summary *least = &s->pooled[SERIES_LEAST];
	const struct latency_summary *most = &s->pooled[SERIES_LATENCY];

	memset(v, 0, sizeof(*v));
	collect(v, s);
	if (most->count == 0) {
		v->level = VERDICT_NONE;
		return;
	}
	if (s->plan->arrivals == ARRIVALS_CLOSED) {
		v->level = VERDICT_CLOSED;
		return;
	}
	for (unsigned i = 0; i < p->count; i++) {
		judge(v, p->at[i], true, least->at_ns[i], most->at_ns[i]);
		judge_median(v, s, STATISTIC_PERCENTILE, p->at[i]);
	}
	judge(v, 100, true, least->max_ns, most->max_ns);
	judge_median(v, s, STATISTIC_MAX, 100);
}
