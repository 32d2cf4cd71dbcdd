/*
 * Goal: tales that share checkpoints are the tales that each would be alone,
 * whatever their order; what came long before a request is found; what is not
 * known to last is not taken for lasting.
 */
#include "tests/unit/unit.h"

#include "talechain/tale/tale_struct.h"
#include "tests/unit/talechain/scene.h"

#define SLACK (200 * US)
#define STEP_NS (5 * US) /* between two events */
#define EVENTS 20000
#define TALES 150
#define THREADS 30
#define FIRST_TID 600

static struct tale_request request[TALES];

/* Something that happens on the machine. */
static void
event_any(struct scene *s, int64_t ns)
{
	uint32_t tid = FIRST_TID + (uint32_t)unit_draw(THREADS);
	uint32_t next = FIRST_TID + (uint32_t)unit_draw(THREADS);
	uint64_t flow = unit_draw(8);
	uint64_t ports = PACK((8080 << 16) | (40000 + flow), 0);
	uint64_t back = PACK(((40000 + flow) << 16) | 8080, 0);

	s->cpu = tid % 2;
	switch (unit_draw(12)) {
	case 0:
		KERNEL(s, ns, 0, A_PID, TALECHAIN_TCP_RECV, 71 + flow,
		    PACK((uint64_t)ns, 1), PACK(100, 5), ports);
		break;
	case 1:
		KERNEL(s, ns, tid, A_PID, TALECHAIN_SOCK_SEND, 71 + flow,
		    PACK((uint64_t)ns, 100), 0, ports);
		break;
	case 2:
		KERNEL(s, ns, tid, A_PID, TALECHAIN_SOCK_SEND, 171 + flow,
		    PACK((uint64_t)ns, 100), 0, back);
		break;
	case 3:
		KERNEL(s, ns, tid, A_PID, TALECHAIN_SOCK_RECV, 71 + flow,
		    PACK((uint64_t)ns, 100), 0, ports);
		break;
	case 4:
		KERNEL(
		    s, ns, 0, A_PID, TALECHAIN_THREAD, tid, 500, (uint64_t)ns);
		break;
	case 5:
		SCENE(s, ns, (int)unit_draw(2),
		    unit_draw(2) ? TALECHAIN_JVM_GC_BEGIN
				 : TALECHAIN_JVM_GC_END,
		    TALECHAIN_CAUSE_ALLOCATION, 12, US);
		break;
	case 6:
		KERNEL(s, ns, tid, A_PID, TALECHAIN_WAKEUP, next, 500);
		break;
	default:
		KERNEL(s, ns, tid, A_PID, TALECHAIN_SCHEDULE, PACK(500, next),
		    0, 0, unit_draw(2) << TALECHAIN_OFF_SHIFT);
	}
}

/* A request begins: which client's socket it is on depends on its number. */
static void
request_begin(struct scene *s, unsigned k, int64_t ns)
{
	struct tale_request *r = &request[k];

	scene_request(r);
	r->id = 1000 + k;
	r->cookie = 71 + k % 8;
	r->first_byte = r->received = scene_at(ns);
	r->stream_begin = timeline_position(s->timeline);
	r->attempt[0].server = k % 2;
	SCENE(s, ns, -1, TALECHAIN_PROXY_RECEIVE, r->id, 1, r->cookie);
	KERNEL(
	    s, ns, FIRST_TID + k % THREADS, A_PID, TALECHAIN_APP_START, r->id);
}

static void
request_end(struct scene *s, unsigned k, int64_t ns)
{
	struct tale_request *r = &request[k];

	r->committed = r->finished = scene_at(ns);
	SCENE(s, ns, -1, TALECHAIN_PROXY_FINISH, r->id);
	r->stream_end = timeline_position(s->timeline);
}

/* Requests of 10 to 2000 events each, one after the other or at once. */
static void
stream_fill(struct scene *s)
{
	unsigned end[TALES] = {0}, begun = 0;

	for (unsigned i = 0; i < EVENTS; i++) {
		int64_t ns = i * STEP_NS;

		event_any(s, ns);
		if (begun < TALES && i > begun * (EVENTS - 3000) / TALES) {
			end[begun] = i + 10 + (unsigned)unit_draw(2000);
			request_begin(s, begun++, ns);
		}
		for (unsigned k = 0; k < begun; k++)
			if (end[k] == i)
				request_end(s, k, ns);
	}
}

static void
assert_same(const struct tale *a, const struct tale *b)
{
	assert_int_equal(a->entries, b->entries);
	assert_int_equal(a->pauses, b->pauses);
	assert_int_equal(a->threads, b->threads);
	for (size_t i = 0; i < a->entries; i++) {
		assert_int_equal(a->entry[i].slot.seq, b->entry[i].slot.seq);
		assert_memory_equal(&a->entry[i].slot, &b->entry[i].slot,
		    sizeof(a->entry[i].slot));
	}
}

/* Goal: the same tales, in the order of their ends and in any other. */
TEST(test_shared)
{
	struct tale_checkpoints *c;
	struct tale *alone, *shared;
	struct scene s;
	size_t entries = 0;

	scene_open(&s, 16);
	stream_fill(&s);
	assert_int_equal(tale_checkpoints_new(&c, s.reader), 0);
	for (unsigned i = 0; i < 3 * TALES; i++) {
		unsigned k = i < TALES ? i : (unsigned)unit_draw(TALES);

		assert_int_equal(
		    tale_slice(&alone, s.reader, &request[k], NULL, SLACK), 0);
		assert_int_equal(
		    tale_slice_next(&shared, c, &request[k], NULL, SLACK), 0);
		assert_same(alone, shared);
		entries += alone->entries;
		tale_free(&alone);
		tale_free(&shared);
	}
	assert_true(entries > (size_t)30 * TALES);
	tale_checkpoints_free(&c);
	scene_close(&s);
}

static void
others(struct scene *s, int64_t *ns, unsigned events)
{
	for (unsigned i = 0; i < events; i++, *ns += STEP_NS)
		SCENE(s, *ns, 1, TALECHAIN_APP_MARK, 1);
}

static bool
has(const struct tale *t, enum talechain_type type, uint32_t tid)
{
	for (size_t i = 0; i < t->entries; i++)
		if (t->entry[i].slot.event.type == type &&
		    t->entry[i].slot.event.tid == tid)
			return true;
	return false;
}

/*
 * Goal: how a thread of the request left its CPU is known 50,000 slots later;
 * not if events were lost meanwhile; and a pause that old is not believed.
 */
TEST(test_long_ago)
{
	struct tale_checkpoints *c;
	struct tale *t;

	for (unsigned lost = 0; lost < 2; lost++) {
		struct scene s;
		int64_t ns = 0;

		scene_open(&s, 17);
		assert_int_equal(tale_checkpoints_new(&c, s.reader), 0);
		KERNEL(&s, ns, FIRST_TID, A_PID, TALECHAIN_SCHEDULE, 0, 0, 0,
		    (uint64_t)TALECHAIN_OFF_SLEEPING << TALECHAIN_OFF_SHIFT);
		SCENE(&s, ns, 0, TALECHAIN_JVM_GC_BEGIN,
		    TALECHAIN_CAUSE_ALLOCATION, 12);
		if (lost)
			SCENE(&s, ns, -1, TALECHAIN_META_LOST, 9, 1);
		for (unsigned k = 0; k < 5; k++) {
			others(&s, &ns, 10000);
			request_begin(&s, 0, ns);
			ns += US;
			request_end(&s, 0, ns);
			assert_int_equal(
			    tale_slice_next(&t, c, &request[0], NULL, SLACK),
			    0);
			assert_int_equal(
			    has(t, TALECHAIN_SCHEDULE, FIRST_TID), !lost);
			assert_int_equal(t->pauses, k == 0);
			tale_free(&t);
		}
		tale_checkpoints_free(&c);
		scene_close(&s);
	}
}
