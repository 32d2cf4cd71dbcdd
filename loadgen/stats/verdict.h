/*
 * verdict.h: whether the generator was good enough for its results to count.
 *
 *   good      lag p99 below 50 us or 2 % of the latency p99 (the larger), and
 *             none of the slowest 1 % owes a tenth of its latency to lag
 *   bad       a request listed as slow is mostly lag, or more than 0.1 % of
 *             all were sent over 1 ms late: results must not be used
 *   doubtful  all else, among it: a request waited for a connection, or the
 *             gaps as sent are further from exponential than chance allows
 *             while the gaps as planned are not
 *   closed    a closed loop has no schedule to be late for; its latencies
 *             leave out what an independent user would have waited
 *
 * Arrivals count against the generator only if sending changed them: one
 * schedule in twenty fails a 5 % test by itself.
 */
#ifndef TAILOR_LOADGEN_STATS_VERDICT_H
#define TAILOR_LOADGEN_STATS_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "loadgen/stats/summary.h"

#define VERDICT_REASONS_MAX 6
#define VERDICT_REASON_MAX 120

enum verdict_level {
	VERDICT_GOOD,
	VERDICT_DOUBTFUL,
	VERDICT_BAD,
	VERDICT_CLOSED,
};

struct verdict {
	enum verdict_level level;
	unsigned reason_count;
	char reasons[VERDICT_REASONS_MAX][VERDICT_REASON_MAX];
	size_t over_1ms;
	size_t waited;
	size_t tested;	  /* iterations whose arrivals were tested */
	size_t distorted; /* of those, changed by the sender */
	double ks_worst;
	struct hiccups hiccups;
	double cpu_pct; /* of one CPU, by the sender while it ran */
	long involuntary_switches;
};

/* Judge a finished summary. */
void verdict_reach(struct verdict *v, const struct summary *s);

/* "good", "doubtful", "bad", "closed". */
const char *verdict_name(enum verdict_level level);

#endif
