/* budget.c: credit, and the chance of a slow request. */
#include "proxy/analysis/budget.h"

#include "base/random.h"

#define COST_FIRST_NS ((double)(200 * NS_PER_US)) /* before the first tale */
#define COST_WEIGHT 0.1				  /* of the last tale */

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
	    .chance = 1,
	    .at = now,
	    .period = now};
	b->credit_ns = credit_most(b) / 2;
}

void
budget_set(struct analysis_budget *b, double cpu)
{
	b->cpu = cpu;
}

/* A period is over: set the chance of the next period so that it can pay for
 * its tales, if it has as many requests as this one.  It may also spend half of
 * the saved credit. */
static void
period_next(struct analysis_budget *b, double length_ns)
{
	double credit_ns = b->cpu * (double)BUDGET_PERIOD_NS;
	double offered =
	    (double)b->offered * (double)BUDGET_PERIOD_NS / length_ns;

	credit_ns += b->credit_ns / 2;
	b->chance = credit_ns <= 0 ? 0 : 1;
	if (credit_ns > 0 && offered * b->cost_ns > credit_ns)
		b->chance = credit_ns / (offered * b->cost_ns);
	b->offered = 0;
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
budget_take(
    struct analysis_budget *b, uint64_t id, bool slowest, struct instant now)
{
	budget_time(b, now);
	b->offered++;
	if (b->cpu >= 1)
		return true;
	if (slowest && b->credit_ns > -credit_most(b))
		return true;
	return b->credit_ns > 0 && random_unit(splitmix64(&id)) < b->chance;
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
