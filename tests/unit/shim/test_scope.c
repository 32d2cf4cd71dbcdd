/*
 * test_scope.c: error correction, rates by tag, and counting all of it.
 */
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "profiler/counters/dte.h"
#include "shim/scope.h"

/* Goal: the margin is where it is said to be, on both sides, at any size. */
TEST(test_margin)
{
	static const uint64_t periods[] = {
	    100, 1000, 1000000, UINT64_C(1) << 40};
	struct dte_clock last = {1000, 1040}, now;
	size_t i;
	int side;

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
}

/* Goal: a slow read makes an impossible rate in raw and none in kept. */
TEST(test_impossible)
{
	struct shim_scope *s = scope_new(1, DTE_MARGIN_PPM);
	struct shim_sample p = {{0, 30}, {0}, 7};
	unsigned i;

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

/* Goal: time that may have been another tag's is in no tag's rate: that of
 * the first sample of a tag, and that before its second. */
TEST(test_straddling)
{
	struct shim_scope *s = scope_new(1, DTE_MARGIN_PPM);
	struct shim_sample p = {{0, 30}, {0}, 1};
	unsigned i;

	assert_non_null(s);
	for (i = 1; i <= 1000; i++) {
		p.clock.begin += 1000;
		p.clock.end += 1000;
		p.tag = i / 10 % 2 + 1;
		p.value[0] += i % 10 < 2 ? 300 : p.tag == 1 ? 100 : 500;
		scope_add(s, &p);
	}
	assert_int_equal(s->kept, 999);
	assert_int_equal(s->straddling, 100);
	assert_true(tag_rate(tags_row(&s->tags, 1), 0) == 0.1);
	assert_true(tag_rate(tags_row(&s->tags, 2), 0) == 0.5);
	assert_int_equal(
	    tags_row(&s->tags, 1)->kept + tags_row(&s->tags, 2)->kept,
	    7 + 99 * 8);
	free(s);
}

/* Goal: where reading takes longer when the word has changed, the rate by tag
 * is the true one all the same, which that of the kept periods is not; also
 * where the reader is pushed off before it reads the clock again. */
TEST(test_joined)
{
	struct shim_scope *s = scope_new(1, DTE_MARGIN_PPM);
	const struct tag_row *r;
	struct shim_sample p = {0};
	uint64_t clock = 1, pushed = 0;
	double kept;
	unsigned i;

	assert_non_null(s);
	srandom(5);
	for (i = 0; i < 100000; i++) {
		bool moved = random() % 3 == 0 || pushed > 0;

		p.clock.begin = clock;
		p.clock.end = clock + (moved ? 600 : 30);
		if (moved) /* else the CPU still has the old value */
			p.value[0] = p.clock.end / 20;
		pushed = random() % 1000 == 0 ? 50000 : 0;
		p.clock.end += pushed;
		scope_add(s, &p);
		clock = p.clock.end + 100;
	}
	r = tags_row(&s->tags, 0);
	assert_in_range((uint64_t)(tag_rate(r, 0) * 10000), 490, 510);
	assert_true(r->kept > 50000);
	assert_true((double)r->cycles > .8 * (double)clock);
	kept = (double)s->rate[0].sum / (double)s->rate[0].count / SCOPE_RATE;
	assert_true(kept < 0.04);
	free(s);
}

/* Goal: where we were away long enough for a tag to change and come back,
 * what happened meanwhile is not that tag's. */
TEST(test_away)
{
	struct shim_scope *s = scope_new(1, DTE_MARGIN_PPM);
	struct shim_sample p = {{1, 31}, {0}, 1};
	unsigned i;

	assert_non_null(s);
	for (i = 1; i <= 1000; i++) {
		uint64_t cycles = i % 100 == 50 ? 20000 : 1000;

		p.clock.begin += cycles;
		p.clock.end += cycles;
		p.value[0] += cycles == 1000 ? 100 : 9000;
		scope_add(s, &p);
	}
	assert_true(tag_rate(tags_row(&s->tags, 1), 0) == 0.1);
	assert_int_equal(tags_row(&s->tags, 1)->kept, 998 - 10);
	free(s);
}

/* Goal: a signal that falls (a restarted server) gives no rate. */
TEST(test_fall)
{
	struct shim_scope *s = scope_new(2, DTE_MARGIN_PPM);
	struct shim_sample p = {{1000, 1030}, {500, 500}, 0};

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
TEST(test_tags)
{
	static uint64_t naive[3 * TAGS];
	const struct tag_row *rows[TAGS];
	struct tags *t = malloc(sizeof(*t));
	uint64_t sum = 0;
	size_t n, i;

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
