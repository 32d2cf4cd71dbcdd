/*
 * Goal: in a pause of the kernel's events nothing is said but that it was not
 * observed; what was known before and after stays known; nothing that the pause
 * hides is taken for what was seen last.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/talechain/plot.h"

#define FROM 3000 /* us: the pause */
#define UNTIL 6000

static void
unsampled(struct plot *p, int64_t from_us, int64_t until_us)
{
	SCENE(&p->scene, from_us * US, -1, TALECHAIN_META_UNSAMPLED,
	    scene_at(until_us * US).ns, 100000);
}

/* All of a cause, us. */
static int64_t
sum_us(const struct story *s, enum tale_cause cause)
{
	return s->cause_ns[cause] / US;
}

static void
assert_dark(const struct story *s, int64_t from_us, int64_t until_us)
{
	int64_t at = 0;

	for (size_t i = 0; i < s->segments; i++) {
		const struct story_segment *p = &s->segment[i];

		assert_int_equal(p->begin_ns, at);
		at = p->end_ns;
		if (p->end_ns > from_us * US && p->begin_ns < until_us * US)
			assert_string_equal(tale_cause_code(p->cause),
			    tale_cause_code(TALE_CAUSE_NOT_OBSERVED));
	}
	assert_int_equal(at, s->total_ns);
}

/* Goal: a thread computes; a part of it is not observed. */
TEST(test_middle)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	unsampled(&p, FROM, UNTIL);
	s = plot_tell(&p);
	assert_dark(s, FROM, UNTIL);
	assert_int_equal(sum_us(s, TALE_CAUSE_NOT_OBSERVED), UNTIL - FROM);
	assert_in_range(sum_us(s, TALE_CAUSE_WORK), 6800, 7000);
	assert_int_equal(s->contradictions, 0);
	plot_fini(&p);
}

/* Goal: what a thread was doing as the pause began did not last. */
TEST(test_state_ends)
{
	static const enum talechain_off off[] = {TALECHAIN_OFF_PREEMPTED,
	    TALECHAIN_OFF_SLEEPING, TALECHAIN_OFF_DISK, TALECHAIN_OFF_STOPPED,
	    TALECHAIN_OFF_THROTTLED};
	struct plot p;
	struct story *s;

	for (unsigned i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		plot_init(&p);
		plot_leaves(&p, FROM - 100, A_TID, off[i], HOG);
		unsampled(&p, FROM, UNTIL);
		s = plot_tell(&p);
		assert_dark(s, FROM, UNTIL);
		assert_int_equal(
		    sum_us(s, TALE_CAUSE_NOT_OBSERVED), UNTIL - FROM);
		/* It left its CPU at the end, so it ran since the pause. */
		assert_in_range(sum_us(s, TALE_CAUSE_WORK), 6700, 6900);
		plot_fini(&p);
	}
}

/* Goal: it comes back after the pause: how long it was away is not known. */
TEST(test_comes_back)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	plot_leaves(&p, FROM - 100, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	unsampled(&p, FROM, UNTIL);
	plot_enters(&p, UNTIL + 1000, A_TID, 0, HOG);
	s = plot_tell(&p);
	assert_dark(s, FROM, UNTIL);
	assert_int_equal(sum_us(s, TALE_CAUSE_PREEMPTED), 100);
	assert_in_range(sum_us(s, TALE_CAUSE_WORK), 5600, 5900);
	assert_in_range(sum_us(s, TALE_CAUSE_UNKNOWN), 1000, 1010);
	plot_fini(&p);
}

/* Goal: one that began long before the request, and one that lasts. */
TEST(test_whole)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	unsampled(&p, -900000, 100000);
	p.unserved = false;
	s = plot_tell(&p);
	assert_true(sum_us(s, TALE_CAUSE_NOT_OBSERVED) > 9800);
	assert_string_equal(tale_cause_code(s->verdict.cause),
	    tale_cause_code(TALE_CAUSE_NOT_OBSERVED));
	assert_non_null(strstr(s->verdict.text,
	    "kernel events are sampled above 100000/s, and were not recorded "
	    "then"));
	plot_fini(&p);
}

/* Goal: a pause that was over before the request is none of its. */
TEST(test_over)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	unsampled(&p, -900000, -100);
	s = plot_tell(&p);
	assert_int_equal(sum_us(s, TALE_CAUSE_NOT_OBSERVED), 0);
	assert_true(sum_us(s, TALE_CAUSE_WORK) > 9800);
	plot_fini(&p);
}

/* Goal: what Tailor itself recorded is known in a pause, too. */
TEST(test_own)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	p.unserved = true;
	unsampled(&p, FROM, UNTIL);
	s = plot_tell(&p);
	assert_int_equal(sum_us(s, TALE_CAUSE_NOT_OBSERVED), 0);
	assert_true(sum_us(s, TALE_CAUSE_PROXY_QUEUE) > 9800);
	plot_fini(&p);
}

/* Goal: of a request that came in pieces the events after the first have not
 * been read.  It is not claimed that Tailor was slow to read it. */
TEST(test_unread)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	p.rest = 30000;
	p.unread = true;
	p.written = 30060;
	p.back = 30500;
	s = plot_tell(&p);
	assert_false(tale_whole(p.tale));
	assert_int_equal(s->verdict.cause, TALE_CAUSE_NOT_OBSERVED);
	assert_non_null(strstr(s->verdict.text, "had not read the events"));
	assert_true(sum_us(s, TALE_CAUSE_NOT_OBSERVED) >= 30000);
	assert_true(sum_us(s, TALE_CAUSE_PROXY) < 100);
	plot_fini(&p);
}
