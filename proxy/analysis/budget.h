/* budget.h: how much CPU time the analysis of slow requests may take.
 *
 * Credit grows with time and is spent by tales that no client asked for.  While
 * there is enough, each slow request has its tale.  When all requests of a
 * service are slow, only a share of each second's requests has tales: as many
 * as the credit pays for.  Each request of that second has the same chance,
 * which is decided by the request's number and so depends on nothing that the
 * request did.
 *
 * Pure: values in, a decision out.  One thread. */
#pragma once

#include "base/instant.h"

#define BUDGET_BURST_NS (10 * NS_PER_S) /* credit of this time at most */
#define BUDGET_PERIOD_NS NS_PER_S	/* the chance changes so often */
#define BUDGET_FIRST 32			/* slow requests that cost nothing */

struct analysis_budget {
	double cpu;	  /* share of one CPU; 1: without limit */
	double credit_ns; /* CPU time; < 0: overspent */
	double cost_ns;	  /* of a tale, moving average */
	double chance;	  /* of a slow request in this period */
	uint64_t offered; /* requests in this period */
	unsigned first;	  /* of BUDGET_FIRST, so many are taken */
	bool given;	  /* the latest request is one of them */
	struct instant at, period;
};

/* Begin with half of the largest credit.  0 <= cpu <= 1. */
void budget_init(struct analysis_budget *b, double cpu, struct instant now);

/* Change the limit: 0 <= cpu <= 1. */
void budget_set(struct analysis_budget *b, double cpu);

/* Return true if the tale of a slow request is to be made.
 *   slowest  the request is among the slowest of its window: it is left out
 *            only if the credit is below minus the largest credit */
bool budget_take(
    struct analysis_budget *b, uint64_t id, bool slowest, struct instant now);

/* Return true for the first slow requests after a start, unless the limit is 0:
 * budget_spend then takes nothing off.  They are few, and the tables of symbols
 * that the first of them needs would use up the credit. */
bool budget_give(struct analysis_budget *b);

/* Take the CPU time of the latest tale, ns, off the credit. */
void budget_spend(struct analysis_budget *b, int64_t cpu_ns);
