/*
 * Goal: rates say what happened, of whom and in which time, and nothing when
 * that is not known: words in memory at times of our choosing, a process of
 * ours that the kernel is asked about, and what is usual.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "base/array.h"
#include "profiler/processes/finder.h"
#include "profiler/observer/rates.h"
#include "profiler/rates/rates_read.h"
#include "talechain/events/events.h"

#define MS NS_PER_MS
#define TOUCHED (1 << 20)
#define LONG_AGO (-(UINT64_C(1) << 52)) /* cycles, before the machine began */

/* An observer's pen, two channels of server 0, one of server 1. */
struct bench {
	struct observer_output output;
	struct timeline *timeline;
	struct timeline_reader *reader;
	struct rates_watch watch;
	struct channel *channel[3];
	struct hsperf_page *page[PROFILER_SERVERS];
	struct hsperf_page fake;
	struct hsperf_heap heap[PROFILER_SERVERS];
	uint64_t number[4]; /* the fake page's memory */
	struct rates_sources sources;
	struct instant now;
	struct timeline_slot slot[256];
	unsigned slots;
};

static void
bench_init(struct bench *b, uint32_t signals)
{
	unsigned i;

	memset(b, 0, sizeof(*b));
	assert_int_equal(timeline_new(&b->timeline, NULL, 10), 0);
	assert_int_equal(timeline_reader_from(&b->reader, b->timeline), 0);
	b->output.timeline = b->timeline;
	b->watch.signals = signals;
	b->watch.period_ns = 10 * MS;
	for (i = 0; i < 3; i++) {
		assert_int_equal(
		    channel_new_inside(&b->channel[i], i + 1,
			i == 1 ? TALECHAIN_KIND_JVM : TALECHAIN_KIND_APP, "c",
			6),
		    0);
		b->channel[i]->server = i == 2;
	}
	b->fake.map = (const unsigned char *)b->number;
	b->sources = (struct rates_sources){b->channel, 3, b->page, b->heap, 2};
	b->now = instant_now();
}

static void
bench_fini(struct bench *b)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		channel_free(&b->channel[i]);
	timeline_reader_close(&b->reader);
	timeline_free(&b->timeline);
}

/* Look again so much later; the stream's new events are b->slot. */
static void
look(struct bench *b, int64_t later_ns)
{
	uint64_t lost;

	b->now = instant_plus(b->now, later_ns);
	rates_sweep(&b->watch, &b->sources, &b->output, b->now);
	b->slots = 0;
	while (timeline_read(b->reader, &b->slot[b->slots], &lost) ==
	       TIMELINE_READ_OK)
		b->slots++;
}

/* The event of a signal of a server, or NULL. */
static const struct talechain_event *
said(const struct bench *b, int server, enum talechain_rate signal)
{
	unsigned i;

	for (i = 0; i < b->slots; i++)
		if (b->slot[i].server == server &&
		    b->slot[i].event.type == TALECHAIN_RATE &&
		    b->slot[i].event.arg[0] == signal)
			return &b->slot[i].event;
	return NULL;
}

/*
 * The clock of shim/dte.h is a real one, so that a test on a busy machine may
 * be disturbed between its two readings: then nothing is said, as it should.
 * After days no disturbance is long enough for that.
 */
static void
settle(struct bench *b)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		b->watch.server[i].clock =
		    (struct dte_clock){LONG_AGO, LONG_AGO};
}

static void
set_word(struct channel *c, enum talechain_word word, uint64_t value)
{
	__atomic_store_n(&c->memory->word[word], value, __ATOMIC_RELAXED);
}

/* Goal: growth over the period, by server, and levels as they are. */
TEST(test_words)
{
	const struct talechain_event *e;
	struct bench b;

	bench_init(&b, RATES_IN_MEMORY);
	set_word(b.channel[1], TALECHAIN_WORD_CLASSES, 1000);
	look(&b, 0);
	assert_int_equal(b.slots, 0); /* where counting starts */
	set_word(b.channel[0], TALECHAIN_WORD_QUEUE, 3);
	set_word(b.channel[2], TALECHAIN_WORD_QUEUE, 7);
	set_word(b.channel[1], TALECHAIN_WORD_CLASSES, 1040);
	settle(&b);
	look(&b, 10 * MS - 1);
	assert_int_equal(b.slots, 0); /* not yet due */
	look(&b, 10 * MS + 1);
	assert_int_equal(b.slots, 4);
	e = said(&b, 0, TALECHAIN_RATE_QUEUE);
	assert_non_null(e);
	assert_int_equal(e->arg[1], 3);
	assert_int_equal(e->arg[2], 1);
	assert_int_equal(e->cpu, UINT32_MAX);
	assert_int_equal(e->ts, b.now.ns);
	e = said(&b, 1, TALECHAIN_RATE_QUEUE);
	assert_non_null(e);
	assert_int_equal(e->arg[1], 7);
	e = said(&b, 0, TALECHAIN_RATE_CLASSES);
	assert_non_null(e);
	assert_int_equal(e->arg[1], 40);
	assert_int_equal(e->arg[2], 20 * MS);
	assert_int_equal(e->arg[3], 20 * MS); /* interval; no usual */
	e = said(&b, 0, TALECHAIN_RATE_COMPILED);
	assert_non_null(e);
	assert_int_equal(e->arg[1], 0);
	/* Server 1 has no agent and no page. */
	assert_null(said(&b, 1, TALECHAIN_RATE_CLASSES));
	assert_int_equal(b.output.counters.rates, 4);
	bench_fini(&b);
}

/* Goal: a count that goes back is no rate; without an agent the page tells;
 * signals that are not wanted are not told. */
TEST(test_sources)
{
	const struct talechain_event *e;
	struct bench b;

	bench_init(&b, 1U << TALECHAIN_RATE_CLASSES);
	set_word(b.channel[1], TALECHAIN_WORD_CLASSES, 1000);
	b.page[1] = &b.fake;
	b.fake.classes_at = 8;
	b.number[1] = 500;
	look(&b, 0);
	set_word(b.channel[1], TALECHAIN_WORD_CLASSES, 999);
	b.number[1] = 512;
	settle(&b);
	look(&b, 10 * MS);
	assert_int_equal(b.slots, 1);
	e = said(&b, 1, TALECHAIN_RATE_CLASSES);
	assert_non_null(e);
	assert_int_equal(e->arg[1], 12);
	b.watch.signals |= 1U << TALECHAIN_RATE_HEAP;
	settle(&b);
	look(&b, 10 * MS);
	assert_null(said(&b, 1, TALECHAIN_RATE_HEAP)); /* it is not visible */
	b.heap[1].collector = COLLECTOR_G1 + 1;
	b.heap[1].word[PROFILER_HEAP_EDEN_USED] = 7 << 20;
	settle(&b);
	look(&b, 10 * MS);
	e = said(&b, 1, TALECHAIN_RATE_HEAP);
	assert_non_null(e);
	assert_int_equal(e->arg[1], 7 << 20);
	assert_int_equal(e->arg[2], 1);
	/* Its file is gone: nothing is known, and nothing is said. */
	b.fake.dead = 1;
	settle(&b);
	look(&b, 10 * MS);
	assert_null(said(&b, 1, TALECHAIN_RATE_CLASSES));
	/* Back again: the first look is where counting starts. */
	b.fake.dead = 0;
	b.number[1] = 700;
	settle(&b);
	look(&b, 10 * MS);
	assert_null(said(&b, 1, TALECHAIN_RATE_CLASSES));
	bench_fini(&b);
}

/* Goal: a period whose two clocks disagree is dropped and counted. */
TEST(test_distorted)
{
	struct bench b;

	bench_init(&b, 1U << TALECHAIN_RATE_QUEUE);
	look(&b, 0);
	/* The last look's second reading came late by all that is between. */
	b.watch.server[0].clock.begin = 1;
	b.watch.server[1].clock = (struct dte_clock){LONG_AGO, LONG_AGO};
	look(&b, 10 * MS);
	assert_null(said(&b, 0, TALECHAIN_RATE_QUEUE));
	assert_non_null(said(&b, 1, TALECHAIN_RATE_QUEUE));
	assert_int_equal(b.output.counters.rates_dropped, 1);
	bench_fini(&b);
}

/* Goal: what cannot fit into an event is cut, not mixed with its neighbour. */
TEST(test_note)
{
	struct rate r = {.signal = TALECHAIN_RATE_CLOCK,
	    .server = -1,
	    .cpu = 3,
	    .count = 5,
	    .base = 10,
	    .usual_milli = UINT64_MAX,
	    .interval_ns = 123};
	struct talechain_value v;
	struct bench b;

	bench_init(&b, 0);
	rate_note(&b.output, &r, b.now, b.now);
	look(&b, 0);
	assert_int_equal(b.slots, 1);
	assert_int_equal(b.slot[0].event.cpu, 3);
	assert_int_equal(b.slot[0].server, -1);
	assert_true(talechain_argument(&b.slot[0].event, 3, &v));
	assert_string_equal(v.name, "usual_milli");
	assert_int_equal(v.value, (1 << 24) - 1);
	assert_true(talechain_argument(&b.slot[0].event, 4, &v));
	assert_string_equal(v.name, "interval_ns");
	assert_int_equal(v.value, 123);
	bench_fini(&b);
}

/* Goal: the running median is that of the values, within its promise; it is
 * not known of few, and follows when the values change. */
TEST(test_usual)
{
	static int64_t value[MEDIAN_MOST - 1];
	struct running_median u = {0};
	uint64_t median;
	unsigned i, round;

	srand(3);
	for (i = 1; i < MEDIAN_LEAST; i++)
		running_median_add(&u, 1000);
	running_median_add(&u, 0);
	running_median_add(&u, UINT64_C(1) << MEDIAN_OCTAVES);
	running_median_add(&u, UINT64_MAX);
	assert_int_equal(running_median_value(&u), 0);
	running_median_add(&u, 1000);
	assert_in_range(running_median_value(&u), 969, 1031);
	for (round = 0; round < 50; round++) {
		unsigned n =
		    MEDIAN_LEAST +
		    (unsigned)rand() % (MEDIAN_MOST - 1 - MEDIAN_LEAST);
		unsigned shift = (unsigned)rand() % 12;

		memset(&u, 0, sizeof(u));
		for (i = 0; i < n; i++) {
			value[i] = ((int64_t)rand() % 4000 + 16) << shift;
			running_median_add(&u, (uint64_t)value[i]);
		}
		array_sort_int64(value, n);
		median = (uint64_t)value[(n + 1) / 2 - 1];
		assert_in_range(running_median_value(&u), median - median / 30,
		    median + median / 30);
	}
	for (i = 0; i < 2 * MEDIAN_MOST; i++)
		running_median_add(&u, 5000);
	assert_in_range(running_median_value(&u), 4840, 5160);
}

/* --- the kernel's half ---------------------------------------------------- */

/* A process that touches pages until it is told to stop. */
static pid_t
toucher(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			char *p = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			for (size_t i = 0; i < TOUCHED; i += 4096)
				p[i] = 1;
			munmap(p, TOUCHED);
		}
	}
	return pid;
}

/* What the commands say: how many rates were above nothing, by signal. */
static void
take_orders(struct command_ring *commands, unsigned seen[TALECHAIN_RATE_END])
{
	struct observer_command o;

	while (command_pop(commands, &o)) {
		assert_int_equal(o.kind, COMMAND_RATE);
		assert_int_equal(o.rate.server, 0);
		assert_int_equal(o.rate.cpu, -1);
		assert_int_equal(o.rate.base, o.rate.interval_ns);
		assert_int_equal(o.rate.usual_milli, 0);
		assert_in_range(o.rate.signal, 1, TALECHAIN_RATE_END - 1);
		seen[o.rate.signal] += o.rate.count > 0;
		/* One thread runs on one CPU; the paper's one percent. */
		if (o.rate.signal == TALECHAIN_RATE_CPU)
			assert_in_range(o.rate.count, 0,
			    o.rate.base + o.rate.base / 50 + 1000);
	}
}

/* Goal: CPU time and page faults of another process come as commands, each
 * with the time that it is of, possible ones only, and end with the process. */
TEST(test_reader)
{
	static struct rates_reader r;
	static struct command_ring commands;
	const struct profiler_options options = {.servers = 1,
	    .rates = 1U << TALECHAIN_RATE_CPU |
		     1U << TALECHAIN_RATE_PAGE_FAULTS |
		     1U << TALECHAIN_RATE_QUEUE,
	    .rates_period_ns = 1};
	struct instant limit = instant_plus(instant_now(), 120 * NS_PER_S);
	unsigned seen[TALECHAIN_RATE_END] = {0}, last;
	pid_t pid;

	rates_open(&r, &options);
	assert_int_equal(r.period_ns, RATE_READ_LEAST_NS);
	assert_false(r.signals >> TALECHAIN_RATE_QUEUE & 1); /* not ours */
	if ((r.signals >> TALECHAIN_RATE_CPU & 1) == 0) {
		rates_close(&r);
		unit_skip("perf_event_open is not permitted");
	}
	pid = toucher();
	assert_true(pid > 0);
	rates_server(&r, 0, &(struct family){{pid}, 1, 0}, 1, "s0");
	while (seen[TALECHAIN_RATE_CPU] < 20 ||
	       seen[TALECHAIN_RATE_PAGE_FAULTS] < 20) {
		assert_true(instant_before(instant_now(), limit));
		rates_turn(&r, &commands, instant_now());
		take_orders(&commands, seen);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	rates_turn(&r, &commands, r.due); /* what it did until then */
	rates_server(&r, 0, &(struct family){.count = 0}, 2, "s0");
	take_orders(&commands, seen);
	last = seen[TALECHAIN_RATE_CPU];
	rates_turn(&r, &commands, r.due);
	rates_turn(&r, &commands, r.due);
	take_orders(&commands, seen);
	assert_int_equal(seen[TALECHAIN_RATE_CPU], last);
	rates_close(&r);
}

/* Goal: what this machine does not count is off, and asks for no turn. */
TEST(test_reader_without)
{
	static struct rates_reader r;
	static struct command_ring commands;
	struct profiler_options options = {.servers = 1,
	    .rates = 1U << TALECHAIN_RATE_IPC | 1U << TALECHAIN_RATE_CLOCK,
	    .rates_period_ns = 10 * MS};

	rates_open(&r, &options);
	if (r.signals != 0) {
		rates_close(&r);
		unit_skip("this machine has counters");
	}
	rates_server(&r, 0, &(struct family){{getpid()}, 1, 0}, 1, "s0");
	assert_int_equal(r.server[0].searched, 0);
	assert_int_equal(rates_turn(&r, &commands, instant_now()), -1);
	rates_close(&r);
}
