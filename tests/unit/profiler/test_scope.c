/*
 * test_scope.c: error correction, rates by tag, and counting all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profiler/shim/dte.h"
#include "profiler/shim/scope.h"

/* Goal: the margin is where it is said to be, on both sides, at any size. */
static void
test_margin(void **state)
{
	static const uint64_t periods[] = {
	    100, 1000, 1000000, UINT64_C(1) << 40};
	struct dte_clock last = {1000, 1040}, now;
	size_t i;
	int side;

	(void)state;
	for (i = 0; i < sizeof(periods) / sizeof(periods[0]); i++)
		for (side = -1; side <= 1; side += 2) {
			now.begin = last.begin + periods[i];
			now.end =
			    last.end + periods[i] +
			    (uint64_t)((int64_t)(periods[i] / 100) * side);
			assert_true(dte_keep(last, now, DTE_MARGIN_PPM));
			now.end += (uint64_t)side;
			assert_false(dte_keep(last, now, DTE_MARGIN_PPM));
		}
	assert_false(dte_keep(last, last, 1000000));
	now = (struct dte_clock){last.begin - 5, last.end - 5};
	assert_false(dte_keep(last, now, 1000000));
	now = (struct dte_clock){last.begin + 100, last.end + 17500};
	assert_true(dte_cpc(last, now) > 174.9 && dte_cpc(last, now) < 175.1);
}

/* Goal: a slow read makes an impossible rate in raw and none in kept. */
static void
test_impossible(void **state)
{
	struct scope *s = scope_new(1, DTE_MARGIN_PPM);
	struct sample p = {{0, 30}, {0}, 7};
	unsigned i;

	(void)state;
	assert_non_null(s);
	/* The signal truly grows by one in ten cycles. */
	for (i = 0; i < 10000; i++) {
		uint64_t slow = i % 10 == 9 ? 5000 : 0;

		p.clock.begin += 1000;
		p.clock.end = p.clock.begin + 30 + slow;
		p.value[0] = (p.clock.begin + slow) / 10;
		scope_add(s, &p);
		p.clock.begin += slow;
	}
	assert_int_equal(s->periods, 9999);
	assert_true(s->raw[0].max > SCOPE_RATE / 10 * 4);
	assert_in_range(s->rate[0].min, SCOPE_RATE / 10 * 98 / 100,
	    SCOPE_RATE / 10 * 102 / 100);
	assert_in_range(s->rate[0].max, SCOPE_RATE / 10 * 98 / 100,
	    SCOPE_RATE / 10 * 102 / 100);
	/* The one that is long at its end, and the one after it. */
	assert_in_range(s->kept, 7990, 8010);
	assert_int_equal(s->period.count, s->periods);
	assert_int_equal(s->period_kept.count, s->kept);
	assert_int_equal(s->gap.count, s->kept - 1);
	free(s);
}

/* Goal: a period over a change of tag is in no tag's rate, but counted. */
static void
test_straddling(void **state)
{
	struct scope *s = scope_new(1, DTE_MARGIN_PPM);
	struct sample p = {{0, 30}, {0}, 1};
	unsigned i;

	(void)state;
	assert_non_null(s);
	for (i = 1; i <= 1000; i++) {
		p.clock.begin += 1000;
		p.clock.end += 1000;
		p.tag = i / 10 % 2 + 1;
		p.value[0] += p.tag == 1 ? 100 : 500;
		scope_add(s, &p);
	}
	assert_int_equal(s->kept, 999);
	assert_int_equal(s->straddling, 100);
	assert_true(tag_rate(tags_row(&s->tags, 1), 0) == 0.1);
	assert_true(tag_rate(tags_row(&s->tags, 2), 0) == 0.5);
	assert_int_equal(tags_row(&s->tags, 1)->kept +
			     tags_row(&s->tags, 2)->kept + s->straddling,
	    s->kept);
	free(s);
}

/* Goal: a signal that falls (a restarted server) gives no rate. */
static void
test_fall(void **state)
{
	struct scope *s = scope_new(2, DTE_MARGIN_PPM);
	struct sample p = {{1000, 1030}, {500, 500}, 0};

	(void)state;
	assert_non_null(s);
	scope_add(s, &p);
	p.clock.begin += 1000;
	p.clock.end += 1000;
	p.value[0] = 3;
	assert_false(scope_add(s, &p));
	assert_int_equal(s->backwards, 1);
	assert_int_equal(s->kept, 0);
	p.clock.begin += 1000;
	p.clock.end += 1000;
	assert_true(scope_add(s, &p));
	free(s);
}

/* Goal: the table counts like a naive one, and loses nothing when full. */
static void
test_tags(void **state)
{
	static uint64_t naive[3 * TAGS];
	const struct tag_row *rows[TAGS];
	struct tags *t = malloc(sizeof(*t));
	uint64_t sum = 0;
	size_t n, i;

	(void)state;
	assert_non_null(t);
	srandom(3);
	tags_init(t);
	for (i = 0; i < 200000; i++) {
		uint64_t tag = (uint64_t)random() % (TAGS_MAX / 2);

		naive[tag]++;
		tags_row(t, tag << 32)->samples++;
	}
	n = tags_sorted(t, rows, TAGS);
	assert_int_equal(n, TAGS_MAX / 2);
	for (i = 0; i < n; i++) {
		assert_int_equal(rows[i]->samples, naive[rows[i]->tag >> 32]);
		assert_true(i == 0 || rows[i - 1]->samples >= rows[i]->samples);
	}
	tags_init(t);
	for (i = 0; i < 3 * TAGS; i++)
		tags_row(t, i)->samples++;
	n = tags_sorted(t, rows, TAGS);
	for (i = 0; i < n; i++)
		sum += rows[i]->samples;
	assert_int_equal(n, TAGS_MAX + 1);
	assert_ptr_equal(rows[n - 1], &t->others);
	assert_int_equal(sum, 3 * TAGS);
	free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_margin),
	    cmocka_unit_test(test_impossible),
	    cmocka_unit_test(test_straddling),
	    cmocka_unit_test(test_fall),
	    cmocka_unit_test(test_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
