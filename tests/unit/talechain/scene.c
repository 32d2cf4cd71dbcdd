/*
 * scene.c: see scene.h.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/scene.h"

#include <string.h>

void
scene_open(struct scene *s, unsigned slot_log2)
{
	*s = (struct scene){0};
	assert_int_equal(timeline_new(&s->timeline, NULL, slot_log2), 0);
	assert_int_equal(timeline_reader_from(&s->reader, s->timeline), 0);
}

void
scene_close(struct scene *s)
{
	timeline_reader_close(&s->reader);
	timeline_free(&s->timeline);
}

struct instant
scene_at(int64_t ns)
{
	return instant_plus((struct instant){SCENE_T0}, ns);
}

void
scene_event(struct scene *s, int64_t ns, int server, enum talechain_type type,
    const uint64_t arg[4])
{
	struct talechain_event e = {
	    .seq = 2 * s->written + 2,
	    .ts = scene_at(ns).ns,
	    .tid = 100,
	    .pid = 99,
	    .type = (uint16_t)type,
	    .version = 1,
	    .cpu = UINT32_MAX,
	};

	memcpy(e.arg, arg, sizeof(e.arg));
	s->written++;
	timeline_append(s->timeline, &e, (uint32_t)(server + 1), server,
	    scene_at(ns + 1000));
}

void
scene_kernel(struct scene *s, int64_t ns, uint32_t tid, uint32_t pid,
    enum talechain_type type, const uint64_t arg[4])
{
	struct talechain_event e = {
	    .seq = 2,
	    .ts = scene_at(ns).ns,
	    .tid = tid,
	    .pid = pid,
	    .type = (uint16_t)type,
	    .version = 1,
	    .cpu = 1,
	};

	memcpy(e.arg, arg, sizeof(e.arg));
	timeline_append(
	    s->timeline, &e, 9, pid == A_PID ? 0 : -1, scene_at(ns + 1000));
}

void
scene_request(struct tale_request *r)
{
	*r = (struct tale_request){
	    .id = SCENE_ID,
	    .external_id = "abc-123",
	    .method = "GET",
	    .target = "/search?q=tail",
	    .status = 200,
	    .first_byte = scene_at(0),
	    .received = scene_at(20 * US),
	    .committed = scene_at(2300 * US),
	    .finished = scene_at(2410 * US),
	    .attempt = {{.server = -1}, {.server = -1}},
	};
}

void
scene_hedged(struct scene *s, struct tale_request *r)
{
	scene_request(r);
	r->attempt[0] = (struct tale_attempt){
	    .server = 0,
	    .server_name = "A",
	    .trigger = "first",
	    .outcome = "lost",
	    .written = scene_at(50 * US),
	};
	r->attempt[1] = (struct tale_attempt){
	    .server = 1,
	    .server_name = "B",
	    .trigger = "gc",
	    .outcome = "won",
	    .written = scene_at(400 * US),
	    .first_byte = scene_at(2200 * US),
	    .complete = scene_at(2300 * US),
	    .status = 200,
	};
	SCENE(s, -50 * US, -1, TALECHAIN_PROXY_RECEIVE, 41, 1);
	r->stream_begin = timeline_position(s->timeline);
	SCENE(s, 20 * US, -1, TALECHAIN_PROXY_RECEIVE, SCENE_ID, 3, 77,
	    scene_at(0).ns);
	SCENE(s, 50 * US, -1, TALECHAIN_PROXY_ATTEMPT, SCENE_ID, 0, 0, 78);
	SCENE(s, 90 * US, 0, TALECHAIN_APP_RECEIVE, SCENE_ID, 4, 1);
	SCENE(s, 95 * US, 1, TALECHAIN_APP_RECEIVE, 41, 9, 1);
	SCENE(s, 280 * US, 0, TALECHAIN_JVM_GC_BEGIN,
	    TALECHAIN_CAUSE_ALLOCATION, 12);
	SCENE(s, 280 * US, 0, TALECHAIN_HAZARD_BEGIN, 0, HAZARD_GC,
	    TALECHAIN_CAUSE_ALLOCATION);
	SCENE(s, 390 * US, -1, TALECHAIN_PROXY_SWAP, 0, 1, 1);
	SCENE(s, 395 * US, -1, TALECHAIN_PROXY_HEDGE, SCENE_ID, 1, 1,
	    scene_at(280 * US).ns);
	SCENE(s, 400 * US, -1, TALECHAIN_PROXY_ATTEMPT, SCENE_ID, 1, 1, 79);
	SCENE(s, 450 * US, 1, TALECHAIN_APP_RECEIVE, SCENE_ID, 0, 5);
	SCENE(s, 460 * US, 1, TALECHAIN_APP_START, SCENE_ID, 0, 5);
	SCENE(s, 2150 * US, 1, TALECHAIN_APP_FINISH, SCENE_ID, 0, 5);
	SCENE(
	    s, 2200 * US, -1, TALECHAIN_PROXY_FIRST_BYTE, SCENE_ID, 1, 1, 200);
	SCENE(s, 2300 * US, -1, TALECHAIN_PROXY_COMMIT, SCENE_ID, 1, 1, 200);
	SCENE(s, 2410 * US, -1, TALECHAIN_PROXY_FINISH, SCENE_ID, 2, 200, 1448);
	r->stream_end = timeline_position(s->timeline);
	SCENE(s, 2420 * US, -1, TALECHAIN_PROXY_RECEIVE, 43, 1);
	SCENE(s, 7380 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_ALLOCATION,
	    12, 7100 * US);
}
