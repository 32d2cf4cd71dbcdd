/*
 * Goal: what sums tell of a pause of the kernel's events is claimed, as likely,
 * once and no longer than they say; what they do not tell stays not observed;
 * sums of other requests, or that cannot be true, tell nothing.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/talechain/plot.h"

#define TAILORS_END 81 /* the cookie of attempt 0's connection */

/* One epoch; us. */
struct epoch {
	int64_t begin, end, way;
	int64_t ran, ready, preempted, slept, lock, disk, blocked;
	int64_t stolen, handled, fault;
	unsigned marks;
	uint64_t cookie; /* 0: attempt 0's */
};

static uint64_t
two(int64_t high_us, int64_t low_us)
{
	return PACK(high_us * US, low_us * US);
}

static void
epoch(struct plot *p, const struct epoch *e)
{
	KERNEL(p, e->end, A_TID, A_PID, TALECHAIN_EPOCH_SUM,
	    e->cookie != 0 ? e->cookie : TAILORS_END,
	    two(e->way, e->end - e->begin), two(e->ran, e->ready),
	    two(e->preempted, e->slept));
	KERNEL(p, e->end, A_TID, A_PID, TALECHAIN_EPOCH_REST,
	    two(e->lock, e->disk), two(e->blocked, e->stolen),
	    two(e->handled, e->fault), (uint64_t)e->marks << 48);
}

static void
dark(struct plot *p)
{
	plot_init(p);
	p->dark = true;
	SCENE(&p->scene, -900000 * US, -1, TALECHAIN_META_UNSAMPLED,
	    scene_at(900000 * US).ns, 100000);
}

/* Tell it.  Its pieces tile it, and all of a server's are likely. */
static void
tell(struct plot *p)
{
	int64_t at = 0;

	plot_tell(p);
	for (size_t i = 0; i < p->story->segments; i++) {
		const struct story_segment *g = &p->story->segment[i];

		assert_int_equal(g->begin_ns, at);
		at = g->end_ns;
		if (g->cause == TALE_CAUSE_WORK ||
		    g->cause == TALE_CAUSE_DISK || g->cause == TALE_CAUSE_RUNQ)
			assert_int_equal(g->confidence, STORY_LIKELY);
	}
	assert_int_equal(at, p->story->total_ns);
	assert_int_equal(p->story->contradictions, 0);
}

static void
assert_us(const struct plot *p, enum tale_cause cause, int64_t us)
{
	int64_t is = p->story->cause_ns[cause] / US;

	if (is != us)
		print_message("%s: %lld us, not %lld\n", tale_cause_code(cause),
		    (long long)is, (long long)us);
	assert_int_equal(is, us);
}

static int64_t
dark_us(const struct plot *p)
{
	return p->story->cause_ns[TALE_CAUSE_NOT_OBSERVED] / US;
}

/* Goal: each sum is a cause of that length. */
TEST(test_all)
{
	struct plot p;

	dark(&p);
	epoch(&p, &(struct epoch){.begin = 1000,
		      .end = 9000,
		      .way = 800,
		      .ran = 3000,
		      .ready = 1000,
		      .preempted = 900,
		      .slept = 500,
		      .blocked = 100,
		      .lock = 1100,
		      .disk = 1200,
		      .stolen = 400,
		      .handled = 600,
		      .fault = 300});
	tell(&p);
	assert_us(&p, TALE_CAUSE_BACKEND_QUEUE, 800);
	assert_us(&p, TALE_CAUSE_STEAL, 400);
	assert_us(&p, TALE_CAUSE_IRQ, 200); /* what the host did not take */
	assert_us(&p, TALE_CAUSE_PAGE_FAULT, 300);
	assert_us(&p, TALE_CAUSE_WORK, 2100);
	assert_us(&p, TALE_CAUSE_RUNQ, 1000);
	assert_us(&p, TALE_CAUSE_PREEMPTED, 900);
	assert_us(&p, TALE_CAUSE_LOCK, 1100);
	assert_us(&p, TALE_CAUSE_DISK, 1200);
	assert_us(&p, TALE_CAUSE_SLEEP, 600);
	/* Of the epoch, and of Tailor's reading. */
	assert_in_range(dark_us(&p), 200, 210);
	assert_in_range(p.story->cause_ns[TALE_CAUSE_PROXY] / US, 1000, 1400);
	plot_fini(&p);
}

/* Goal: the verdict says what, and that it is known as a sum only. */
TEST(test_words)
{
	struct plot p;

	dark(&p);
	epoch(&p, &(struct epoch){
		      .begin = 100, .end = 9900, .ran = 800, .disk = 9000});
	tell(&p);
	assert_int_equal(p.story->verdict.cause, TALE_CAUSE_DISK);
	assert_int_equal(p.story->verdict.confidence, STORY_LIKELY);
	assert_non_null(strstr(
	    p.story->verdict.text, "waited for disk, by its sums (likely)"));
	assert_non_null(strstr(p.story->verdict.evidence[0], "not when"));
	assert_true(p.story->known > 0.95 && p.story->coverage < 0.1);
	plot_fini(&p);
}

/* Goal: a collection has its own time; the sleep meanwhile is the same. */
TEST(test_collection)
{
	struct plot p;

	dark(&p);
	SCENE(&p.scene, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	SCENE(&p.scene, 7000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 6000 * US);
	epoch(&p, &(struct epoch){.begin = 100,
		      .end = 9900,
		      .ran = 2900,
		      .lock = 6100,
		      .disk = 800});
	tell(&p);
	assert_us(&p, TALE_CAUSE_GC, 6000);
	assert_us(&p, TALE_CAUSE_LOCK, 100);
	assert_us(&p, TALE_CAUSE_WORK, 2900);
	assert_us(&p, TALE_CAUSE_DISK, 800);
	plot_fini(&p);
	/* A thread that did not stop for it: what it did is not said. */
	dark(&p);
	SCENE(&p.scene, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	SCENE(&p.scene, 7000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 6000 * US);
	epoch(&p, &(struct epoch){.begin = 100, .end = 9900, .ran = 9800});
	tell(&p);
	assert_us(&p, TALE_CAUSE_GC, 6000);
	assert_us(&p, TALE_CAUSE_WORK, 0);
	plot_fini(&p);
}

/* Goal: what is sent in pieces has sums from each to the next. */
TEST(test_pieces)
{
	struct plot p;

	dark(&p);
	epoch(&p, &(struct epoch){.begin = 100, .end = 2000, .ran = 1900});
	epoch(&p, &(struct epoch){.begin = 2000,
		      .end = 9900,
		      .disk = 7900,
		      .marks = TALECHAIN_EPOCH_MORE});
	tell(&p);
	assert_us(&p, TALE_CAUSE_WORK, 1900);
	assert_us(&p, TALE_CAUSE_DISK, 7900);
	plot_fini(&p);
}

/* Goal: none of these is taken for this request's. */
TEST(test_others)
{
	static const struct epoch wrong[] = {
	    {.begin = 100, .end = 9000, .ran = 8900, .cookie = 82},
	    {.begin = -500, .end = 9000, .ran = 9500},	/* an earlier request */
	    {.begin = 100, .end = 11000, .ran = 10900}, /* a later end */
	    {.begin = 100,
		.end = 9000,
		.ran = 8900,
		.marks = TALECHAIN_EPOCH_OTHER},
	    {.begin = 100,
		.end = 9000,
		.ran = 8900,
		.marks = TALECHAIN_EPOCH_MORE}, /* of no begin */
	    {.begin = 100, .end = 9000, .ran = 8900, .slept = 1000},
	};
	struct plot p;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		dark(&p);
		epoch(&p, &wrong[i]);
		tell(&p);
		assert_us(&p, TALE_CAUSE_WORK, 0);
		assert_true(dark_us(&p) > 8800);
		plot_fini(&p);
	}
}

/* Goal: where the kernel's events are there, the story is made of them. */
TEST(test_events)
{
	struct plot p;

	plot_init(&p);
	epoch(&p, &(struct epoch){.begin = 100, .end = 9900, .disk = 9800});
	plot_tell(&p);
	assert_us(&p, TALE_CAUSE_DISK, 0);
	assert_true(p.story->cause_ns[TALE_CAUSE_WORK] > 9800 * US);
	plot_fini(&p);
}
