/* Goal: shares, gains and Shapley's values add up exactly, weights stand for
 * the requests that were not kept, and neither order nor size matters. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/instant.h"
#include "tests/unit/blame/populations.h"

static struct blame_set *
set_new(size_t rows_max)
{
	struct blame_shape shape = {.cause = population_cause,
	    .causes = P_CAUSES,
	    .rows_max = rows_max};
	struct blame_set *s;

	assert_int_equal(blame_new(&s, &shape), 0);
	return s;
}

static void
add(struct blame_set *s, uint64_t id, double weight,
    const int64_t part[P_CAUSES])
{
	struct blame_account a = {
	    .id = id, .weight = weight, .in_flight = -1, .seen = UINT64_MAX};

	for (unsigned c = 0; c < P_CAUSES; c++)
		a.total_ns += part[c];
	a.end_ns = (int64_t)id * 1000000 + a.total_ns;
	assert_int_equal(blame_add(s, &a, part, NULL), 0);
}

static int64_t
sum_of(const int64_t *x)
{
	int64_t sum = 0;

	for (unsigned c = 0; c < P_CAUSES; c++)
		sum += x[c];
	return sum;
}

TEST(shares_add_up_to_the_percentile)
{
	static const double p[] = {0.5, 0.75, 0.9, 0.99, 0.999, 0.123};

	for (unsigned k = 0; k < POPULATIONS; k++) {
		struct blame_set *s =
		    population_make(&population[k], 3000, k, false);
		int64_t share[P_CAUSES];

		for (unsigned i = 0; i < COUNT(p); i++) {
			blame_shares(s, p[i], share);
			assert_int_equal(
			    sum_of(share), blame_quantile(s, p[i]));
		}
		blame_free(&s);
	}
}

/* 100 requests of 1 .. 100 us, of which the ten slowest have 5 us of gc. */
TEST(known_ranks_give_known_shares)
{
	struct blame_set *s = set_new(1000);
	int64_t share[P_CAUSES], beyond[P_CAUSES], out[2];

	for (int i = 1; i <= 100; i++) {
		int64_t gc = i > 90 ? 5000 : 0;

		add(s, (uint64_t)i, 1,
		    (int64_t[P_CAUSES]){[P_WORK] = i * 1000 - gc, [P_GC] = gc});
	}
	assert_int_equal(blame_quantile(s, 0.99), 99000);
	assert_int_equal(blame_quantile(s, 0.5), 50000);
	assert_int_equal(blame_quantile(s, 1), 100000);
	/* Ranks 95 to 85: half of them have gc; their mean is 90.5. */
	blame_shares(s, 0.8, share);
	assert_int_equal(share[P_WORK], 80000);
	blame_shares(s, 0.9, share);
	/* The band is 87.5 .. 92.5: two and a half of five have 5 us. */
	assert_int_equal(share[P_GC], llround(2500.0 * 90000 / 90500));
	assert_int_equal(sum_of(share), 90000);
	blame_beyond(s, 0.9, beyond);
	assert_int_equal(beyond[P_GC], 5000);
	assert_int_equal(sum_of(beyond), 95500);
	assert_int_equal(blame_without(s, 1 << P_GC, false,
			     (const double[]){0.5, 1}, 2, out),
	    0);
	/* 91 .. 95 become 86 .. 90: the middle stays. */
	assert_int_equal(out[0], 50000);
	assert_int_equal(out[1], 95000);
	blame_free(&s);
}

/* Of a BASE only what exceeds its median goes; of what is not explained
 * nothing. */
TEST(what_cannot_go_stays)
{
	struct blame_set *s = set_new(1000);
	const double p = 0.99;
	int64_t out;

	for (int i = 0; i < 100; i++)
		add(s, (uint64_t)i, 1,
		    (int64_t[P_CAUSES]){[P_WORK] = 1000 + i * 10,
			[P_UNKNOWN] = i >= 90 ? 50000 : 0});
	assert_int_equal(
	    blame_without(s, 1 << P_UNKNOWN, false, &p, 1, &out), 0);
	assert_int_equal(out, blame_quantile(s, p));
	assert_int_equal(blame_without(s, 1 << P_WORK, false, &p, 1, &out), 0);
	assert_int_equal(out, 1490 + 50000);
	blame_free(&s);
}

TEST(the_order_of_adding_does_not_matter)
{
	struct blame_options o = {.p = 0.99, .resamples = 20, .seed = 3};
	struct blame_set *s[2] = {set_new(5000), set_new(5000)};
	static struct blame_report r[2];

	for (unsigned way = 0; way < 2; way++) {
		for (uint64_t k = 0; k < 2000; k++) {
			uint64_t id = way == 0 ? k : 1999 - k;
			uint64_t seed = id;

			add(s[way], id, 1 + (double)(id % 3),
			    (int64_t[P_CAUSES]){
				[P_WORK] = (int64_t)(id % 700) * 1000,
				[P_DISK] = population_random(&seed) < 0.02
					       ? 4000000
					       : 0});
		}
		memset(&r[way], 0, sizeof(r[way]));
		assert_int_equal(blame_analyze(s[way], &o, &r[way]), 0);
		blame_free(&s[way]);
	}
	r[0].bytes = r[1].bytes;
	assert_memory_equal(&r[0], &r[1], sizeof(r[0]));
}

TEST(weights_stand_for_requests_left_out)
{
	const struct population *p = &population[9];
	struct blame_set *all = population_make(p, 40000, 7, true);
	struct blame_set *few = population_make(p, 40000, 7, false);
	int64_t a[P_CAUSES], b[P_CAUSES];

	assert_true(blame_rows(few) * 8 < blame_rows(all));
	assert_true(llabs(blame_quantile(few, 0.99) -
			  blame_quantile(all, 0.99)) < NS_PER_MS);
	assert_true(llabs(blame_quantile(few, 0.5) - blame_quantile(all, 0.5)) <
		    50 * NS_PER_US);
	blame_shares(all, 0.99, a);
	blame_shares(few, 0.99, b);
	assert_true(llabs(a[P_GC] - b[P_GC]) < NS_PER_MS);
	blame_free(&all);
	blame_free(&few);
}

TEST(a_full_set_thins_what_is_fast)
{
	struct blame_set *s = set_new(2000);
	struct blame_options o = {.p = 0.99};
	static struct blame_report r;
	int64_t share[P_CAUSES];
	size_t bytes = 0;

	for (uint64_t id = 0; id < 50000; id++) {
		add(s, id, 1,
		    (int64_t[P_CAUSES]){[P_WORK] = 1000000 + (int64_t)id,
			[P_GC] = id % 50 == 0 ? 60000000 : 0});
		assert_true(blame_rows(s) <= 2000);
		if (id == 10000)
			bytes = blame_bytes(s);
	}
	assert_int_equal(blame_bytes(s), bytes);
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	/* The weights still stand for all requests: within 10 %. */
	assert_true(fabs(r.weight - 50000) < 5000);
	blame_shares(s, 0.99, share);
	assert_true(share[P_GC] > 55000000);
	blame_free(&s);
}

TEST(large_numbers_do_not_overflow)
{
	struct blame_set *s = set_new(1000);
	const int64_t week_ns = 7 * 86400 * NS_PER_S;
	struct blame_options o = {.p = 0.99, .resamples = 20};
	static struct blame_report r;
	int64_t share[P_CAUSES];

	for (uint64_t id = 0; id < 1000; id++)
		add(s, id, 1e9,
		    (int64_t[P_CAUSES]){
			[P_WORK] = week_ns + (int64_t)id, [P_GC] = week_ns});
	blame_shares(s, 0.99, share);
	assert_int_equal(sum_of(share), blame_quantile(s, 0.99));
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	assert_int_equal(r.q_ns, 2 * week_ns + 989);
	blame_free(&s);
}

TEST(bad_input_is_refused)
{
	struct blame_set *s = set_new(1000);
	struct blame_shape bad = {.cause = population_cause, .rows_max = 1000};
	const struct blame_account a = {.weight = 1, .total_ns = 10};
	/* Differences of such times, and sums of parts, would be no number. */
	const struct {
		struct blame_account a;
		int64_t part[P_CAUSES];
	} wrong[] = {{a, {9}}, {a, {11, -1}}, {a, {INT64_MAX, INT64_MAX, 12}},
	    {{.weight = 0.5, .total_ns = 10}, {10}},
	    {{.weight = (double)NAN, .total_ns = 10}, {10}},
	    {{.weight = 1e300, .total_ns = 10}, {10}},
	    {{.weight = 1, .total_ns = 10, .end_ns = INT64_MAX / 2}, {10}},
	    {{.weight = 1, .total_ns = 10, .end_ns = -INT64_MAX / 2}, {10}},
	    {{.weight = 1, .total_ns = INT64_MAX}, {INT64_MAX}}};
	struct blame_options o = {.p = 0.99};
	static struct blame_report r;
	struct blame_set *none;

	assert_int_equal(blame_new(&none, &bad), -EINVAL);
	bad.causes = BLAME_CAUSES + 1;
	assert_int_equal(blame_new(&none, &bad), -EINVAL);
	for (unsigned i = 0; i < COUNT(wrong); i++)
		assert_int_equal(
		    blame_add(s, &wrong[i].a, wrong[i].part, NULL), -EINVAL);
	assert_int_equal(blame_rows(s), 0);
	assert_int_equal(blame_analyze(s, &o, &r), -ENODATA);
	assert_int_equal(blame_add(s, &a, (int64_t[P_CAUSES]){10}, NULL), 0);
	o.p = 1;
	assert_int_equal(blame_analyze(s, &o, &r), -EINVAL);
	o = (struct blame_options){.p = 0.99, .resamples = 1001};
	assert_int_equal(blame_analyze(s, &o, &r), -EINVAL);
	o.resamples = 10;
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	blame_free(&s);
}

/* What has a share has been seen, too, however small a part it is. */
TEST(shapley_values_add_up_to_the_gain_of_all)
{
	struct blame_options o = {.p = 0.99, .resamples = 50};
	static struct blame_report r;

	for (unsigned k = 0; k < POPULATIONS; k++) {
		struct blame_set *s =
		    population_make(&population[k], 4000, k, false);
		double sum = 0;
		int64_t excess = 0;

		assert_int_equal(blame_analyze(s, &o, &r), 0);
		for (unsigned i = 0; i < r.lines; i++) {
			if (!isnan(r.line[i].shapley_ns))
				sum += r.line[i].shapley_ns;
			excess += r.line[i].excess_ns;
			if (r.line[i].share_ns > 0)
				assert_true(r.line[i].episodes > 0);
		}
		assert_true(fabs(sum - r.all_ns) < 1);
		assert_int_equal(excess, r.q_ns - r.p50_ns);
		blame_free(&s);
	}
}

/* Ten requests wait for a pause of 50 ms, and then for one another. */
TEST(a_queue_is_due_to_the_pause_before_it)
{
	struct blame_options o = {.p = 0.99};
	struct blame_set *s = set_new(3000);
	static struct blame_report r;
	const double p = 0.99;
	int64_t alone, behind;

	for (uint64_t id = 0; id < 2000; id++) {
		bool hit = id % 100 < 5,
		     queued = id % 100 >= 5 && id % 100 < 10;
		struct blame_account a = {.id = id,
		    .weight = 1,
		    .in_flight = id % 100 == 0 || id % 100 >= 10 ? 0 : 5};
		int64_t part[P_CAUSES] = {[P_WORK] = 1000000,
		    [P_GC] = hit ? 50000000 : 0,
		    [P_QUEUE] = queued ? 30000000 : 0};

		a.total_ns = sum_of(part);
		a.end_ns =
		    (int64_t)(id / 100 * 100 + id % 100 / 10) * 100000000 +
		    (int64_t)(id % 10) * 1000000 + a.total_ns;
		assert_int_equal(blame_add(s, &a, part, NULL), 0);
	}
	assert_int_equal(blame_without(s, 1 << P_GC, false, &p, 1, &alone), 0);
	assert_int_equal(blame_without(s, 1 << P_GC, true, &p, 1, &behind), 0);
	assert_int_equal(alone, 31000000);
	/* 250 of 255 ms and more of the busy period were collections. */
	assert_true(behind < 2500000);
	assert_true(behind > 1000000);
	/* The report has it, too, also if the queue itself is in it. */
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	for (unsigned i = 0; i < r.lines; i++)
		if (r.line[i].cause == P_GC) {
			assert_int_equal(r.line[i].without_ns, behind);
		}
	blame_free(&s);
}

/* Five requests are gathered by a pause and then wait for a CPU; two others
 * wait as long when there is no pause. */
TEST(a_pause_gathers_requests_for_a_cpu)
{
	struct blame_set *s = set_new(3000);
	const double p[] = {0.97, 0.99};
	int64_t alone[2], behind[2];

	for (uint64_t id = 0; id < 2000; id++) {
		bool hit = id % 100 < 5, other = id % 100 >= 98;
		struct blame_account a = {
		    .id = id, .weight = 1, .in_flight = -1};
		int64_t part[P_CAUSES] = {[P_WORK] = 1000000,
		    [P_GC] = hit ? 50000000 : 0,
		    [P_RUNQ] = hit || other ? 20000000 : 0};

		a.total_ns = sum_of(part);
		a.end_ns = (int64_t)(hit ? id / 100 * 100 : id) * 100000000;
		assert_int_equal(blame_add(s, &a, part, NULL), 0);
	}
	assert_int_equal(blame_without(s, 1 << P_GC, false, p, 2, alone), 0);
	assert_int_equal(blame_without(s, 1 << P_GC, true, p, 2, behind), 0);
	assert_int_equal(alone[0], 21000000);
	/* 50 of 51 ms of those that were there were collections. */
	assert_int_equal(behind[0], 1000000 + llround(20e6 / 51));
	assert_int_equal(behind[1], 21000000);
	/* What goes as a whole is not moved, too. */
	assert_int_equal(
	    blame_without(s, 1 << P_GC | 1 << P_RUNQ, true, p, 2, behind), 0);
	assert_int_equal(behind[1], 1000000);
	blame_free(&s);
}

/* Requests queue a second after a pause; what was between was not recorded. */
TEST(a_gap_ends_a_busy_period)
{
	struct blame_set *s = set_new(3000);
	const double p = 0.99;
	int64_t alone, behind;

	for (uint64_t id = 0; id < 2000; id++) {
		struct blame_account a = {
		    .id = id, .weight = 1, .in_flight = 5};
		int64_t part[P_CAUSES] = {[P_WORK] = 1000000,
		    [P_GC] = id % 50 == 0 ? 50000000 : 0,
		    [P_QUEUE] = id % 50 == 1 ? 30000000 : 0};

		a.total_ns = sum_of(part);
		a.end_ns = (int64_t)id * NS_PER_S + a.total_ns;
		assert_int_equal(blame_add(s, &a, part, NULL), 0);
	}
	assert_int_equal(blame_without(s, 1 << P_GC, false, &p, 1, &alone), 0);
	assert_int_equal(blame_without(s, 1 << P_GC, true, &p, 1, &behind), 0);
	assert_int_equal(alone, 31000000);
	assert_int_equal(behind, alone);
	blame_free(&s);
}

/* Requests of ten years take no more time and memory than those of a day. */
TEST(a_long_time_has_long_blocks)
{
	struct blame_options o = {.p = 0.99, .resamples = 200};
	struct blame_set *s = set_new(1000);
	static struct blame_report r;

	for (uint64_t id = 0; id < 1000; id++) {
		struct blame_account a = {.id = id,
		    .weight = 1,
		    .total_ns = 1000,
		    .end_ns = (int64_t)id * 3650 * 86400 * NS_PER_MS};

		assert_int_equal(
		    blame_add(s, &a, (int64_t[P_CAUSES]){1000}, NULL), 0);
	}
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	assert_true(r.blocks <= 10001);
	assert_true(r.q.low_ns == 1000 && r.q.high_ns == 1000);
	blame_free(&s);
}

/* More is not explained in the middle than in the tail. */
TEST(no_more_than_all_is_explained)
{
	struct blame_options o = {.p = 0.99};
	struct blame_set *s = set_new(1000);
	static struct blame_report r;

	for (uint64_t id = 0; id < 1000; id++)
		add(s, id, 1,
		    (int64_t[P_CAUSES]){[P_WORK] = id < 900 ? 1000 : 50000,
			[P_UNKNOWN] = id < 900 ? 1000 : 0});
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	assert_true(r.explained == 1);
	blame_free(&s);
}

/* The report selects where blame_without sorts all: for each cause, with the
 * queue behind it, and for each pair. */
TEST(selecting_and_sorting_agree)
{
	struct blame_options o = {.p = 0.99};
	static struct blame_report r;
	int64_t out;

	for (unsigned k = 0; k < POPULATIONS; k++) {
		struct blame_set *s =
		    population_make(&population[k], 4000, k, false);

		assert_int_equal(blame_analyze(s, &o, &r), 0);
		for (unsigned i = 0; i < r.lines && r.line[i].removable; i++) {
			uint64_t cause = UINT64_C(1) << r.line[i].cause;

			bool queue = r.line[i].kind == BLAME_HAZARD;

			assert_int_equal(
			    blame_without(s, cause, queue, &o.p, 1, &out), 0);
			assert_int_equal(out, r.line[i].without_ns);
		}
		assert_int_equal(
		    blame_without(s, r.causes, false, &o.p, 1, &out), 0);
		assert_true(fabs((double)(r.q_ns - out) - r.all_ns) < 1);
		for (unsigned i = 0; i < r.pairs; i++) {
			assert_int_equal(blame_without(s,
					     UINT64_C(1) << r.pair[i].a |
						 UINT64_C(1) << r.pair[i].b,
					     false, &o.p, 1, &out),
			    0);
			assert_int_equal(out, r.pair[i].without_ns);
		}
		blame_free(&s);
	}
}

/* A cause may occur in the last account for the first time, and one that never
 * occurs takes no memory. */
TEST(only_causes_that_occur_have_parts)
{
	struct blame_set *s = set_new(5000);
	int64_t share[P_CAUSES];
	struct blame_set *half;
	size_t bytes;

	for (uint64_t id = 0; id < 4000; id++)
		add(s, id, 1, (int64_t[P_CAUSES]){[P_LOCK] = 1000});
	bytes = blame_bytes(s);
	add(s, 4000, 4000, (int64_t[P_CAUSES]){[P_GC] = 7, [P_LOCK] = 2000});
	assert_int_equal(blame_bytes(s) - bytes, 4096 * sizeof(int64_t));
	blame_shares(s, 0.99, share);
	assert_int_equal(share[P_GC], 7);
	assert_int_equal(share[P_LOCK], 2000);
	blame_shares(s, 0.25, share);
	assert_int_equal(share[P_GC], 0);
	assert_int_equal(share[P_LOCK], 1000);
	assert_int_equal(
	    blame_select(s, 3999 * NS_PER_MS, INT64_MAX, &half), 0);
	assert_int_equal(blame_rows(half), 2);
	blame_shares(half, 0.99, share);
	assert_int_equal(share[P_GC], 7);
	assert_int_equal(share[P_LOCK], 2000);
	blame_free(&half);
	blame_free(&s);
}
