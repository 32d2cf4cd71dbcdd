/* Goal: of known pauses and requests, what acting would have changed: which
 * would have gone elsewhere, when, and which not. */
#include "tests/unit/unit.h"

#include <string.h>

#include "proxy/stats/gain.h"
#include "talechain/talechain.h"

#define MS NS_PER_MS
#define GC (1u << HAZARD_GC)

static struct recent recent;
static struct gain gain;
static struct gain_checks checks[2];
static struct gain_seen seen = {&recent, GC, {&checks[0], &checks[1]}};

static struct instant
at(int64_t ms)
{
	return instant_plus((struct instant){UINT64_C(1) << 50}, ms * MS);
}

static void
pause_noticed(unsigned server, int64_t begin, int64_t noticed, int64_t end)
{
	struct hazard h = {.server = (uint8_t)server,
	    .kind = HAZARD_GC,
	    .begin = 1,
	    .at = at(begin),
	    .seen = at(begin)};

	recent_hazard_note(&recent, &h, at(noticed));
	h.cause = TALECHAIN_CAUSE_ALLOCATION; /* known at its end */
	h.begin = 0;
	h.at = h.seen = at(end);
	recent_hazard_note(&recent, &h, at(end));
}

static void
pause_of(unsigned server, int64_t begin, int64_t end)
{
	pause_noticed(server, begin, begin, end);
}

static const struct gain_block *
note(struct gain_request r, int64_t from, int64_t to)
{
	r.first_byte = r.written = at(from);
	r.finished = at(to);
	r.committed = r.failed ? INSTANT_NONE : r.finished;
	gain_note(&gain, &seen, &r);
	return &gain.block[r.finished.ns / (uint64_t)GAIN_BLOCK_NS %
			   GAIN_BLOCKS];
}

/* A service that takes 5 ms; no pause. */
static void
begin(void)
{
	memset(&recent, 0, sizeof(recent));
	memset(&gain, 0, sizeof(gain));
	memset(checks, 0, sizeof(checks));
	seen.triggers = GC;
	for (int i = 0; i < 100; i++)
		note((struct gain_request){.repeatable = true}, 10L * i,
		    10L * i + 5);
}

/* How many took, within a bucket, that long. */
static unsigned
with(const uint32_t *count, int64_t ns)
{
	unsigned i = 0;

	while (i + 1 < GAIN_BUCKETS && gain_bucket_ns(i + 1) <= ns)
		i++;
	return count[i];
}

TEST(test_one_that_waits_is_sent_again)
{
	const struct gain_block *b;

	begin();
	pause_of(0, 2003, 2203);
	b = note((struct gain_request){.repeatable = true}, 2000, 2206);
	assert_int_equal(b->met, 1);
	assert_int_equal(b->again, 1);
	assert_int_equal(with(b->was, 206 * MS), 1);
	/* 3 ms until the pause, and 5 ms there. */
	assert_int_equal(with(b->would, 8 * MS), GAIN_DRAWS);
	assert_int_equal(with(b->would, 206 * MS), 0);
	assert_int_equal(b->was_max_ns, 206 * MS);
	assert_int_equal(b->would_max_ns, 8 * MS);
}

TEST(test_a_pause_that_was_noticed_late)
{
	const struct gain_block *b;

	begin();
	pause_noticed(0, 2003, 2010, 2203);
	note((struct gain_request){.repeatable = true}, 2000, 2206);
	b = note((struct gain_request){.repeatable = true}, 2008, 2206);
	assert_int_equal(b->again, 2);
	assert_int_equal(with(b->would, 15 * MS), GAIN_DRAWS);
	assert_int_equal(with(b->would, 7 * MS), GAIN_DRAWS);
	/* Too late to act on. */
	pause_noticed(0, 3003, 3020, 3015);
	b = note((struct gain_request){.repeatable = true}, 3000, 3030);
	assert_int_equal(b->again, 2);
	assert_int_equal(b->would_max_ns, 30 * MS);
}

/* One request, and a pause of its server from begin to end. */
static const struct {
	const char *name;
	int64_t begin, end, from, to, would_max;
	struct gain_block block; /* only what is counted, not how long */
	enum { AS_USUAL, ONCE, FAILS, BOTH_PAUSE, NONE_KNOWN, NO_TRIGGER } but;
} single[] = {
    {"one that must not be repeated waits; steering would help it", 2003, 2203,
	2000, 2206, 206, {.full = 1, .full_once = 1}, ONCE},
    {"one that comes in the pause goes elsewhere", 2003, 2203, 2100, 2206, 5,
	{.met = 1, .full = 1}, ONCE},
    {"an honestly slow one stays slow", 1500, 1600, 2000, 2400, 400, {0},
	AS_USUAL},
    {"the first of two responses counts: it was shorter than a request takes",
	2003, 2005, 2000, 2007, 7, {.met = 1, .again = 1, .full = 1}, AS_USUAL},
    {"both in a pause", 2003, 2203, 2000, 2206, 206,
	{.met = 1, .unknown = 1, .full = 1}, BOTH_PAUSE},
    {"nothing to estimate from", 2003, 2203, 2000, 2206, 206,
	{.met = 1, .unknown = 1, .full = 1}, NONE_KNOWN},
    {"one that failed in a pause is saved", 2003, 2203, 2000, 2010, 0,
	{.met = 1, .again = 1, .full = 1, .failed = 1, .saved = 1}, FAILS},
    {"not one that failed later", 2003, 2203, 3000, 3010, 0, {.failed = 1},
	FAILS},
    {"a kind that does not trigger", 2003, 2203, 2000, 2206, 206, {.full = 1},
	NO_TRIGGER},
};

TEST(test_single)
{
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		const struct gain_block *b, *e = &single[i].block;

		print_message("%s\n", single[i].name);
		begin();
		if (single[i].but == NONE_KNOWN)
			memset(&gain, 0, sizeof(gain));
		if (single[i].but == NO_TRIGGER)
			seen.triggers = 1u << HAZARD_EXIT;
		if (single[i].but == BOTH_PAUSE)
			pause_of(1, single[i].begin - 2, single[i].end - 2);
		pause_of(0, single[i].begin, single[i].end);
		b = note(
		    (struct gain_request){.repeatable = single[i].but != ONCE,
			.failed = single[i].but == FAILS},
		    single[i].from, single[i].to);
		assert_int_equal(b->met, e->met);
		assert_int_equal(b->again, e->again);
		assert_int_equal(b->unknown, e->unknown);
		assert_int_equal(b->failed, e->failed);
		assert_int_equal(b->saved, e->saved);
		assert_int_equal(b->full, e->full);
		assert_int_equal(b->full_once, e->full_once);
		if (single[i].but != FAILS)
			assert_int_equal(
			    b->would_max_ns, single[i].would_max * MS);
	}
}

TEST(test_the_queue_behind_a_pause)
{
	const struct gain_block *b;

	begin();
	pause_of(0, 2003, 2203);
	note((struct gain_request){.repeatable = true}, 2000, 2250);
	b = note((struct gain_request){.repeatable = false}, 2210, 2300);
	assert_int_equal(b->met, 2);
	assert_int_equal(b->was_max_ns, 250 * MS);
	assert_int_equal(b->would_max_ns, 8 * MS);
	/* Behind the queue. */
	b = note((struct gain_request){.repeatable = true}, 2251, 2290);
	assert_int_equal(b->met, 2);
	assert_int_equal(b->would_max_ns, 39 * MS);
}

TEST(test_the_queue_of_those_that_came_in_the_pause)
{
	const struct gain_block *b;
	uint64_t samples;

	begin();
	pause_of(0, 2003, 2203);
	note((struct gain_request){.repeatable = true}, 2100, 2250);
	samples = gain.samples;
	b = note((struct gain_request){.repeatable = true}, 2210, 2300);
	assert_int_equal(b->met, 2);
	assert_int_equal(b->again, 0);
	assert_int_equal(b->would_max_ns, 5 * MS);
	assert_int_equal(gain.samples, samples);
}

TEST(test_the_other_server_is_slower_meanwhile)
{
	const struct gain_block *b;

	begin();
	pause_of(0, 2003, 2203);
	for (int i = 0; i < GAIN_CHECKS_LEAST; i++) {
		gain_check(&checks[0], GAIN_CALM, 2 * MS);
		gain_check(&checks[1], GAIN_CALM, 70 * MS);
		assert_int_equal(
		    gain_checks_suffice(&checks[0], &checks[1]), false);
		gain_check(&checks[1], GAIN_LATER, 12 * MS);
	}
	assert_true(gain_checks_suffice(&checks[0], &checks[1]));
	assert_false(gain_checks_suffice(&checks[1], &checks[0]));
	b = note((struct gain_request){.repeatable = true}, 2000, 2206);
	/* 3 ms until the pause, 5 there, and 12 - 2 more. */
	assert_int_equal(with(b->would, 18 * MS), GAIN_DRAWS);
	assert_int_equal(b->would_max_ns, 18 * MS);
}

TEST(test_the_begin_of_a_pause)
{
	const struct gain_block *b;

	begin();
	pause_of(0, 2003, 2203);
	for (int i = 0; i < GAIN_CHECKS_LEAST; i++) {
		gain_check(&checks[0], GAIN_CALM, 2 * MS);
		gain_check(&checks[1], GAIN_BEGIN, 32 * MS);
		gain_check(&checks[1], GAIN_LATER, 4 * MS);
	}
	note((struct gain_request){.repeatable = true}, 2000, 2206);
	b = note((struct gain_request){.repeatable = true}, 2006, 2206);
	assert_int_equal(with(b->would, 38 * MS), GAIN_DRAWS);
	assert_int_equal(with(b->would, 35 * MS), GAIN_DRAWS);
	assert_int_equal(with(b->would, 7 * MS), 0);
	note((struct gain_request){.repeatable = true}, 2008, 2206);
	assert_int_equal(with(b->would, 7 * MS), GAIN_DRAWS);
	/* After the pause the other server is as fast as ever. */
	b = note((struct gain_request){.repeatable = true}, 2204, 2290);
	assert_int_equal(b->met, 4);
	assert_int_equal(with(b->would, 7 * MS), GAIN_DRAWS);
}

/* One check in eight is slow anyway, and so are requests. */
TEST(test_what_is_slow_without_a_pause_is_not_added)
{
	const struct gain_block *b;

	begin();
	pause_of(0, 2003, 2203);
	for (int i = 0; i < 2 * GAIN_CHECKS; i++) {
		gain_check(&checks[0], GAIN_CALM, (i % 8 == 0 ? 90 : 2) * MS);
		gain_check(&checks[1], GAIN_LATER, (i % 8 == 5 ? 91 : 3) * MS);
	}
	b = note((struct gain_request){.repeatable = true}, 2100, 2206);
	assert_int_equal(with(b->would, 6 * MS), GAIN_DRAWS);
	assert_int_equal(b->would_max_ns, 6 * MS);
}

/* Each place of a ring is drawn, and none twice as often as it should. */
TEST(test_draws)
{
	const struct gain_block *b = NULL;
	unsigned n = 0;

	begin();
	pause_of(0, 2003, 2203);
	for (int i = 0; i < GAIN_CHECKS; i++) {
		gain_check(&checks[0], GAIN_CALM, 0);
		gain_check(&checks[1], GAIN_LATER, (i % 2 == 0 ? 0 : 100) * MS);
	}
	for (int i = 0; i < 100; i++)
		b = note((struct gain_request){.repeatable = true}, 2100, 2206);
	for (unsigned i = 0; i < GAIN_BUCKETS; i++)
		n += gain_bucket_ns(i) > 50 * MS ? b->would[i] : 0;
	assert_in_range(n, 700, 900);
}

TEST(test_buckets)
{
	begin();
	for (unsigned i = 1; i < GAIN_BUCKETS; i++)
		assert_true(gain_bucket_ns(i) > gain_bucket_ns(i - 1));
	assert_true(gain_bucket_ns(GAIN_BUCKETS - 1) > 50 * NS_PER_S);
	assert_int_equal(
	    with(note((struct gain_request){0}, 3000, 3000)->was, 0), 1);
}
