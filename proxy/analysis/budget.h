/* budget.h: how much CPU time the analysis of requests may take.
 *
 * Credit grows with time and is spent by tales and accounts that no client
 * asked for.  While there is enough, each request offered is examined.
 * Otherwise only a share of each second's requests is, as many as the credit
 * pays for.  Each kind of request has a part of the credit for itself; what it
 * does not need goes to the other kinds, to the slow ones first.  The requests
 * of a kind in a second have the same chance, which is decided by the request's
 * number and so depends on nothing that the request did.
 *
 * Pure: values in, a decision out.  One thread. */
#pragma once

#include <stdint.h>

#include "base/instant.h"

#define BUDGET_BURST_NS (10 * NS_PER_S) /* credit of this time at most */
#define BUDGET_PERIOD_NS NS_PER_S	/* the chances change so often */
#define BUDGET_FIRST 32			/* slow requests that cost nothing */

enum budget_kind {
	BUDGET_OTHER, /* a quarter of the credit: to compare with */
	BUDGET_TAIL,  /* a quarter */
	BUDGET_SLOW,  /* half of it */
	BUDGET_KINDS
};

struct analysis_budget {
	double cpu;			/* share of one CPU; 1: without limit */
	double credit_ns;		/* CPU time; < 0: overspent */
	double cost_ns;			/* of a request, moving average */
	double chance[BUDGET_KINDS];	/* of a request in this period */
	uint64_t offered[BUDGET_KINDS]; /* requests in this period */
	unsigned first;			/* of BUDGET_FIRST, so many are taken */
	bool given;			/* the latest request is one of them */
	struct instant at, period;
};

/* Begin with half of the largest credit.  0 <= cpu <= 1. */
void budget_init(struct analysis_budget *b, double cpu, struct instant now);

/* Change the limit: 0 <= cpu <= 1. */
void budget_set(struct analysis_budget *b, double cpu);

/* Return true if a request is to be examined.
 *   slowest  the request is among the slowest of its window: it is left out
 *            only if the credit is below minus the largest credit */
bool budget_take(struct analysis_budget *b, enum budget_kind kind, uint64_t id,
    bool slowest, struct instant now);

/* Return true for the first slow requests after a start, unless the limit is 0:
 * budget_spend then takes nothing off.  They are few, and the tables of symbols
 * that the first of them needs would use up the credit. */
bool budget_give(struct analysis_budget *b);

/* Take the CPU time of the latest request examined, ns, off the credit. */
void budget_spend(struct analysis_budget *b, int64_t cpu_ns);
