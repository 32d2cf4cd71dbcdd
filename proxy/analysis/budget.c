/* budget.c: credit, and the chances of requests. */
#include "proxy/analysis/budget.h"

#include <math.h>

#include "base/random.h"

#define COST_FIRST_NS ((double)(200 * NS_PER_US)) /* before the first one */
#define COST_WEIGHT 0.1				  /* of the last one */

static double
credit_most(const struct analysis_budget *b)
{
	return b->cpu * (double)BUDGET_BURST_NS;
}

void
budget_init(struct analysis_budget *b, double cpu, struct instant now)
{
	*b = (struct analysis_budget){.cpu = cpu,
	    .cost_ns = COST_FIRST_NS,
	    .chance = {1, 1, 1},
	    .at = now,
	    .period = now};
	b->credit_ns = credit_most(b) / 2;
}

void
budget_set(struct analysis_budget *b, double cpu)
{
	b->cpu = cpu;
}

/* A period is over: set the chances of the next period so that it can pay for
 * its requests, if it has as many as this one.  It may also spend half of the
 * saved credit. */
static void
period_next(struct analysis_budget *b, double length_ns)
{
	static const double part[BUDGET_KINDS] = {
	    [BUDGET_OTHER] = 0.25, [BUDGET_TAIL] = 0.25, [BUDGET_SLOW] = 0.5};
	double cost_ns = b->cost_ns * (double)BUDGET_PERIOD_NS / length_ns;
	double credit_ns = b->cpu * (double)BUDGET_PERIOD_NS + b->credit_ns / 2;
	double left_ns = fmax(0, credit_ns), more_ns;
	double needs_ns[BUDGET_KINDS], gets_ns[BUDGET_KINDS];

	for (unsigned k = 0; k < BUDGET_KINDS; k++) {
		needs_ns[k] = (double)b->offered[k] * cost_ns;
		gets_ns[k] = fmin(needs_ns[k], part[k] * fmax(0, credit_ns));
		left_ns -= gets_ns[k];
	}
	for (unsigned k = BUDGET_KINDS; k-- > 0;) {
		more_ns = fmin(needs_ns[k] - gets_ns[k], left_ns);
		gets_ns[k] += more_ns;
		left_ns -= more_ns;
		b->chance[k] =
		    needs_ns[k] > 0 ? gets_ns[k] / needs_ns[k] : credit_ns > 0;
		b->offered[k] = 0;
	}
}

static void
budget_time(struct analysis_budget *b, struct instant now)
{
	double length_ns;

	if (instant_before(b->at, now))
		b->credit_ns += b->cpu * (double)instant_since(now, b->at);
	b->at = now;
	if (b->credit_ns > credit_most(b))
		b->credit_ns = credit_most(b);
	length_ns = (double)instant_since(now, b->period);
	if (length_ns < (double)BUDGET_PERIOD_NS)
		return;
	period_next(b, length_ns);
	b->period = now;
}

bool
budget_take(struct analysis_budget *b, enum budget_kind kind, uint64_t id,
    bool slowest, struct instant now)
{
	budget_time(b, now);
	b->offered[kind]++;
	if (b->cpu >= 1)
		return true;
	if (slowest && b->credit_ns > -credit_most(b))
		return true;
	/* A second's credit may be overdrawn, so that the chances decide. */
	return b->credit_ns > -b->cpu * (double)BUDGET_PERIOD_NS &&
	       random_unit(splitmix64(&id)) < b->chance[kind];
}

bool
budget_give(struct analysis_budget *b)
{
	b->given = b->cpu > 0 && b->first < BUDGET_FIRST;
	b->first += b->given;
	return b->given;
}

void
budget_spend(struct analysis_budget *b, int64_t cpu_ns)
{
	if (!b->given)
		b->credit_ns -= (double)cpu_ns;
	b->given = false;
	b->cost_ns += COST_WEIGHT * ((double)cpu_ns - b->cost_ns);
}
