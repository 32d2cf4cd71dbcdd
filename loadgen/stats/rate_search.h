/* rate_search.h: chooses the rates that `find` tries, and what they show.
 *
 * The rate that is looked for is the highest at which a percentile of latency
 * keeps a limit: at most a share of the requests, 1 % for p99, is slower or
 * fails.  A trial sends at one rate; its requests are cut into slices, and in
 * each those over the limit are counted.  If latency rose from slice to slice,
 * all count as over: a queue that grows passes any limit later.
 *
 * Short trials double the rate until one does not keep the limit.  Then a curve
 * is fitted: the log-odds of being over the limit grow with the logarithm of
 * the rate.  It goes through the limit's share at a rate whose 95 % interval is
 * that of the profile likelihood, divided by the dispersion: requests of one
 * slice meet the same pause or queue, and trials the same disturbance of the
 * machine, so counts vary more than those of independent requests.  Full trials
 * follow within that interval until it is small.  Only rates near the limit are
 * in the fit, since the curve holds for those only.
 *
 * The curve gives the interval, never the result: that is a rate which was
 * tried, and kept the limit.  A trial in which the generator itself was late
 * decides nothing.
 *
 * Pure: no clock, no socket, no allocation.
 * Source of the interval: P. McCullagh, J. A. Nelder, Generalized Linear
 * Models, 2nd ed., 4.5 and 7. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_RATES_MAX 64
#define SEARCH_SLICES 10    /* of a trial */
#define SEARCH_TRIALS_MAX 8 /* of one rate */
#define SEARCH_FULL 5	    /* a full trial is so many short ones long */

struct trial_slice {
	size_t requests;
	/* Over the limit, or failed: as measured, and if all that the
	 * generator's lateness may have added is left out. */
	size_t over_most;
	size_t over_least;
	int64_t median_ns;
};

struct rate_trial {
	double rate_per_s;
	bool full;
	bool late; /* the generator did not send at this rate */
	struct trial_slice slices[SEARCH_SLICES];
};

/* All trials of a rate. */
struct tried_rate {
	double rate_per_s;
	unsigned full; /* full trials */
	unsigned late; /* trials that decided nothing */
	bool rising;   /* latency rose to the end of a trial */
	size_t requests;
	size_t over_most;
	size_t over_least;
	unsigned slices;
	struct trial_slice slice[SEARCH_SLICES * SEARCH_TRIALS_MAX];
};

struct rate_search {
	double percent; /* 99: p99 */
	double lowest_per_s;
	double highest_per_s;
	double start_per_s;			   /* tried first */
	struct tried_rate tried[SEARCH_RATES_MAX]; /* by rate, ascending */
	size_t count;
	unsigned trials;
};

enum search_step {
	SEARCH_TRY_SHORT,
	SEARCH_TRY_FULL,
	SEARCH_DONE,
};

/* Choose the next trial.
 *   s           percent, bounds and start set by the caller, the rest zero at
 *               first
 *   last        there is time for three full trials at most: confirm a rate
 *   rate_per_s  receives the trial's rate, within the bounds
 * SEARCH_DONE: the interval is small, or there is nothing left to try.
 * O(rates x 10,000). */
enum search_step
rate_search_next(const struct rate_search *s, bool last, double *rate_per_s);

/* Add a trial that rate_search_next() chose. */
void rate_search_add(struct rate_search *s, const struct rate_trial *trial);

/* Return whether the percentile of all requests sent at the rate, failures the
 * slowest, kept the limit. */
bool rate_keeps(const struct rate_search *s, const struct tried_rate *t);

/* The outcome of a search. */
struct rate_found {
	/* The result, borrowed from the search: the highest rate tried in full
	 * that kept the limit, below the fitted one and all that did not;
	 * NULL: none. */
	const struct tried_rate *rate;
	/* Borrowed: the lowest rate that did not keep it; NULL: none.  Its
	 * requests are 0 if the generator was late in all of its trials. */
	const struct tried_rate *over;
	double low_per_s;  /* 95 % interval; 0: no bound */
	double high_per_s; /* likewise */
};

/* Fill in *out from the trials so far; it borrows from *s.  O(rates x
 * 10,000). */
void rate_search_result(const struct rate_search *s, struct rate_found *out);
