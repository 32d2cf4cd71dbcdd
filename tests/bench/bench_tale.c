/*
 * bench_tale.c: what a tale of a 5 ms request costs the analysis thread: CPU
 * time to slice, explain and keep it, in a stream with so many other events.
 *
 *	build/bench/bench_tale [TALES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "talechain/render/render.h"
#include "talechain/tale/tale.h"
#include "talechain/store/store.h"
#include "talechain/timeline/timeline.h"

#define T0 UINT64_C(5000000000000)
#define SLACK_NS (5 * NS_PER_MS)
#define LENGTH_NS (5 * NS_PER_MS)
#define SLOT_LOG2 18
#define PID 500
#define TAILOR 100

static struct timeline *stream;
static uint64_t now_ns = T0;

static void
event(uint32_t tid, uint32_t pid, int server, enum talechain_type type,
    const uint64_t arg[4])
{
	struct talechain_event e = {.seq = 2,
	    .ts = now_ns,
	    .tid = tid,
	    .pid = pid,
	    .type = (uint16_t)type,
	    .version = 1,
	    .cpu = tid % 2};

	memcpy(e.arg, arg, sizeof(e.arg));
	timeline_append(
	    stream, &e, 9, server, (struct instant){now_ns + 20000});
	now_ns += 300;
}
#define EVENT(tid, pid, server, type, ...) \
	event(tid, pid, server, type, (const uint64_t[4]){__VA_ARGS__})

static uint64_t
pair(uint64_t high, uint32_t low)
{
	return high << 32 | low;
}

/* A thread wakes up, runs and sleeps: 4 events. */
static void
turn(uint32_t tid, uint32_t pid, int server)
{
	EVENT(0, 0, server, TALECHAIN_WAKEUP, tid, pid,
	    pair(TALECHAIN_CONTEXT_SOFTIRQ, 3));
	EVENT(0, 0, server, TALECHAIN_SCHEDULE, pair(pid, tid), 0, 0, 2000);
	EVENT(tid, pid, server, TALECHAIN_SOFTIRQ, 3, 1000, now_ns);
	EVENT(tid, pid, server, TALECHAIN_SCHEDULE, 0, 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << TALECHAIN_OFF_SHIFT);
}

static void
others_until(uint64_t end_ns, int64_t gap_ns)
{
	static uint32_t which;

	while (now_ns < end_ns) {
		which++;
		turn(PID + 10 + which % 40, PID, 0);
		now_ns += 4 * (uint64_t)gap_ns;
	}
}

/* A segment and the calls at its ends, from one socket to another. */
static void
bytes(uint64_t from, uint64_t to, uint64_t ports, uint64_t back,
    uint32_t sender, uint32_t pid)
{
	EVENT(sender, pid, pid == PID ? 0 : -1, TALECHAIN_TCP_XMIT, from,
	    pair(now_ns & 0xffff0000, 1), pair(100, 500), ports);
	EVENT(0, 0, -1, TALECHAIN_TCP_RECV, to, pair(now_ns & 0xffff0000, 1),
	    pair(100, 500), back);
	EVENT(sender, pid, pid == PID ? 0 : -1, TALECHAIN_SOCK_SEND, from,
	    pair(now_ns & 0xffff0000, 100), 0, ports);
}

static void
request_make(struct tale_request *r, unsigned k, int64_t gap_ns)
{
	const uint64_t client = pair((8080 << 16) | 40000, 0);
	const uint64_t clients = pair((UINT64_C(40000) << 16) | 8080, 0);
	const uint64_t ours = pair((UINT64_C(50000) << 16) | 9000, 0);
	const uint64_t servers = pair((9000 << 16) | 50000, 0);
	uint32_t thread = PID + 10 + k % 40;
	uint64_t begin_ns;

	bytes(72, 71, clients, client, 90, 90);
	*r = (struct tale_request){.id = k + 1,
	    .method = "GET",
	    .target = "/",
	    .status = 200,
	    .cookie = 71,
	    .attempt = {{.server_name = "a",
			    .trigger = "first",
			    .outcome = "won",
			    .cookie = 81,
			    .server_pid = PID},
		{.server = -1}}};
	snprintf(r->external_id, sizeof(r->external_id), "bench-%u", k);
	begin_ns = now_ns;
	r->first_byte = r->received = (struct instant){now_ns};
	r->stream_begin = timeline_position(stream);
	turn(TAILOR, TAILOR, -1);
	EVENT(TAILOR, TAILOR, -1, TALECHAIN_PROXY_RECEIVE, r->id, 1, 71);
	bytes(81, 91, ours, servers, TAILOR, TAILOR);
	r->attempt[0].written = (struct instant){now_ns};
	EVENT(TAILOR, TAILOR, -1, TALECHAIN_PROXY_ATTEMPT, r->id, 0, 0, 81);
	turn(thread, PID, 0);
	EVENT(thread, PID, 0, TALECHAIN_SOCK_RECV, 91,
	    pair(now_ns & 0xffff0000, 100), 0, servers);
	others_until(begin_ns + LENGTH_NS, gap_ns);
	bytes(91, 81, servers, ours, thread, PID);
	r->attempt[0].first_byte = r->attempt[0].complete =
	    (struct instant){now_ns};
	bytes(71, 72, client, clients, TAILOR, TAILOR);
	r->committed = r->finished = (struct instant){now_ns};
	EVENT(TAILOR, TAILOR, -1, TALECHAIN_PROXY_FINISH, r->id);
	r->stream_end = timeline_position(stream);
	others_until(now_ns + 2 * SLACK_NS, gap_ns);
}

static int64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void
tale_make(struct tale_checkpoints *c, struct tale_store *store,
    const struct tale_request *r, int64_t took_ns[2])
{
	struct tale_summary said = {.timeline_ns = LENGTH_NS};
	struct story *story;
	struct tale *t;
	int64_t at = cpu_ns(), next;
	int err = tale_slice_next(&t, c, r, NULL, SLACK_NS);

	if (err < 0 || tale_explain(&story, t) < 0)
		abort();
	next = cpu_ns();
	tale_summarise(&said, r);
	took_ns[0] += next - at;
	story_free(&story);
	if (tale_store_add(store, t, &said) < 0)
		abort();
	tale_free(&t);
	took_ns[1] += cpu_ns() - next;
}

static void
run(unsigned tales, int64_t gap_ns)
{
	struct tale_store_options options = {
	    .boot_id = "", .bytes_max = UINT64_C(64) << 20, .keep = 1000};
	struct timeline_reader *reader;
	struct tale_checkpoints *c;
	struct tale_store *store;
	int64_t took_ns[2] = {0};
	struct tale_request r;

	if (timeline_new(&stream, NULL, SLOT_LOG2) < 0 ||
	    timeline_reader_from(&reader, stream) < 0 ||
	    tale_checkpoints_new(&c, reader) < 0 ||
	    tale_store_open(&store, &options) < 0)
		abort();
	others_until(now_ns + NS_PER_S, gap_ns);
	for (unsigned k = 0; k < tales; k++) {
		request_make(&r, k, gap_ns);
		tale_make(c, store, &r, took_ns);
	}
	printf("%9.0f  %12.1f  %12.1f  %12.1f\n",
	    (double)NS_PER_S / (double)gap_ns, (double)took_ns[0] / tales / 1e3,
	    (double)took_ns[1] / tales / 1e3,
	    (double)(took_ns[0] + took_ns[1]) / tales / 1e3);
	tale_store_close(&store);
	tale_checkpoints_free(&c);
	timeline_reader_close(&reader);
	timeline_free(&stream);
}

int
main(int argc, char **argv)
{
	unsigned tales = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	static const int64_t gaps_ns[] = {200000, 50000, 10000};

	printf("us of CPU time a tale of a 5 ms request, %u tales\n", tales);
	printf("events/s     to explain      to keep            all\n");
	for (unsigned i = 0; i < 3; i++)
		run(tales, gaps_ns[i]);
	return 0;
}
