/* verdict.h: whether the reported figures can be trusted.
 *
 * Not whether the machine is perfect: a late request spoils only the figures
 * that it moves.  Each reported latency percentile has the lag of its requests
 * in it, so it is the most that a perfect generator would have reported; the
 * same percentile of sample_least_ns() is the least.  That holds for
 * percentiles because it holds for each request (samples_bound()): raising
 * every value raises every order statistic, and the median of those.
 *
 *   good      the two differ by less than 50 us or 5 % of the reported figure
 *   within    by more, but by no more than half of it: the figure lies between
 *   doubtful  more than half of it may be the generator's own lateness
 *
 * The verdict on the run is good if all figures are, bad (do not use it) if
 * the median over iterations of p99 or of a lower percentile is doubtful, else
 * doubtful.  A request that waited for a connection has that wait in its lag.
 * What has no latency is not judged: failed requests are in no figure, nor are
 * requests that an interruption left unsent or without a response.
 *
 *   closed    a closed loop has no schedule to be late for; its latencies
 *             leave out what an independent user would have waited
 *   none      no request succeeded, so there is no figure to judge */
#pragma once

#include "loadgen/stats/summary.h"

#define VERDICT_FIGURES_MAX (2 * (PERCENTILES_MAX + 1))
#define FIGURE_TEXT_MAX 96
#define VERDICT_CLOSED_WHY \
	"a closed loop leaves out what independent users would have waited"
#define VERDICT_NONE_WHY "no request succeeded"

enum verdict_level {
	VERDICT_GOOD,
	VERDICT_DOUBTFUL,
	VERDICT_BAD,
	VERDICT_CLOSED,
	VERDICT_NONE,
};

enum trust {
	TRUST_GOOD,
	TRUST_WITHIN,
	TRUST_DOUBTFUL,
};

/* A latency that is reported. */
struct figure {
	double percent; /* 100: the max */
	bool pooled;	/* of all requests; else the median over iterations */
	int64_t least_ns;
	int64_t reported_ns;
	enum trust trust;
};

struct verdict {
	enum verdict_level level;
	struct figure figures[VERDICT_FIGURES_MAX];
	unsigned figure_count; /* 0: none, or a closed loop */
	size_t over_1ms;
	size_t waited;
	struct hiccups hiccups;
	double cpu_pct; /* of one CPU, by the sender while it ran */
	long involuntary_switches;
};

/* Judge a finished summary. */
void verdict_reach(struct verdict *v, struct summary *s);

/* Names of verdicts and of trust in every output, by enum. */
extern const char *const verdict_names[];
extern const char *const trust_names[];

/* How far a figure between these two can be trusted. */
enum trust trust_of(int64_t least_ns, int64_t reported_ns);

/* "p99.9" or "max", in out. */
const char *figure_name(double percent, char out[PERCENTILE_KEY_MAX]);

/* Why figures are not good, one text at a time: "p99.9 within 1.20ms - 1.50ms".
 * NULL: no more.  *at is 0 at first. */
const char *verdict_reason(const struct verdict *v, const struct percentiles *p,
    unsigned *at, char text[FIGURE_TEXT_MAX]);

/* The least trusted of the figures of one percentile, or NULL. */
const struct figure *verdict_find(const struct verdict *v, double percent);
