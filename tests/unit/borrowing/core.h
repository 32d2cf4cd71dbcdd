/* core.h: cores of two lanes, one for requests and one for batch work, under
 * the product's policies.
 *
 * Poisson arrivals wait in one queue for the first free request lane.  Demands
 * are lognormal, cut, with a given mean.  While both lanes of a core work each
 * goes on slower by a constant factor, known or not.  Simulated exactly, event
 * by event, with times in ns.
 *
 * The thesis's search service (5.2) as far as its figures show it: mean 5.9 ms,
 * sigma 0.9, cut at 30 medians. */
#pragma once

#include "borrowing/lane.h"

#define CORE_NOBODY -1	   /* no batch work */
#define CORE_UNFETTERED -2 /* it always runs */

struct core_setup {
	int policy; /* enum borrowing_policy, or one of the above */
	unsigned cores;
	double rate_per_s, mean_ms, sigma, medians;
	double slowdown; /* of both lanes, >= 1 */
	double loss;	 /* what the policy believes; < 0: not known */
	double budget_ms;
	uint32_t requests;
	uint64_t seed;
	/* These requests, instead of drawn ones: arrival and demand, ms. */
	const double (*given)[2];
};

struct core_result {
	double p50_ms, p95_ms, p99_ms;
	/* In parts of the time, in the mean of the cores: request lanes, batch
	 * lanes, and what of these would have been done alone. */
	double request, batch, work;
	double late; /* part of the requests later than alone by > budget */
	double worst_ms, overlap_ms; /* latest; most overlap of a request */
	double short_gaps; /* part of idle time in gaps of at most 15 ms */
};

/* The thesis's service with a core and no batch work. */
struct core_setup core_usual(double rate_per_s);

/* Uses 32 bytes a request; ends the program if there is no memory. */
struct core_result core_run(const struct core_setup *setup);
