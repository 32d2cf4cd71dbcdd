/*
 * Goal: no events crash slicing or explaining; the story always tiles the
 * request's time, and every rendering of it ends.
 *
 * The input is a row of events of 12 bytes: type, tid, pid, cpu, server,
 * three bytes of time, four of arguments.  Where a byte stands for a value it
 * chooses one from a table of those that mean something to the request, so
 * that flows, threads and wake-ups come about.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tests/fuzz/talechain/story_check.h"

#define T0 UINT64_C(5000000000000)
#define EVENT_BYTES 12
#define EVENTS_MAX 2000
#define PAIR(high, low) ((uint64_t)(high) << 32 | (uint32_t)(low))
#define PORTS(local, remote) \
	((uint64_t)(local) << 48 | (uint64_t)(remote) << 32)

static const uint16_t types[] = {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) number,
    TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
};

static const uint32_t tids[] = {0, 100, 501, 502, 503, 777};
static const uint32_t pids[] = {0, 99, 500, 777};

static const uint64_t values[] = {0, 1, 2, 3, 4, 5, 42, 71, 72, 81, 91, 82, 92,
    100, 500, 501, 502, 503, 777, PAIR(500, 501), PAIR(500, 502), PAIR(99, 100),
    PAIR(777, 777), PAIR(1000, 100), PAIR(5000, 120), PAIR(8000, 600),
    PAIR(2000, 600), PAIR(120, 1), PAIR(600, 1), PAIR(600, 5), PAIR(100, 1),
    PORTS(9000, 50000), PORTS(50000, 9000), PORTS(8080, 40000),
    PORTS(40000, 8080), PAIR(1 << 26, 50000),
    UINT64_C(1) << TALECHAIN_OFF_SHIFT, UINT64_C(2) << TALECHAIN_OFF_SHIFT,
    UINT64_C(3) << 56, UINT64_C(4) << 56, 1000, 100000, 5000000, T0,
    T0 + 1000000, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_C(1) << 63};

#define CHOOSE(table, byte) \
	((table)[(byte) % (sizeof(table) / sizeof((table)[0]))])

static const struct tale_request request = {
    .id = 42,
    .method = "GET",
    .target = "/",
    .status = 200,
    .first_byte = {T0 + 20000},
    .received = {T0 + 30000},
    .committed = {T0 + 10020000},
    .finished = {T0 + 10040000},
    .stream_end = EVENTS_MAX,
    .cookie = 71,
    .attempt = {{.server = 0,
		    .server_pid = 500,
		    .cookie = 81,
		    .server_name = "A",
		    .outcome = "lost",
		    .written = {T0 + 50000}},
	{.server = 1,
	    .cookie = 82,
	    .server_name = "B",
	    .trigger = "gc",
	    .outcome = "won",
	    .written = {T0 + 3000000},
	    .first_byte = {T0 + 10000000},
	    .complete = {T0 + 10010000}}},
};

static void
append(struct timeline *t, const uint8_t *at)
{
	struct talechain_event e = {.seq = 2, .version = 1};
	uint64_t us = (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | at[7];
	int k;

	e.type = CHOOSE(types, at[0]);
	e.tid = CHOOSE(tids, at[1]);
	e.pid = CHOOSE(pids, at[2]);
	e.cpu = at[3] == 255 ? UINT32_MAX : at[3] % 3;
	/* Up to 12 ms, in steps of a microsecond; some far off. */
	e.ts = us > UINT64_C(0xff0000) ? us << 40 : T0 + us % 12000 * 1000;
	for (k = 0; k < 4; k++)
		e.arg[k] = CHOOSE(values, at[8 + k]);
	timeline_append(t, &e, at[4] / 3U % 4, at[4] % 3 - 1,
	    (struct instant){e.ts + 1000});
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tale_request r = request;
	struct tale_client client = {.scheduled = {T0 - 1000000},
	    .sent = {T0 - 10000},
	    .received = {T0 + 11000000}};
	struct timeline_reader *reader;
	struct timeline *timeline;
	struct tale *t;
	struct story *s;
	size_t i;

	if (size < 1)
		return 0;
	if (timeline_new(&timeline, NULL, 11) < 0 ||
	    timeline_reader_from(&reader, timeline) < 0)
		abort();
	client.same_host = (data[0] & 1) != 0;
	if ((data[0] & 2) != 0) {
		r.attempt[0] = r.attempt[1];
		r.attempt[0].server = 0;
		r.attempt[0].cookie = 81;
		r.attempt[1].server = -1;
	}
	for (i = 0; i < EVENTS_MAX && 1 + (i + 1) * EVENT_BYTES <= size; i++)
		append(timeline, data + 1 + i * EVENT_BYTES);
	if (tale_slice(&t, reader, &r, &client, 5000000) < 0 && t == NULL)
		abort();
	if (tale_explain(&s, t) < 0)
		abort();
	story_check(s);
	story_render_check(s);
	story_free(&s);
	tale_free(&t);
	timeline_reader_close(&reader);
	timeline_free(&timeline);
	return 0;
}
