/* budget.h: how much CPU time the analysis of slow requests may take.
 *
 * Credit grows with time and is spent by tales that no client asked for.  While
 * there is enough, each slow request has its tale.  When a service is in
 * trouble all its requests are slow: then each second has a share of them, of
 * the size that the credit pays for, and each request of that second is in it
 * with the same chance.  The chance is decided by the request's number, so it
 * depends on nothing that the request did.
 *
 * Pure: values in, a decision out.  One thread. */
#pragma once

#include "base/instant.h"

#define BUDGET_BURST_NS (10 * NS_PER_S) /* credit grows for so long at most */
#define BUDGET_PERIOD_NS NS_PER_S	/* of one chance */

struct analysis_budget {
	double cpu;	  /* of one CPU; 1: without limit */
	double credit_ns; /* CPU time; < 0: more was spent than there was */
	double cost_ns;	  /* of a tale, on the average of late */
	double chance;	  /* of a slow request in this period */
	uint64_t offered; /* slow requests in this period */
	struct instant at, period;
};

/* 0 <= cpu <= 1.  Begins with half of the most credit there can be. */
void budget_init(struct analysis_budget *b, double cpu, struct instant now);

/* Change the limit: 0 <= cpu <= 1. */
void budget_set(struct analysis_budget *b, double cpu);

/* Decide whether the tale of a slow request is made.
 *   slowest  it is among the slowest of its window: left out only if the credit
 *            is as far below zero as it can be above */
bool budget_take(
    struct analysis_budget *b, uint64_t id, bool slowest, struct instant now);

/* Take the CPU time of a tale, ns, off the credit. */
void budget_spend(struct analysis_budget *b, int64_t cpu_ns);
