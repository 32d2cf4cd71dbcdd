#include "loadgen/stats/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/send/quantity.h"

#define LAG_FINE_NS (50 * NS_PER_US)
#define KS_MOVED 0.01 /* at least 1 % of the gaps moved elsewhere */

const char *
verdict_name(enum verdict_level level)
{
	switch (level) {
	case VERDICT_GOOD:
		return "good";
	case VERDICT_DOUBTFUL:
		return "doubtful";
	case VERDICT_BAD:
		return "bad";
	case VERDICT_CLOSED:
		return "closed";
	}
	return "?";
}

static void because(struct verdict *v, enum verdict_level level,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
because(struct verdict *v, enum verdict_level level, const char *format, ...)
{
	va_list arguments;

	if (v->level < level)
		v->level = level;
	if (v->reason_count == VERDICT_REASONS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(v->reasons[v->reason_count++], VERDICT_REASON_MAX, format,
	    arguments);
	va_end(arguments);
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
		if (!sum->tested)
			continue;
		v->tested++;
		if (sum->ks > v->ks_worst)
			v->ks_worst = sum->ks;
		if (sum->ks > ks_critical_5pct(s->plan->requests) &&
		    sum->ks > sum->ks_schedule + KS_MOVED)
			v->distorted++;
	}
	if (wall_ns > 0)
		v->cpu_pct = 100 * (double)cpu_ns / (double)wall_ns;
}

static void
judge_lag(struct verdict *v, const struct summary *s)
{
	char a[QUANTITY_TEXT_MAX], b[QUANTITY_TEXT_MAX];
	unsigned p99 = percentiles_index(&s->criteria->percentiles, 99);
	const struct distribution *lag = &s->pooled[SERIES_LAG];
	const struct distribution *latency = &s->pooled[SERIES_LATENCY];
	int64_t limit_ns = LAG_FINE_NS;
	size_t tail_lagged = 0;

	if (latency->count > 0)
		limit_ns = larger(limit_ns, latency->at_ns[p99] / 50);
	if (lag->count > 0 && lag->at_ns[p99] >= limit_ns)
		because(v, VERDICT_DOUBTFUL,
		    "lag p99 is %s, should be below %s",
		    quantity_format_ns(lag->at_ns[p99], a),
		    quantity_format_ns(limit_ns, b));
	if (lag->count > 0 && v->over_1ms * 1000 > lag->count)
		because(v, VERDICT_BAD, "%zu of %zu were sent over 1 ms late",
		    v->over_1ms, lag->count);
	for (size_t i = 0; i < s->count; i++)
		tail_lagged += s->iterations[i].tail_lagged;
	if (tail_lagged > 0)
		because(v, VERDICT_DOUBTFUL,
		    "in %zu of the slowest 1 %% lag is over a tenth of the "
		    "latency",
		    tail_lagged);
}

/* No request that a person is sent to look at may be our own doing. */
static void
judge_slowest(struct verdict *v, const struct summary *s)
{
	size_t mostly_lag = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct slow_list *l = &s->iterations[i].slow;
		for (size_t k = 0; k < l->count; k++)
			mostly_lag +=
			    l->slowest[k].lag_ns > l->slowest[k].latency_ns / 2;
	}
	if (mostly_lag > 0)
		because(v, VERDICT_BAD,
		    "%zu listed slow requests are mostly lag", mostly_lag);
}

void
verdict_reach(struct verdict *v, const struct summary *s)
{
	memset(v, 0, sizeof(*v));
	collect(v, s);
	if (s->plan->arrivals == ARRIVALS_CLOSED) {
		because(v, VERDICT_CLOSED,
		    "a closed loop leaves out what independent users would "
		    "have waited");
		return;
	}
	judge_slowest(v, s);
	judge_lag(v, s);
	if (v->waited > 0)
		because(v, VERDICT_DOUBTFUL,
		    "%zu requests waited for a connection (raise "
		    "--max-connections)",
		    v->waited);
	if (v->distorted > 0)
		because(v, VERDICT_DOUBTFUL,
		    "sending distorted the arrivals of %zu iterations",
		    v->distorted);
}
