/* service.h: a simulated server for tests of the search for a rate: one worker
 * that serves in order, with known service times, and pauses. */
#pragma once

#include "loadgen/stats/rate_search.h"

struct service {
	double mean_s;	      /* of service times */
	bool exponential;     /* else all are equal */
	double pause_every_s; /* 0: never */
	double pause_s;
	double noise; /* each trial is up to so much faster or slower */
	int64_t limit_ns;
	double most_per_s; /* that the generator can offer; 0: any */
	uint64_t seed;	   /* of the next trial */
};

/* Send requests at a rate for a time, after a fifth of it as a warm-up. */
void service_try(
    struct service *s, double rate_per_s, double seconds, struct rate_trial *t);

/* The rate at which the percentile of many trials is exactly the limit. */
double service_truth(const struct service *s, double percent, double seconds);

/* Search as find does.
 *   short_s, budget_s  of simulated time
 * Returns the number of trials. */
unsigned service_search(struct service *s, struct rate_search *search,
    double short_s, double budget_s);
