/* criteria.h: options of a run's statistics: percentiles, the number of slow
 * requests, expectations (--fail). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The percentiles that a run reports: a short list, ascending, without
 * repetition.  50 and 99, which the table shows, are always in the list. */
#define PERCENTILES_MAX 16
#define PERCENTILE_KEY_MAX 24

struct percentiles {
	unsigned count;
	double at[PERCENTILES_MAX];
};

/* Add a percentile.  Returns 0, -EINVAL (not above 0 and below 100; or below 10
 * with a fraction, which makes its key ambiguous) or -ENOSPC. */
int percentiles_add(struct percentiles *p, double percent);

/* Read "50,90,99.9", adding each.  Returns 0, -EINVAL or -ENOSPC. */
int percentiles_parse(struct percentiles *p, const char *text);

/* Return the index of percent in the list, which must contain it. */
unsigned percentiles_index(const struct percentiles *p, double percent);

/* Write the key of a percentile, 99.9 -> "p999"; returns out. */
const char *percentile_key(double percent, char out[PERCENTILE_KEY_MAX]);

/* The text of a --fail expression, parsed.
 *
 *   expression = [ scope "." ] [ series "." ] statistic op value
 *              | "errors" op ( count | percent "%" )
 *              | "rate" op number
 *   scope      = "worst" | "pooled"          (default: see below)
 *   series     = "latency" | "least" | "service" | "server" | "gap"
 *              | "lag" | "send" | "receive"
 *   statistic  = "p" percent | "mean" | "min" | "max"
 *   op         = "<" | "<=" | ">" | ">="
 *
 * Without a scope a percentile or mean is the median over iterations, min and
 * max are the extreme of the whole run.  "worst" is the largest over the
 * iterations, "pooled" takes all requests as one sample.  The expression
 * states what must hold; it is evaluated in summary.h. */
enum expectation_scope {
	SCOPE_DEFAULT,
	SCOPE_WORST,
	SCOPE_POOLED,
};

enum expectation_series {
	SERIES_LATENCY,
	SERIES_LEAST, /* latency minus the most that lag may have added */
	SERIES_SERVICE,
	SERIES_SERVER,
	SERIES_GAP,
	SERIES_LAG,
	SERIES_SEND,	/* first system call -> handed to the device */
	SERIES_RECEIVE, /* arrived in the kernel -> read */
};
#define SERIES_COUNT 8

enum expectation_statistic {
	STATISTIC_PERCENTILE,
	STATISTIC_MEAN,
	STATISTIC_MIN,
	STATISTIC_MAX,
	STATISTIC_ERRORS,	  /* number of failed requests */
	STATISTIC_ERRORS_PERCENT, /* of the requests sent */
	STATISTIC_RATE,		  /* per second, median over iterations */
};

/* True if values of the statistic are durations, in ns. */
static inline bool
statistic_is_time(enum expectation_statistic statistic)
{
	return statistic <= STATISTIC_MAX;
}

enum expectation_op {
	OP_LESS,
	OP_LESS_EQUAL,
	OP_GREATER,
	OP_GREATER_EQUAL,
};

struct expectation {
	const char *text; /* borrowed from the command line */
	enum expectation_scope scope;
	enum expectation_series series;
	enum expectation_statistic statistic;
	double percent; /* of STATISTIC_PERCENTILE */
	enum expectation_op op;
	double limit; /* ns, count, percent or per second */
};

/* Parse text, which must outlive e.  Returns 0 or -EINVAL.  Allocates
 * nothing. */
int expectation_parse(struct expectation *e, const char *text);

/* True if actual, in the unit of the limit, meets the expectation. */
bool expectation_holds(const struct expectation *e, double actual);

/* Return a series' name, "latency", "service", ..., also its key in
 * run.json. */
const char *expectation_series_name(enum expectation_series series);

#define CRITERIA_FAILS_MAX 32
#define CRITERIA_SLOW_MAX 1000

struct criteria {
	struct percentiles percentiles;
	struct expectation fails[CRITERIA_FAILS_MAX];
	unsigned fail_count;
	uint64_t slow; /* slow requests listed and analyzed per iteration */
};
