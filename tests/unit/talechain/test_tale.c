/*
 * Goal: marked requests in, exactly their timelines out; what is overwritten,
 * of a flood, or has a false stamp is in a tale as far as it goes.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

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

/* Goal: a request whose beginning is overwritten is told as far as it goes. */
TEST(test_stale)
{
	struct tale_request r;
	struct story *story;
	struct scene s;
	struct tale *t;
	uint64_t oldest, i;

	scene_open(&s, 10);
	single(&r);
	for (i = 0; i < 2999; i++)
		SCENE(&s, (int64_t)i * US, 0, TALECHAIN_APP_MARK, SCENE_ID, i);
	SCENE(&s, 5000 * US, -1, TALECHAIN_PROXY_FINISH, SCENE_ID);
	r.stream_begin = 100;
	r.stream_end = 3000;
	assert_int_equal(tale_slice(&t, s.reader, &r, NULL, SLACK), -ESTALE);
	oldest = 3000 - 1024 + 1024 / 16;
	assert_int_equal(tale_lost(t), oldest - 100);
	assert_int_equal(t->entries, 3000 - oldest);
	assert_int_equal(t->entry[0].slot.event.arg[1], oldest);
	assert_true(t->stale);
	/* What is lost is not called missing. */
	assert_int_equal(tale_explain(&story, t), 0);
	assert_string_equal(story->verdict.text,
	    "4.80 of 5.00 ms: not explained; server A responded in 4.80 ms, "
	    "but what "
	    "it did in that time is not known: events were overwritten.");
	story_free(&story);
	tale_free(&t);
	/* Overwritten only where we look back: nothing of it is missing. */
	r.stream_begin = oldest;
	t = slice(&s, &r);
	assert_int_equal(tale_lost(t), 0);
	tale_free(&t);
	/* All of it, its end included: that is no lateness of the observer, and
	 * the verdict has what the request's record shows. */
	r.stream_begin = 100;
	r.stream_end = 500;
	r.attempt[0].written = scene_at(4000 * US);
	assert_int_equal(tale_slice(&t, s.reader, &r, NULL, SLACK), -ESTALE);
	assert_int_equal(tale_explain(&story, t), 0);
	assert_string_equal(story->verdict.text,
	    "3.98 of 5.00 ms: the request waited in Tailor's queue for a "
	    "server.");
	story_free(&story);
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
