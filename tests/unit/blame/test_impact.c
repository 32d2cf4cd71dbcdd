/* Goal: steps, impact and both rules of the VarMRI paper, AUC, and where the
 * paper's method misses what subsets show. */
#include "tests/unit/unit.h"

#include <math.h>

#include "base/array.h"
#include "base/instant.h"
#include "tests/unit/blame/populations.h"

enum { V_QUEUE, V_INST, V_CYCLES, V_STALLS, V_NOISE, V_COUNT };
static const struct blame_value values[V_COUNT] = {
    [V_QUEUE] = {"queue_length", BLAME_GROUP_LOAD, -1, false},
    [V_INST] = {"instructions", BLAME_GROUP_INST, -1, false},
    [V_CYCLES] = {"cycles", BLAME_GROUP_CYCLE, -1, false},
    [V_STALLS] = {"stalls", BLAME_GROUP_CYCLE, V_CYCLES, false},
    [V_NOISE] = {"noise", BLAME_GROUP_NONE, -1, false},
};

/* One in 20 requests runs ten times the instructions, which takes cycles, half
 * of which are stalls; every second request recorded the noise. */
static struct blame_set *
counters_make(void)
{
	struct blame_shape shape = {.cause = population_cause,
	    .value = values,
	    .causes = P_CAUSES,
	    .values = V_COUNT,
	    .rows_max = 10000};
	struct blame_set *s;
	uint64_t seed = 5;

	assert_int_equal(blame_new(&s, &shape), 0);
	for (uint64_t id = 0; id < 10000; id++) {
		double inst = (id % 20 == 0 ? 10 : 1) *
			      (1 + 1e-5 * (double)(id * 7919 % 10000));
		double cycles = 1.5 * inst;
		double noise = population_random(&seed);
		double v[V_COUNT] = {0, inst, cycles, cycles / 2,
		    id % 2 == 0 ? noise : (double)NAN};
		int64_t part[P_CAUSES] = {[P_WORK] = llround(cycles * 1e6)};
		struct blame_account a = {.id = id,
		    .weight = 1,
		    .total_ns = part[P_WORK],
		    .end_ns = (int64_t)id * NS_PER_MS};

		assert_int_equal(blame_add(s, &a, part, v), 0);
	}
	return s;
}

TEST(a_step_is_where_the_values_jump)
{
	static double x[10000], w[10000];
	double step[BLAME_RANGES];
	unsigned n;

	for (unsigned i = 0; i < COUNT(x); i++) {
		x[i] = i < 9500 ? i * 1e-4 : 40 + i * 1e-4;
		w[i] = 1;
	}
	n = blame_steps(x, w, COUNT(x), step);
	assert_int_equal(n, 1);
	assert_true(fabs(step[0] - 0.95) < 0.002);
	/* A straight line has none. */
	for (unsigned i = 0; i < COUNT(x); i++)
		x[i] = i;
	assert_int_equal(blame_steps(x, w, COUNT(x), step), 0);
	assert_int_equal(blame_steps(x, w, 0, step), 0);
	assert_int_equal(blame_steps(x, w, 5, step), 0);
}

TEST(the_rules_leave_the_first_cause)
{
	struct blame_impact i[V_COUNT];
	struct blame_set *s = counters_make();

	assert_int_equal(blame_impacts(s, 0.99, i), 0);
	/* Instructions: high from p95 on; without these p99 is a tenth. */
	assert_true(fabs(i[V_INST].threshold - 0.95) < 0.005);
	assert_true(i[V_INST].impact > 0.85);
	assert_true(i[V_INST].adjusted == i[V_INST].impact);
	assert_int_equal(i[V_INST].because, -1);
	assert_false(i[V_INST].included);
	/* Rule 1: the cycles are due to them.  Rule 2: so are the stalls. */
	assert_true(i[V_CYCLES].impact > 0.85);
	assert_int_equal(i[V_CYCLES].because, V_INST);
	assert_true(i[V_CYCLES].adjusted < 0.1);
	assert_true(i[V_STALLS].included);
	assert_false(i[V_CYCLES].included);
	/* A constant value and noise have no impact. */
	assert_true(i[V_QUEUE].threshold == 0 && i[V_QUEUE].impact == 0);
	assert_true(i[V_NOISE].impact < 0.1);
	assert_true(fabs(i[V_NOISE].recorded - 0.5) < 1e-9);
	assert_true(fabs(i[V_NOISE].auc - 0.5) < 0.1);
	assert_true(fabs(i[V_QUEUE].auc - 0.5) < 1e-9);
	assert_true(i[V_CYCLES].auc > 0.999);
	blame_free(&s);
}

static const struct blame_pair *
pair_of(const struct blame_report *r, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < r->pairs; i++)
		if (r->pair[i].a == a && r->pair[i].b == b)
			return &r->pair[i];
	return NULL;
}

/* Pauses hit 6 % of requests, disk another 6 %: either alone leaves p99 to the
 * other.  docs/lab/blame.md has these figures. */
TEST(causes_that_hide_each_other_are_found)
{
	struct blame_set *s = population_make(&population[1], 60000, 1, true);
	struct blame_options o = {.p = 0.99, .resamples = 100};
	struct blame_impact gc, disk;
	static struct blame_report r;
	const struct blame_pair *pair;
	double q, excess;

	assert_int_equal(blame_analyze(s, &o, &r), 0);
	assert_int_equal(blame_cause_impact(s, o.p, P_GC, &gc), 0);
	assert_int_equal(blame_cause_impact(s, o.p, P_DISK, &disk), 0);
	pair = pair_of(&r, P_GC, P_DISK);
	assert_non_null(pair);
	q = (double)r.q_ns;
	excess = q - (double)r.p50_ns;
	assert_true(pair->interaction_ns > 0);
	assert_true(pair->interaction.low_ns > 0);
	/* The paper: neither is much of it.  Together: nine tenths. */
	assert_true(gc.impact < 0.15 && disk.impact < 0.15);
	assert_true(q - (double)pair->without_ns > 0.9 * excess);
	/* Shapley's value gives each of them its half. */
	for (unsigned i = 0; i < 2; i++) {
		assert_true(
		    r.line[i].cause == P_GC || r.line[i].cause == P_DISK);
		assert_true(r.line[i].shapley_ns > 0.4 * excess);
	}
	blame_free(&s);
}

/* p99 and 0.7 % of each: with either gone, p99 is in the body. */
TEST(causes_of_which_either_is_enough_are_found)
{
	struct blame_set *s = population_make(&population[2], 40000, 1, true);
	struct blame_options o = {.p = 0.99, .resamples = 100};
	static struct blame_report r;
	const struct blame_pair *pair;
	double shapley = 0;

	assert_int_equal(blame_analyze(s, &o, &r), 0);
	pair = pair_of(&r, P_GC, P_DISK);
	assert_non_null(pair);
	assert_true(pair->interaction_ns < 0);
	assert_true(pair->interaction.high_ns < 0);
	for (unsigned i = 0; i < r.lines; i++)
		if (r.line[i].cause == P_GC || r.line[i].cause == P_DISK)
			shapley += r.line[i].shapley_ns;
	assert_true(fabs(shapley - r.all_ns) < 0.2 * r.all_ns);
	blame_free(&s);
}
