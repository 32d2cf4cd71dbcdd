/* summary.h: statistics of the samples, per iteration and for the whole run.
 *
 * The public interface of stats/, which evaluates a run: summaries of samples
 * (summary.h), the generator (verdict.h) and causes (findings.h).  The folder
 * sends nothing and reads no clock.  experiment.c calls it; report/ prints the
 * results.
 *
 * Failed requests are counted by kind and are in no distribution: a failure has
 * no latency, nor a bound on one.  Distributions are exact, from sorted
 * samples.  Figures of a run are medians over complete iterations of a
 * statistic (p99, say), with order-statistic intervals.  Pooled figures take
 * all requests as one sample; they are secondary, as requests that meet the
 * same stall are not independent.
 *
 * Keeps 64 bytes per successful request.  One thread. */
#pragma once

#include "loadgen/send/iteration.h"
#include "loadgen/stats/criteria.h"
#include "loadgen/stats/findings.h"
#include "loadgen/stats/statistics.h"

#define INTERVAL_LEVEL 0.95
#define STATUS_CODES 600

struct latency_summary {
	size_t count; /* 0: the rest means nothing */
	int64_t min_ns;
	int64_t max_ns;
	int64_t mean_ns;
	int64_t at_ns[PERCENTILES_MAX]; /* in the order of o->percentiles */
};

struct iteration_summary {
	unsigned index;
	uint64_t seed;
	bool partial; /* interrupted: excluded from medians */
	size_t sent;
	size_t outcomes[OUTCOME_COUNT];
	size_t errors; /* sum of the outcomes that are errors */
	size_t warmup_errors;
	uint32_t status[STATUS_CODES];
	uint32_t failed_status[STATUS_CODES]; /* of OUTCOME_STATUS */
	double rate_per_s;		      /* actual rate of sending */
	size_t max_in_flight;
	size_t new_connections; /* requests that opened one */
	uint32_t unsolicited;
	bool clock_stepped; /* true: kernel stamps were discarded */
	struct latency_summary series[SERIES_COUNT];
	size_t lag_over_1ms;
	size_t waited; /* requests that waited for a connection */
	int64_t waited_max_ns;
	struct slow_list slow;
	struct hiccups hiccups;
	int64_t cpu_ns;
	int64_t wall_ns;
	long involuntary_switches;
};

/* The median over complete iterations of a statistic. */
struct median {
	size_t count; /* iterations; 0: the rest means nothing */
	int64_t median_ns;
	int64_t largest_ns;
	bool bounded; /* there is an interval */
	struct rank_interval ranks;
	int64_t low_ns;
	int64_t high_ns;
};

struct sample_series {
	int64_t *values; /* owned */
	size_t count;
	size_t capacity;
};

struct summary {
	const struct plan *plan;	      /* borrowed */
	const struct criteria *criteria;      /* borrowed */
	struct iteration_summary *iterations; /* owned */
	size_t count;
	size_t complete; /* iterations that are not partial */
	struct sample_series pool[SERIES_COUNT];
	struct latency_summary pooled[SERIES_COUNT];
	size_t sent;
	size_t outcomes[OUTCOME_COUNT];
	size_t errors;
	size_t warmup_errors;
	uint32_t failed_status[STATUS_CODES]; /* of OUTCOME_STATUS */
	/* Failures by outcome and errno, if a system call failed. */
	uint32_t failed_errno[OUTCOME_COUNT][SAMPLE_ERRNOS];
	struct slow_list slow;
	int64_t *scratch; /* owned; a value per iteration */
};

/* Make room for the iterations of a plan; plan and criteria must outlive *s.
 * Returns 0 or -ENOMEM. */
int summary_open(struct summary *s, const struct plan *plan,
    const struct criteria *criteria);
void summary_close(struct summary *s);

/* Add a finished iteration; calls samples_bound() on its samples.  The caller
 * may reuse or free *it afterwards.  Returns 0 or -ENOMEM. */
int summary_add(struct summary *s, struct iteration *it);

/* Compute the pooled figures.  Call once, after the last iteration. */
void summary_finish(struct summary *s);

/* The median over complete iterations of one statistic of one series; percent
 * is for STATISTIC_PERCENTILE and must be one that the run reports. */
struct median summary_median(struct summary *s, enum expectation_series series,
    enum expectation_statistic statistic, double percent);

/* The median over iterations of latency p99 minus the server's p99. */
struct median summary_gap_at_p99(struct summary *s);

/* Compute the pooled latency p99, with failed requests counted as slower than
 * all others.  Returns false if p99 is then a failed request. */
bool summary_p99_with_errors(const struct summary *s, int64_t *out_ns);

/* Compute the value that an expectation compares, in the unit of its limit.
 * Returns false if the value was not measured. */
bool
summary_actual(struct summary *s, const struct expectation *e, double *out);
