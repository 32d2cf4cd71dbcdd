/* Goal: intervals hold the truth of twelve kinds of populations, requests drawn
 * singly do not; episodes, ranks, periods and places are those that were made.
 * `make populations` is the long form. */
#include "tests/unit/unit.h"

#include "base/array.h"
#include "base/instant.h"
#include "tests/unit/blame/populations.h"

#define TRIES 4
#define REQUESTS 8000

TEST(intervals_hold_the_truth)
{
	unsigned all = 0;

	for (unsigned k = 0; k < POPULATIONS; k++) {
		struct population_held h = population_hold(
		    &population[k], REQUESTS, TRIES, 100, false);
		unsigned held = h.q + h.excess + h.without;

		if (held * 4 < 9 * TRIES)
			print_message("%s: %u of %u\n", population[k].name,
			    held, 3 * TRIES);
		assert_true(held * 4 >= 9 * TRIES);
		all += held;
	}
	assert_true(all * 100 >= POPULATIONS * 3 * TRIES * 92);
}

/* A pause hits many requests: drawn one by one they look certain. */
TEST(requests_drawn_singly_are_too_sure)
{
	struct population_held block, single;

	block = population_hold(&population[0], REQUESTS, 16, 60, false);
	single = population_hold(&population[0], REQUESTS, 16, 60, true);
	assert_true(block.excess >= single.excess + 3);
}

static const struct blame_line *
line_of(const struct blame_report *r, unsigned cause)
{
	for (unsigned i = 0; i < r->lines; i++)
		if (r->line[i].cause == cause)
			return &r->line[i];
	fail_msg("cause %u does not occur", cause);
	return NULL;
}

/* 150 s with a pause each 1.03 s on average. */
TEST(episodes_are_pauses_and_not_requests)
{
	struct blame_set *s = population_make(&population[0], 30000, 1, true);
	struct blame_options o = {.p = 0.99, .resamples = 100};
	static struct blame_report r;
	const struct blame_line *gc;

	assert_int_equal(blame_analyze(s, &o, &r), 0);
	gc = line_of(&r, P_GC);
	assert_in_range(gc->episodes, 90, 160);
	assert_true(gc->enough);
	assert_int_equal(gc->rank, 1);
	assert_ptr_equal(gc, &r.line[0]);
	assert_true(r.seen[P_GC] == 1);
	assert_true(r.beyond >= 290 && r.beyond <= 300);
	assert_true(r.blocks >= BLAME_BLOCKS);
	assert_true(r.explained > 0.999);
	blame_free(&s);
}

TEST(few_episodes_are_not_ranked)
{
	struct blame_set *s = population_make(&population[0], 1500, 1, true);
	struct blame_options o = {.p = 0.99, .resamples = 50};
	static struct blame_report r;

	assert_int_equal(blame_analyze(s, &o, &r), 0);
	assert_false(line_of(&r, P_GC)->enough);
	assert_int_equal(line_of(&r, P_GC)->rank, 0);
	blame_free(&s);
}

/* Goal: one request is one episode of each of its causes, however long it took
 * and however short the time is that it stands for. */
TEST(one_request_is_one_episode)
{
	const struct blame_shape shape = {
	    .cause = population_cause, .causes = P_CAUSES, .rows_max = 1000};
	const struct blame_account a = {.id = 1,
	    .weight = 1,
	    .total_ns = 16 * NS_PER_MS,
	    .end_ns = NS_PER_S,
	    .in_flight = -1};
	const int64_t cause_ns[P_CAUSES] = {
	    [P_WORK] = 6 * NS_PER_MS, [P_GC] = 10 * NS_PER_MS};
	struct blame_options o = {.p = 0.99, .resamples = 50};
	static struct blame_report r;
	struct blame_set *s;

	assert_int_equal(blame_new(&s, &shape), 0);
	assert_int_equal(blame_add(s, &a, cause_ns, NULL), 0);
	assert_int_equal(blame_analyze(s, &o, &r), 0);
	assert_int_equal(line_of(&r, P_GC)->episodes, 1);
	assert_int_equal(line_of(&r, P_WORK)->episodes, 1);
	blame_free(&s);
}

TEST(what_was_not_observed_is_given_to_no_cause)
{
	struct blame_set *s = population_make(&population[8], 30000, 1, true);
	struct blame_options o = {.p = 0.99, .resamples = 50};
	static struct blame_report r;
	const struct blame_line *l;

	assert_int_equal(blame_analyze(s, &o, &r), 0);
	l = line_of(&r, P_UNKNOWN);
	assert_true(l->excess_ns > 2 * NS_PER_MS);
	assert_false(l->removable);
	/* It is large and certain, and stands below the causes unranked. */
	assert_true(l->enough && l->excess.low_ns > 0);
	assert_int_equal(l->rank, 0);
	assert_ptr_equal(l, &r.line[r.lines - 1]);
	assert_int_equal(r.line[0].rank, 1);
	assert_true(r.explained > 0.6 && r.explained < 0.95);
	blame_free(&s);
}

TEST(two_periods_differ_by_what_changed)
{
	struct population later = population[0];
	struct blame_set *then, *now;
	struct blame_options o = {.p = 0.99, .resamples = 60};
	struct blame_change change[BLAME_CAUSES];
	int64_t sum = 0;
	unsigned n;

	later.source[0].length_ms = 60;
	then = population_make(&population[0], 20000, 1, true);
	now = population_make(&later, 20000, 2, true);
	assert_int_equal(blame_against(now, then, &o, change, &n), 0);
	assert_int_equal(change[0].cause, P_GC);
	assert_true(change[0].interval.low_ns > 10 * NS_PER_MS);
	for (unsigned i = 0; i < n; i++)
		sum += change[i].change_ns;
	assert_int_equal(
	    sum, blame_quantile(now, 0.99) - blame_quantile(then, 0.99));
	/* The same time with itself: nothing. */
	assert_int_equal(blame_against(now, now, &o, change, &n), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(change[i].change_ns, 0);
		assert_true(change[i].interval.low_ns <= 0);
		assert_true(change[i].interval.high_ns >= 0);
	}
	blame_free(&then);
	blame_free(&now);
}

/* A second route: requests that take more than 10 ms. */
static uint32_t
is_long(const struct blame_account *a, void *user)
{
	(void)user;
	return a->total_ns > 10 * NS_PER_MS;
}

TEST(the_tail_is_where_the_long_requests_are)
{
	struct blame_set *s = population_make(&population[5], 20000, 1, true);
	struct blame_place place[2];

	assert_int_equal(
	    blame_where(s, 0.99, is_long, NULL, place, COUNT(place)), 2);
	assert_int_equal(place[0].key, 1);
	assert_true(place[0].tail == 1 && place[1].tail == 0);
	assert_true(place[0].requests > 0.015 && place[0].requests < 0.025);
	assert_true(place[0].q_ns > 45 * NS_PER_MS);
	assert_true(place[1].q_ns < 5 * NS_PER_MS);
	blame_free(&s);
}

static uint32_t
is_odd(const struct blame_account *a, void *user)
{
	(void)user;
	return a->id & 1;
}

/* Of 100 pauses and more, half of the requests of each. */
TEST(a_place_has_an_interval)
{
	struct blame_options o = {.p = 0.99, .resamples = 200, .seed = 1};
	struct blame_set *s = population_make(&population[0], 20000, 1, true);
	struct blame_place place[2];

	assert_int_equal(
	    blame_where(s, 0.99, is_odd, NULL, place, COUNT(place)), 2);
	assert_int_equal(blame_where_interval(s, &o, is_odd, NULL, place), 0);
	assert_true(place->tail_low > 0.35 && place->tail_low < place->tail);
	assert_true(place->tail_high < 0.65 && place->tail_high > place->tail);
	/* All of the tail is all of it in each resample. */
	assert_int_equal(
	    blame_where(s, 0.99, is_long, NULL, place, COUNT(place)), 2);
	assert_int_equal(blame_where_interval(s, &o, is_long, NULL, place), 0);
	assert_true(place->tail == 1 && place->tail_low == 1);
	blame_free(&s);
}

/* Some 20 accounts stand for 20 requests each: a resample may have none of the
 * tail, and then it has another one. */
TEST(no_percentile_is_below_all_requests)
{
	struct blame_options o = {.p = 0.99, .resamples = 200};
	static struct blame_report r;
	int64_t least_ns;

	for (unsigned k = 0; k < 8; k++) {
		struct blame_set *s =
		    population_make(&population[9], 400, k, false);

		assert_int_equal(blame_without(s, (1 << P_GC), false,
				     (const double[]){1e-9}, 1, &least_ns),
		    0);
		assert_int_equal(blame_analyze(s, &o, &r), 0);
		assert_true(least_ns > 0 && r.q.low_ns >= least_ns);
		for (unsigned i = 0; i < r.lines; i++)
			if (r.line[i].cause == P_GC)
				assert_true(r.line[i].without.low_ns > 0);
		blame_free(&s);
	}
}
