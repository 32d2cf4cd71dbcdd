/* summary.h: what the samples say, per iteration and for the whole run.
 *
 * The public interface of stats/, which judges: summaries of samples
 * (summary.h), the generator (verdict.h), causes (findings.h), and two targets
 * (compare.h).  It sends nothing and reads no clock.  experiment.c calls it;
 * report/ prints what it says.
 *
 * Failed requests are counted by kind and are in no distribution: a failure has
 * no latency, nor a bound of one.  Distributions are exact, from sorted
 * samples.  What is compared across iterations is a statistic of each complete
 * iteration (its p99, say): the median of those and its order-statistic
 * interval.  Pooled figures take all requests as one sample; they are
 * secondary, as requests that meet the same stall are not independent.
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
	bool partial; /* interrupted: in no median */
	size_t sent;
	size_t outcomes[OUTCOME_COUNT];
	size_t errors; /* sum of those that are errors */
	size_t warmup_errors;
	uint32_t status[STATUS_CODES];
	uint32_t failed_status[STATUS_CODES]; /* of OUTCOME_STATUS */
	double rate_per_s; /* at which they were really sent */
	size_t max_in_flight;
	size_t new_connections; /* requests that needed one */
	uint32_t unsolicited;
	bool clock_stepped; /* no kernel stamps */
	struct latency_summary series[SERIES_COUNT];
	size_t lag_over_1ms;
	size_t waited; /* for a connection */
	int64_t waited_max_ns;
	struct slow_list slow;
	struct hiccups hiccups;
	int64_t cpu_ns;
	int64_t wall_ns;
	long involuntary_switches;
};

/* A statistic of each complete iteration, seen across iterations. */
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
	size_t complete; /* of those, not partial */
	struct sample_series pool[SERIES_COUNT];
	struct latency_summary pooled[SERIES_COUNT];
	size_t sent;
	size_t outcomes[OUTCOME_COUNT];
	size_t errors;
	size_t warmup_errors;
	uint32_t failed_status[STATUS_CODES]; /* of OUTCOME_STATUS */
	/* Of those whose kind a system call decided. */
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

/* After the last iteration: compute what is pooled.  Call once. */
void summary_finish(struct summary *s);

/* The median over complete iterations of one statistic of one series; percent
 * is that of STATISTIC_PERCENTILE and must be one the run reports. */
struct median summary_median(struct summary *s, enum expectation_series series,
    enum expectation_statistic statistic, double percent);

/* The median over iterations of latency p99 minus the server's p99. */
struct median summary_gap_at_p99(struct summary *s);

/* The pooled latency p99 if every failed request counted as slower than any
 * other.  Returns false if it would lie among the failed. */
bool summary_p99_with_errors(const struct summary *s, int64_t *out_ns);

/* The value an expectation is about, in the unit of its limit.  Returns false
 * if it was not measured. */
bool
summary_actual(struct summary *s, const struct expectation *e, double *out);
