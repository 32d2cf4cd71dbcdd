/* Goal: a tale that somebody waits for is told before those that nobody asked
 * for, is kept once, and is counted all the same. */
#include "tests/unit/unit.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/analysis/analysis.h"

#define TALES 8
/* Until the first is looked at. */
#define SETTLE_NS (500 * NS_PER_MS)

static struct analysis_question
question(enum analysis_kind kind, unsigned id, struct instant now)
{
	struct analysis_question q = {
	    .cookie = id,
	    .kind = kind,
	    .known = true,
	    .keep = true,
	    .reason =
		kind == ANALYSIS_KEEP ? TALE_REASON_TARGET : TALE_REASON_PINNED,
	    .format = TALE_FORMAT_TEXT,
	    .request =
		{
		    .id = id,
		    .method = "GET",
		    .target = "/",
		    .status = 200,
		    .first_byte = instant_plus(now, -NS_PER_MS),
		    .received = instant_plus(now, -NS_PER_MS),
		    .committed = now,
		    .finished = now,
		    .attempt = {{.server = -1}, {.server = -1}},
		},
	};

	snprintf(
	    q.request.external_id, sizeof(q.request.external_id), "id-%u", id);
	return q;
}

static void
ask(struct analysis *a, enum analysis_kind kind, unsigned id,
    struct instant now)
{
	struct analysis_question q = question(kind, id, now);

	assert_true(analysis_ask(a, &q));
}

static struct timeline *timeline;

static struct analysis *
analysis_begin(int64_t settle_ns, double cpu)
{
	struct analysis_options o = {.keep = 100,
	    .store = "",
	    .store_bytes = UINT64_C(4) << 20,
	    .settle_ns = settle_ns,
	    .cpu = cpu};
	struct analysis *a;

	assert_int_equal(timeline_new(&timeline, NULL, 10), 0);
	o.timeline = timeline;
	assert_int_equal(analysis_new(&a, &o), 0);
	return a;
}

static void
analysis_end(struct analysis *a)
{
	analysis_free(&a);
	timeline_free(&timeline);
}

static struct analysis_answer
answer_wait(struct analysis *a)
{
	struct pollfd p = {.fd = analysis_fd(a), .events = POLLIN};
	struct analysis_answer answer;

	while (!analysis_take(a, &answer))
		assert_int_equal(poll(&p, 1, 60000), 1);
	return answer;
}

static uint64_t
causes(const struct analysis *a)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		sum += analysis_seen(a).stats->cause_requests[i];
	return sum;
}

/* Whether all was asked for before the first one was looked at; else nothing is
 * known: then we were late, as on a busy machine. */
static bool
asked_for_comes_first(void)
{
	struct analysis *a = analysis_begin(SETTLE_NS, 1);
	struct analysis_question q;
	struct analysis_answer answer;
	struct instant now = instant_now();
	bool in_time;

	for (unsigned i = 1; i <= TALES; i++)
		ask(a, ANALYSIS_KEEP, i, now);
	ask(a, ANALYSIS_TALE, TALES, now);
	in_time = instant_since(instant_now(), now) < SETTLE_NS;
	answer = answer_wait(a);
	assert_int_equal(answer.cookie, TALES);
	assert_int_equal(answer.status, 200);
	free(answer.text);
	while (causes(a) < TALES)
		sched_yield();
	/* Had the others come first, it would have been kept twice. */
	if (in_time)
		assert_int_equal(analysis_seen(a).stats->added, TALES);
	assert_int_equal(analysis_seen(a).stats->tales, TALES);

	/* It was pinned, and stays so. */
	q = (struct analysis_question){.cookie = 99,
	    .kind = ANALYSIS_SLOW,
	    .list = {.n = TALES, .cause = -1}};
	assert_true(analysis_ask(a, &q));
	answer = answer_wait(a);
	assert_int_equal(answer.cookie, 99);
	assert_non_null(strstr(answer.text, "pinned"));
	free(answer.text);
	analysis_end(a);
	return in_time;
}

TEST(test_asked_for_comes_first)
{
	unsigned tries = 0;

	while (!asked_for_comes_first())
		assert_int_not_equal(++tries, 100);
}

/* Goal: a slow request whose response is then acknowledged late, too, is
 * counted once. */
TEST(test_counted_once)
{
	struct analysis *a = analysis_begin(0, 1);
	struct instant now = instant_now();
	struct analysis_question q = question(ANALYSIS_KEEP, 1, now);

	assert_true(analysis_ask(a, &q));
	q.counted = true;
	q.request.acknowledged = instant_plus(now, NS_PER_S);
	assert_true(analysis_ask(a, &q));
	ask(a, ANALYSIS_KEEP, 2, now);
	while (analysis_seen(a).stats->tales < 2)
		sched_yield();
	assert_int_equal(causes(a), 2);
	analysis_end(a);
}

/*
 * Goal: an answer waits for no tale that no client asked for, though that one
 * waits for its events; a list waits for some, and not for long.
 */
TEST(test_never_busy)
{
	struct analysis *a = analysis_begin(3600 * NS_PER_S, 1);
	unsigned missed;
	struct analysis_question q;
	struct analysis_answer answer;
	struct instant now = instant_now();

	for (unsigned i = 1;; i++) {
		q = question(ANALYSIS_KEEP, i, now);
		if (!analysis_ask(a, &q))
			break; /* no room for more of these */
	}
	/* But for noting that there was none. */
	for (missed = 0;; missed++) {
		q = question(ANALYSIS_MISSED, 1000 + missed, now);
		if (!analysis_ask(a, &q))
			break;
	}
	assert_true(missed > 0);
	for (unsigned i = 1; i <= TALES; i++) {
		q = question(ANALYSIS_TALE, i, now);
		q.keep = false;
		assert_true(analysis_ask(a, &q));
	}
	q = (struct analysis_question){.cookie = TALES + 1,
	    .kind = ANALYSIS_SLOW,
	    .list = {.n = TALES, .cause = -1}};
	assert_true(analysis_ask(a, &q));
	for (unsigned i = 1; i <= TALES + 1; i++) {
		answer = answer_wait(a);
		assert_int_equal(answer.cookie, i);
		assert_int_equal(answer.status, 200);
		free(answer.text);
	}
	assert_int_equal(analysis_seen(a).stats->added, 0);
	analysis_end(a);
}

/* The list of slow requests; free it. */
static char *
list(struct analysis *a, int cause)
{
	struct analysis_question q = {
	    .kind = ANALYSIS_SLOW, .list = {.n = 1000, .cause = cause}};
	struct analysis_answer answer;

	assert_true(analysis_ask(a, &q));
	answer = answer_wait(a);
	assert_int_equal(answer.status, 200);
	return answer.text;
}

static unsigned
occurs(const char *text, const char *part)
{
	unsigned n = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* Goal: without budget only what clients ask is done; the rest is counted, and
 * listed with the reason. */
TEST(test_no_budget)
{
	struct analysis *a = analysis_begin(1, 0);
	struct analysis_answer answer;
	char *text;

	for (unsigned i = 1; i <= TALES; i++)
		ask(a, ANALYSIS_KEEP, i, instant_now());
	ask(a, ANALYSIS_TALE, 1, instant_now());
	answer = answer_wait(a);
	assert_int_equal(answer.status, 200);
	free(answer.text);
	while (analysis_seen(a).missed->count[MISSED_BUDGET] < TALES)
		sched_yield();
	assert_int_equal(analysis_seen(a).missed->count[MISSED_BUDGET], TALES);
	assert_int_equal(analysis_seen(a).stats->added, 1);
	assert_int_equal(causes(a), 0);
	/* The list has them, but for the one that has a timeline by now. */
	text = list(a, -1);
	assert_int_equal(occurs(text, "\"missing\":\"budget\""), TALES - 1);
	assert_int_equal(
	    occurs(text, "No timeline: analysis.cpu was used up"), TALES - 1);
	assert_int_equal(occurs(text, "\"id\":\"id-1\""), 1);
	free(text);
	text = list(a, TALE_CAUSE_GC);
	assert_int_equal(occurs(text, "\"missing\":\"budget\""), 0);
	free(text);
	analysis_end(a);
}

/* Goal: a slow request for which there was no room is listed with the reason,
 * whatever the budget; its count is with those who had no room. */
TEST(test_no_room)
{
	struct analysis *a = analysis_begin(1, 0);
	struct analysis_question q =
	    question(ANALYSIS_MISSED, 7, instant_now());
	char *text;

	q.taken = true;
	assert_true(analysis_ask(a, &q));
	while (analysis_seen(a).missed->count[MISSED_QUEUE] < 1)
		sched_yield();
	assert_int_equal(analysis_seen(a).missed->count[MISSED_BUDGET], 0);
	text = list(a, -1);
	assert_int_equal(occurs(text, "\"missing\":\"queue\""), 1);
	assert_int_equal(occurs(text, "\"id\":\"id-7\""), 1);
	free(text);
	analysis_end(a);
}

/* Goal: while a server pauses only what clients ask is done, but what waits has
 * its turn. */
TEST(test_rest)
{
	struct analysis *a = analysis_begin(1, 1);
	struct analysis_answer answer;
	struct instant begin = instant_now();

	analysis_rest(a, instant_plus(begin, 3600 * NS_PER_S));
	ask(a, ANALYSIS_KEEP, 1, begin);
	ask(a, ANALYSIS_TALE, 2, begin);
	answer = answer_wait(a);
	assert_int_equal(answer.cookie, 2);
	free(answer.text);
	while (causes(a) < 1)
		sched_yield();
	assert_true(instant_since(instant_now(), begin) >= ANALYSIS_REST_NS);
	analysis_end(a);
}
