/* verdict.h: whether the reported figures can be trusted.
 *
 * A late request does not spoil the run, only the figures that it changes.
 * Reported latency percentiles include the lag of the requests, so they are the
 * most that a punctual generator would report; the same percentiles of
 * sample_least_ns() are the least.  Both bounds hold for each request
 * (samples_bound()) and therefore for percentiles and their medians: raising
 * every value raises every order statistic.  The trust in a figure:
 *
 *   good      the bounds differ by less than 50 us or 5 % of the figure
 *   within    they differ by more, but by at most half of the reported figure
 *   doubtful  more than half of the reported figure may be the generator's
 *             lateness
 *
 * The verdict on the run is good if all figures are good; approximate if none
 * is doubtful; bad (do not use the run) if the median over iterations of p99 or
 * of a lower percentile is doubtful; else doubtful.  The lag of a request
 * includes its wait for a connection.  Failed requests have no latency and so
 * are in no figure, nor are requests that an interruption left unsent or
 * without a response.  Two more verdicts:
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
	VERDICT_APPROXIMATE,
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
	bool pooled;	/* true: of all requests; else median of iterations */
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
	double cpu_pct; /* share of a CPU that the sender used */
	long involuntary_switches;
};

/* Judge a finished summary. */
void verdict_reach(struct verdict *v, struct summary *s);

/* Names in every output, by enum verdict_level and by enum trust. */
extern const char *const verdict_names[];
extern const char *const trust_names[];

/* Return the trust in a figure with these bounds. */
enum trust trust_of(int64_t least_ns, int64_t reported_ns);

/* Write "p99.9" or "max"; returns out. */
const char *figure_name(double percent, char out[PERCENTILE_KEY_MAX]);

/* Return the reasons why figures are not good, one per call: "p99.9 within
 * 1.20ms - 1.50ms (of all)"; then NULL.  *at is 0 at first. */
const char *verdict_reason(const struct verdict *v, const struct percentiles *p,
    unsigned *at, char text[FIGURE_TEXT_MAX]);

/* Return the least trusted of the figures of one percentile, or NULL. */
const struct figure *verdict_find(const struct verdict *v, double percent);
