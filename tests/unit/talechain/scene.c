/*
 * scene.c: see scene.h.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/scene.h"

#include <string.h>

void
scene_open(struct scene *s, unsigned slot_log2)
{
	*s = (struct scene){.cpu = 1};
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
	    .cpu = s->cpu,
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
