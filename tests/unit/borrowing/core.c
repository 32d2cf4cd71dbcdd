/* core.c: lanes, a queue, and the clock (core.h). */
#include "core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define NS_PER_MSF 1e6
#define TOLERANCE_NS 1000.0 /* of sums of rounded times */
#define GAP_NS (15 * NS_PER_MS)

struct request {
	struct instant arrived;
	double demand_ns, alone_end_ns, latency_ns;
};

struct lane {
	struct borrowing_lane policy;
	uint32_t request;
	bool runs;
	double left_ns; /* of its demand */
	double overlap_ns;
	struct instant idle_since;
};

struct core {
	const struct core_setup *setup;
	struct core_result result;
	struct borrowing_queue queue;
	struct lane lane[ALONE_WORKERS];
	double alone_free_ns[ALONE_WORKERS];
	struct request *request;
	uint32_t come, started;
	struct instant now;
	double busy_ns, batch_ns, work_ns, idle_ns, short_ns;
};

/* --- requests ------------------------------------------------------------- */

static double
gauss(struct prng *p)
{
	double u = 1 - random_unit(prng_next(p));
	double v = random_unit(prng_next(p));

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void
requests_given(struct core *c)
{
	for (uint32_t i = 0; i < c->setup->requests; i++)
		c->request[i] = (struct request){
		    .arrived = {(uint64_t)(c->setup->given[i][0] * NS_PER_MSF)},
		    .demand_ns = c->setup->given[i][1] * NS_PER_MSF};
}

static void
requests_draw(struct core *c)
{
	const struct core_setup *s = c->setup;
	double ms = 1000, sum = 0, demand;
	struct prng p;

	prng_init(&p, s->seed);
	for (uint32_t i = 0; i < s->requests; i++) {
		ms -=
		    log(1 - random_unit(prng_next(&p))) * 1000 / s->rate_per_s;
		do
			demand = exp(s->sigma * gauss(&p));
		while (demand > s->medians);
		c->request[i] =
		    (struct request){.arrived = {(uint64_t)(ms * NS_PER_MSF)},
			.demand_ns = demand};
		sum += demand;
	}
	for (uint32_t i = 0; i < s->requests; i++)
		c->request[i].demand_ns *=
		    s->mean_ms * NS_PER_MSF * s->requests / sum;
}

/* When each would end without batch work. */
static void
requests_alone(struct core *c)
{
	for (uint32_t i = 0; i < c->setup->requests; i++) {
		struct request *r = &c->request[i];
		unsigned first = 0;

		for (unsigned k = 1; k < c->setup->cores; k++)
			if (c->alone_free_ns[k] < c->alone_free_ns[first])
				first = k;
		r->alone_end_ns =
		    fmax((double)r->arrived.ns, c->alone_free_ns[first]) +
		    r->demand_ns;
		c->alone_free_ns[first] = r->alone_end_ns;
	}
}

/* --- lanes ---------------------------------------------------------------- */

/* Until when batch work runs beside a lane's request. */
static struct instant
lane_until(const struct core *c, const struct lane *l)
{
	if (c->setup->policy == CORE_NOBODY)
		return INSTANT_NONE;
	if (c->setup->policy == CORE_UNFETTERED)
		return BORROWING_FREELY;
	return l->policy.until;
}

/* When the lane's rate changes, or its request ends. */
static struct instant
lane_next(const struct core *c, const struct lane *l)
{
	struct instant until = lane_until(c, l), end;
	double left_ns = l->left_ns;

	if (!l->runs)
		return BORROWING_FREELY;
	if (instant_before(c->now, until))
		left_ns *= c->setup->slowdown;
	end = instant_plus(c->now, (int64_t)ceil(left_ns));
	return instant_before(c->now, until) && instant_before(until, end)
		   ? until
		   : end;
}

static void
lane_pass(struct core *c, struct lane *l, struct instant to)
{
	double ns = (double)instant_since(to, c->now);
	double done_ns = ns;

	if (!l->runs) {
		if (c->setup->policy != CORE_NOBODY) {
			c->batch_ns += ns;
			c->work_ns += ns;
		}
		return;
	}
	c->busy_ns += ns;
	if (instant_before(c->now, lane_until(c, l))) {
		done_ns = ns / c->setup->slowdown;
		l->overlap_ns += ns;
		c->batch_ns += ns;
		c->work_ns += done_ns;
	}
	l->left_ns -= done_ns;
}

static void
lane_start(struct core *c, struct lane *l)
{
	struct request *r = &c->request[c->started];
	double idle_ns = (double)instant_since(c->now, l->idle_since);

	if (instant_is_set(l->idle_since)) {
		c->idle_ns += idle_ns;
		c->short_ns += idle_ns <= (double)GAP_NS ? idle_ns : 0;
		borrowing_busy(&l->policy, c->now);
	}
	l->idle_since = INSTANT_NONE;
	l->request = c->started++;
	l->runs = true;
	l->left_ns = r->demand_ns;
	l->overlap_ns = 0;
	borrowing_start(&l->policy, l->request + 1, r->arrived, c->now);
}

static void
lane_finish(struct core *c, struct lane *l)
{
	struct request *r = &c->request[l->request];
	double late_ns = (double)c->now.ns - r->alone_end_ns;

	r->latency_ns = (double)instant_since(c->now, r->arrived);
	c->result.worst_ms = fmax(c->result.worst_ms, late_ns / NS_PER_MSF);
	c->result.overlap_ms =
	    fmax(c->result.overlap_ms, l->overlap_ns / NS_PER_MSF);
	if (late_ns > c->setup->budget_ms * NS_PER_MSF + TOLERANCE_NS)
		c->result.late++;
	l->runs = false;
	borrowing_finish(&l->policy, c->now);
	if (c->started < c->come) {
		lane_start(c, l);
		return;
	}
	l->idle_since = c->now;
	borrowing_idle(&l->policy, c->now);
}

/* --- the clock ------------------------------------------------------------ */

static void
come(struct core *c)
{
	borrowing_arrive(&c->queue);
	c->come++;
	for (unsigned i = 0; i < c->setup->cores; i++)
		if (!c->lane[i].runs) {
			lane_start(c, &c->lane[i]);
			return;
		}
}

/* Go on to the next event.  False: there is none. */
static bool
step(struct core *c)
{
	struct instant next = BORROWING_FREELY;
	bool arrival = false;
	unsigned which = 0;

	if (c->come < c->setup->requests) {
		next = c->request[c->come].arrived;
		arrival = true;
	}
	for (unsigned i = 0; i < c->setup->cores; i++) {
		struct instant t = lane_next(c, &c->lane[i]);

		if (instant_before(t, next)) {
			next = t;
			which = i;
			arrival = false;
		}
	}
	if (next.ns == BORROWING_FREELY.ns)
		return false;
	for (unsigned i = 0; i < c->setup->cores; i++)
		lane_pass(c, &c->lane[i], next);
	c->now = next;
	if (arrival)
		come(c);
	else if (c->lane[which].left_ns <= 0.5)
		lane_finish(c, &c->lane[which]);
	else
		borrowing_look(&c->lane[which].policy, c->now);
	return true;
}

static void
begin(struct core *c)
{
	const struct core_setup *s = c->setup;
	enum borrowing_policy policy =
	    s->policy < 0 ? BORROWING_IDLE : (enum borrowing_policy)s->policy;

	c->now = instant_plus(c->request[0].arrived, -1);
	borrowing_queue_init(&c->queue, s->cores);
	for (unsigned i = 0; i < s->cores; i++) {
		struct lane *l = &c->lane[i];

		borrowing_lane_init(&l->policy, &c->queue, policy,
		    (int64_t)(s->budget_ms * NS_PER_MSF));
		borrowing_loss(&l->policy, s->loss < 0 ? 1 : s->loss,
		    s->loss < 0 ? 1 : s->loss, c->now);
		borrowing_idle(&l->policy, c->now);
		l->idle_since = c->now;
	}
}

static int
by_latency(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	return (x->latency_ns > y->latency_ns) -
	       (x->latency_ns < y->latency_ns);
}

static double
percentile_ms(const struct core *c, double part)
{
	uint32_t n = c->setup->requests;

	return c->request[(uint32_t)ceil(part * n) - 1].latency_ns / NS_PER_MSF;
}

struct core_setup
core_usual(double rate_per_s)
{
	return (struct core_setup){.policy = CORE_NOBODY,
	    .cores = 1,
	    .rate_per_s = rate_per_s,
	    .mean_ms = 5.9,
	    .sigma = 0.9,
	    .medians = 30,
	    .slowdown = 1,
	    .loss = -1,
	    .requests = 200000,
	    .seed = 1};
}

struct core_result
core_run(const struct core_setup *setup)
{
	struct core *c = calloc(1, sizeof(*c));
	struct core_result result;
	double whole_ns;

	if (c == NULL)
		abort();
	c->setup = setup;
	c->request = calloc(setup->requests, sizeof(*c->request));
	if (c->request == NULL)
		abort();
	if (setup->given != NULL)
		requests_given(c);
	else
		requests_draw(c);
	requests_alone(c);
	begin(c);
	while (step(c))
		;
	whole_ns =
	    (double)instant_since(c->now, c->request[0].arrived) * setup->cores;
	qsort(c->request, setup->requests, sizeof(*c->request), by_latency);
	c->result.p50_ms = percentile_ms(c, 0.5);
	c->result.p95_ms = percentile_ms(c, 0.95);
	c->result.p99_ms = percentile_ms(c, 0.99);
	c->result.request = c->busy_ns / whole_ns;
	c->result.batch = c->batch_ns / whole_ns;
	c->result.work = c->work_ns / whole_ns;
	c->result.late /= setup->requests;
	c->result.short_gaps = c->idle_ns > 0 ? c->short_ns / c->idle_ns : 0;
	result = c->result;
	free(c->request);
	free(c);
	return result;
}
