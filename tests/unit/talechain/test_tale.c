/*
 * Goal: marked requests in, exactly their timelines out; pauses are paired
 * whatever is missing; losses and blind intervals are never hidden.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/render/render.h"
#include "talechain/tale/tale_struct.h"
#include "tests/unit/talechain/scene.h"

#define SLACK (200 * US)

/* Goal: 23 marked requests in, exactly 23 timelines out. */
TEST(test_marked)
{
	enum { MARKED = 23, EVENTS = 5000, KEEP = 1000 };
	static struct tale_request request[MARKED];
	static uint64_t expected[MARKED][KEEP];
	unsigned count[MARKED] = {0}, i, k;
	const struct talechain_event *e;
	struct scene s;
	struct tale *t;

	srand(5);
	scene_open(&s, 13);
	for (i = 0; i < EVENTS; i++) {
		k = (unsigned)rand() % (2 * MARKED); /* half are others' */
		if (k < MARKED) {
			if (count[k] == 0)
				request[k].stream_begin =
				    timeline_position(s.timeline);
			expected[k][count[k]++] = i;
			request[k].stream_end =
			    timeline_position(s.timeline) + 1;
			if (count[k] == 1)
				request[k].first_byte = scene_at(i * US);
			request[k].finished = scene_at(i * US);
		}
		SCENE(&s, i * US, -1,
		    rand() % 2 ? TALECHAIN_APP_MARK : TALECHAIN_PROXY_COMMIT,
		    1000 + k, i, k);
	}
	for (k = 0; k < MARKED; k++) {
		request[k].id = 1000 + k;
		request[k].attempt[0].server = request[k].attempt[1].server =
		    -1;
		assert_int_equal(
		    tale_slice(&t, s.reader, &request[k], NULL, SLACK), 0);
		assert_int_equal(t->entries, count[k]);
		for (i = 0; i < count[k]; i++) {
			e = &t->entry[i].slot.event;
			assert_int_equal(e->arg[0], 1000 + k);
			assert_int_equal(e->arg[1], expected[k][i]);
			assert_int_equal(e->arg[2], k);
		}
		assert_int_equal(tale_request(t)->id, 1000 + k);
		assert_int_equal(tale_lost(t), 0);
		tale_free(&t);
		assert_null(t);
	}
	scene_close(&s);
}

/* A request of one attempt on server 0, from 0 to 5 ms. */
static void
single(struct tale_request *r)
{
	scene_request(r);
	r->committed = scene_at(4900 * US);
	r->finished = scene_at(5000 * US);
	r->attempt[0] = (struct tale_attempt){
	    .server = 0,
	    .server_name = "A",
	    .trigger = "first",
	    .outcome = "won",
	    .written = scene_at(100 * US),
	    .first_byte = scene_at(4800 * US),
	    .complete = scene_at(4900 * US),
	    .status = 200,
	};
}

static struct tale *
slice(struct scene *s, const struct tale_request *r)
{
	struct tale *t;

	assert_int_equal(tale_slice(&t, s->reader, r, NULL, SLACK), 0);
	return t;
}

/* Tailor's own event of a request's end: the observer has read all of it. */
static void
finish(struct scene *s, const struct tale_request *r)
{
	SCENE(s, instant_since(r->finished, scene_at(0)), -1,
	    TALECHAIN_PROXY_FINISH, SCENE_ID);
}

static void
verdict_is(const struct tale *t, enum tale_cause cause, const char *text)
{
	struct story *s;

	assert_int_equal(tale_explain(&s, t), 0);
	assert_string_equal(s->verdict.text, text);
	assert_string_equal(
	    tale_cause_code(s->verdict.cause), tale_cause_code(cause));
	story_free(&s);
}

static void
pause_is(const struct tale_pause *p, int server, enum hazard_kind kind,
    int64_t begin_ns, int64_t end_ns)
{
	assert_int_equal(p->server, server);
	assert_int_equal(p->kind, kind);
	assert_int_equal(instant_since(p->begin, scene_at(0)), begin_ns);
	assert_int_equal(instant_since(p->end, scene_at(0)), end_ns);
}

/* Goal: two sources of one pause are one pause; another server's is none. */
TEST(test_pauses)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;

	scene_open(&s, 10);
	single(&r);
	SCENE(&s, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	SCENE(&s, 1000 * US, -1, TALECHAIN_HAZARD_BEGIN, 0, HAZARD_GC, 0);
	SCENE(&s, 1500 * US, 1, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	SCENE(&s, 3000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 2000 * US);
	SCENE(&s, 3001 * US, -1, TALECHAIN_HAZARD_END, 0, HAZARD_GC, 0,
	    2001 * US);
	SCENE(&s, 3500 * US, 0, TALECHAIN_JVM_SAFEPOINT_BEGIN, 9, 1);
	SCENE(&s, 3600 * US, 0, TALECHAIN_JVM_SAFEPOINT_END, 9, 1, 100 * US);
	finish(&s, &r);
	t = slice(&s, &r);
	assert_int_equal(t->entries, 7);
	assert_int_equal(t->pauses, 2);
	pause_is(&t->pause[0], 0, HAZARD_GC, 1000 * US, 3001 * US);
	assert_int_equal(t->pause[0].cause, TALECHAIN_CAUSE_ALLOCATION);
	assert_true(t->pause[0].begin_seen && t->pause[0].end_seen);
	pause_is(&t->pause[1], 0, HAZARD_SAFEPOINT, 3500 * US, 3600 * US);
	verdict_is(t, TALE_CAUSE_UNKNOWN,
	    "2.70 of 5.00 ms: not explained; A responded in 4.80 ms, but what "
	    "it did in that time is not known without kernel events. 2.00 of "
	    "5.00 ms: A was in a gc (allocation).");
	tale_free(&t);
	scene_close(&s);
}

/* Goal: a 7 ms stall that began before the request shows as 7 ms. */
TEST(test_pause_from_before)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;
	unsigned i;

	scene_open(&s, 12);
	single(&r);
	SCENE(&s, -9000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 6);
	SCENE(&s, -8000 * US, 0, TALECHAIN_JVM_GC_END, 1, 6, 1000 * US);
	SCENE(&s, -7000 * US, 0, TALECHAIN_JVM_SAFEPOINT_BEGIN, 9, 1);
	SCENE(&s, -6000 * US, 0, TALECHAIN_JVM_SAFEPOINT_END, 9, 1, 1000 * US);
	SCENE(&s, -3000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	for (i = 0; i < 1000; i++)
		SCENE(&s, -2000 * US, 0, TALECHAIN_APP_MARK, 1);
	r.stream_begin = timeline_position(s.timeline);
	t = slice(&s, &r);
	assert_int_equal(t->entries, 1); /* what was over is not in it */
	assert_int_equal(t->pauses, 1);
	pause_is(&t->pause[0], 0, HAZARD_GC, -3000 * US, 5000 * US);
	assert_true(t->pause[0].begin_seen);
	assert_false(t->pause[0].end_seen);
	tale_free(&t);
	SCENE(&s, 4000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 7000 * US);
	finish(&s, &r);
	r.stream_end = timeline_position(s.timeline);
	t = slice(&s, &r);
	assert_int_equal(t->pauses, 1);
	pause_is(&t->pause[0], 0, HAZARD_GC, -3000 * US, 4000 * US);
	assert_true(t->pause[0].end_seen);
	verdict_is(
	    t, TALE_CAUSE_GC, "3.90 of 5.00 ms: A was in a gc (allocation).");
	tale_free(&t);
	scene_close(&s);
}

/* Goal: with beginnings or ends missing, what is left is still told right. */
TEST(test_pauses_incomplete)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;

	scene_open(&s, 10);
	single(&r);
	/* An end alone stands for its length. */
	SCENE(&s, 900 * US, 0, TALECHAIN_JVM_GC_END, 2, 1, 300 * US);
	/* A beginning whose end was lost ends at the next one's beginning. */
	SCENE(&s, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 2);
	SCENE(&s, 2000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 3);
	SCENE(&s, 2000 * US, 0, TALECHAIN_HAZARD_BEGIN, 0, HAZARD_GC, 1);
	/* One source's end is lost: the other's closes it for the next. */
	SCENE(&s, 2500 * US, 0, TALECHAIN_JVM_GC_END, 1, 3, 500 * US);
	SCENE(&s, 3000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 4);
	SCENE(&s, 3100 * US, 0, TALECHAIN_JVM_GC_END, 1, 4, 100 * US);
	/* Both ends after one beginning: still one pause. */
	SCENE(
	    &s, 3102 * US, 0, TALECHAIN_HAZARD_END, 0, HAZARD_GC, 1, 101 * US);
	/* A process that comes back: nobody saw it go. */
	SCENE(&s, 4000 * US, 0, TALECHAIN_SERVER_START, 0, 1234);
	/* A length that cannot be true is no length. */
	SCENE(&s, 4500 * US, 0, TALECHAIN_JVM_SAFEPOINT_END, 9, 1, UINT64_MAX);
	t = slice(&s, &r);
	assert_int_equal(t->pauses, 6);
	pause_is(&t->pause[0], 0, HAZARD_SAFEPOINT, 0, 4500 * US);
	assert_false(t->pause[0].begin_seen);
	pause_is(&t->pause[1], 0, HAZARD_EXIT, 0, 4000 * US);
	assert_false(t->pause[1].begin_seen);
	pause_is(&t->pause[2], 0, HAZARD_GC, 600 * US, 900 * US);
	assert_int_equal(t->pause[2].cause, TALECHAIN_CAUSE_HUMONGOUS);
	pause_is(&t->pause[3], 0, HAZARD_GC, 1000 * US, 2000 * US);
	assert_false(t->pause[3].end_seen);
	pause_is(&t->pause[4], 0, HAZARD_GC, 2000 * US, 2500 * US);
	assert_true(t->pause[4].end_seen);
	pause_is(&t->pause[5], 0, HAZARD_GC, 3000 * US, 3102 * US);
	tale_free(&t);
	scene_close(&s);
}

/* Goal: what nobody saw is counted, and only within the request. */
TEST(test_gaps)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;

	scene_open(&s, 10);
	single(&r);
	SCENE(&s, -900 * US, -1, TALECHAIN_META_LOST, 4, 1000, 0);
	SCENE(&s, 500 * US, -1, TALECHAIN_META_BLIND, 800 * US);
	SCENE(&s, 2000 * US, -1, TALECHAIN_META_LOST, 4, 12, 0);
	SCENE(&s, 2100 * US, -1, TALECHAIN_META_BLIND, 100 * US);
	SCENE(&s, 2200 * US, -1, TALECHAIN_META_LOST, 5, 3, 0);
	SCENE(&s, 9000 * US, -1, TALECHAIN_META_LOST, 4, 500, 0);
	t = slice(&s, &r);
	assert_int_equal(tale_lost(t), 15);
	assert_int_equal(t->blinds, 2);
	assert_int_equal(t->blind_ns, 600 * US);
	tale_free(&t);
	SCENE(&s, 2000 * US, -1, TALECHAIN_META_LOST, 4, UINT64_MAX, 0);
	single(&r);
	r.stream_end = timeline_position(s.timeline);
	t = slice(&s, &r);
	assert_true(tale_lost(t) == UINT64_MAX); /* saturates */
	tale_free(&t);
	scene_close(&s);
}

/* Goal: a request whose beginning is overwritten is told as far as it goes. */
TEST(test_stale)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;
	uint64_t oldest, i;

	scene_open(&s, 10);
	single(&r);
	for (i = 0; i < 3000; i++)
		SCENE(&s, (int64_t)i * US, 0, TALECHAIN_APP_MARK, SCENE_ID, i);
	r.stream_begin = 100;
	r.stream_end = 3000;
	assert_int_equal(tale_slice(&t, s.reader, &r, NULL, SLACK), -ESTALE);
	oldest = 3000 - 1024 + 1024 / 16;
	assert_int_equal(tale_lost(t), oldest - 100);
	assert_int_equal(t->entries, 3000 - oldest);
	assert_int_equal(t->entry[0].slot.event.arg[1], oldest);
	assert_true(t->stale);
	tale_free(&t);
	/* Overwritten only where we look back: nothing of it is missing. */
	r.stream_begin = oldest;
	t = slice(&s, &r);
	assert_int_equal(tale_lost(t), 0);
	tale_free(&t);
	scene_close(&s);
}

/* Goal: one application's flood cannot push out what the rest has to say. */
TEST(test_flood)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;
	unsigned i;

	scene_open(&s, 15);
	single(&r);
	for (i = 0; i < 20000; i++)
		SCENE(&s, (int64_t)i * 100, 0, TALECHAIN_APP_MARK, SCENE_ID, i);
	SCENE(&s, 2500 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 4);
	SCENE(&s, 4000 * US, 0, TALECHAIN_JVM_GC_END, 1, 4, 1500 * US);
	r.stream_end = timeline_position(s.timeline);
	t = slice(&s, &r);
	assert_int_equal(t->entries, TALE_EVENTS_MAX / 2 + 2);
	assert_int_equal(t->omitted, 20000 - TALE_EVENTS_MAX / 2);
	assert_int_equal(t->pauses, 1);
	tale_free(&t);
	scene_close(&s);
}

/* Goal: stamps that cannot be true do not decide the order. */
TEST(test_doubtful)
{
	struct talechain_event e = {
	    .type = TALECHAIN_APP_MARK, .arg = {SCENE_ID}};
	static const uint64_t ts[] = {
	    0, UINT64_MAX, SCENE_T0 - UINT64_C(1) * 61000000000};
	struct tale_request r;
	struct scene s;
	struct tale *t;
	size_t i;

	scene_open(&s, 10);
	single(&r);
	for (i = 0; i < 3; i++) {
		e.ts = ts[i];
		timeline_append(s.timeline, &e, 1, 0,
		    scene_at((int64_t)(i + 1) * 100 * US));
	}
	SCENE(&s, 150 * US, 0, TALECHAIN_APP_MARK, SCENE_ID, 4);
	t = slice(&s, &r);
	assert_int_equal(t->entries, 4);
	assert_int_equal(t->entry[0].slot.event.ts, 0);
	assert_int_equal(t->entry[1].slot.event.arg[1], 4);
	assert_true(t->entry[2].slot.event.ts == UINT64_MAX);
	assert_true(t->entry[0].doubtful && t->entry[2].doubtful &&
		    t->entry[3].doubtful);
	assert_false(t->entry[1].doubtful);
	tale_free(&t);
	scene_close(&s);
}

/* Goal: the client's stamps widen the timeline only if they can be true. */
TEST(test_client)
{
	struct tale_client c = {
	    .scheduled = scene_at(-300 * US),
	    .sent = scene_at(-100 * US),
	    .received = scene_at(5200 * US),
	    .same_host = true,
	};
	struct tale_request r;
	struct scene s;
	struct tale *t;

	scene_open(&s, 10);
	single(&r);
	assert_int_equal(tale_slice(&t, s.reader, &r, &c, SLACK), 0);
	assert_int_equal(tale_total_ns(t), 5500 * US);
	tale_free(&t);
	c.same_host = false;
	assert_int_equal(tale_slice(&t, s.reader, &r, &c, SLACK), 0);
	assert_int_equal(tale_total_ns(t), 5000 * US);
	tale_free(&t);
	c = (struct tale_client){.scheduled = {UINT64_MAX},
	    .sent = {1},
	    .received = {1},
	    .same_host = true};
	assert_int_equal(tale_slice(&t, s.reader, &r, &c, SLACK), 0);
	assert_int_equal(tale_total_ns(t), 5000 * US);
	tale_free(&t);
	scene_close(&s);
}

/* Goal: every sentence says what happened, and no more. */
TEST(test_verdicts)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;

	scene_open(&s, 10);
	scene_hedged(&s, &r);
	t = slice(&s, &r);
	verdict_is(t, TALE_CAUSE_WORK,
	    "1.69 of 2.41 ms: B reports that it worked on it. Re-sent to B "
	    "0.12 ms after A began "
	    "a gc (allocation); B responded in 1.90 ms.");
	tale_free(&t);
	memcpy(r.attempt[0].outcome, "won", 4);
	memcpy(r.attempt[1].outcome, "lost", 5);
	r.attempt[0].complete = scene_at(2300 * US);
	t = slice(&s, &r);
	verdict_is(t, TALE_CAUSE_GC,
	    "2.02 of 2.41 ms: A was in a gc (allocation). Re-sent to B 0.12 ms "
	    "after A began a gc (allocation); A responded in 2.25 ms, first "
	    "all "
	    "the same.");
	tale_free(&t);
	memcpy(r.attempt[0].outcome, "failed", 7);
	memcpy(r.attempt[1].trigger, "failure", 8);
	t = slice(&s, &r);
	verdict_is(t, TALE_CAUSE_WORK,
	    "1.69 of 2.41 ms: B reports that it worked on it. Re-sent to B "
	    "0.40 ms after it "
	    "arrived, because A failed; neither response was used.");
	tale_free(&t);
	r.attempt[1].server = -1;
	r.attempt[0].server = 5;
	t = slice(&s, &r);
	verdict_is(t, TALE_CAUSE_UNKNOWN,
	    "2.25 of 2.41 ms: not explained; A responded in 2.25 ms, but what "
	    "it did in that time is not known without kernel events.");
	/* They may have been there: what is lost is not called missing. */
	t->stale = true;
	verdict_is(t, TALE_CAUSE_UNKNOWN,
	    "2.25 of 2.41 ms: not explained; A responded in 2.25 ms, but what "
	    "it did in that time is not known: events were overwritten.");
	tale_free(&t);
	r.attempt[0].server = -1;
	t = slice(&s, &r);
	verdict_is(t, TALE_CAUSE_PROXY_QUEUE,
	    "2.28 of 2.41 ms: it waited in Tailor's queue for a server; Tailor "
	    "then responded with 200. It was sent to no server.");
	tale_free(&t);
	scene_close(&s);

	scene_open(&s, 10);
	single(&r);
	SCENE(&s, 200 * US, 0, TALECHAIN_APP_RECEIVE, SCENE_ID);
	SCENE(&s, 4200 * US, 0, TALECHAIN_APP_START, SCENE_ID);
	SCENE(&s, 4700 * US, 0, TALECHAIN_APP_FINISH, SCENE_ID);
	finish(&s, &r);
	t = slice(&s, &r);
	verdict_is(t, TALE_CAUSE_BACKEND_QUEUE,
	    "4.00 of 5.00 ms: it waited in A's queue.");
	tale_free(&t);
	r.attempt[0].first_byte = r.attempt[0].complete = INSTANT_NONE;
	t = slice(&s, &r);
	assert_int_equal(t->request.status, 200);
	tale_free(&t);
	scene_close(&s);
}
