/*
 * Goal: single sweeps of the observer, at times of our choosing: what it
 * makes of agents' state words, of several sources at once, of its own
 * absences, and of channels that end.
 */
#include "resting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_page.h"

#include "talechain/events/events.h"

/* An observer that sweeps only when it is to. */
struct bench {
	struct rest_rig *rig;
	struct observer *o; /* its */
	struct timeline_reader *reader;
	struct timeline_slot slot[4096];
	unsigned slots;
	struct instant now;
	uint32_t next_number;
};

static struct bench *
bench_new(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->rig = rest_rig_new(PROFILER_POLL_SLEEP);
	b->o = &b->rig->o;
	assert_int_equal(timeline_reader_from(&b->reader, b->rig->timeline), 0);
	b->o->servers = 2;
	b->o->blind_ns = NS_PER_MS;
	b->o->hazards[1].output = &b->o->output;
	b->o->hazards[1].server = 1;
	b->now = instant_now();
	b->next_number = 1;
	return b;
}

static void
bench_free(struct bench *b)
{
	timeline_reader_close(&b->reader);
	rest_rig_free(b->rig);
	free(b);
}

/* Sweep a little later; hazards come out as "G0 g0 S1": kind, server. */
static const char *
sweep(struct bench *b, int64_t later_ns)
{
	static const char letter[HAZARD_KIND_COUNT] = {
	    'G', 'S', 'X', 'U', 'Q', 'T', 'M'};
	static char text[512];
	struct hazard h;
	uint64_t lost;
	unsigned n = 0;

	b->now = instant_plus(b->now, later_ns);
	observer_sweep(b->o, b->now);
	while (n < sizeof(text) - 4 && hazard_ring_take(&b->rig->hazards, &h)) {
		if (n > 0)
			text[n++] = ' ';
		text[n++] = (char)(letter[h.kind] + (h.begin ? 0 : 'a' - 'A'));
		text[n++] = (char)('0' + h.server);
	}
	text[n] = '\0';
	while (b->slots < 4096 && timeline_read(b->reader, &b->slot[b->slots],
				      &lost) == TIMELINE_READ_OK)
		b->slots++;
	return text;
}

static unsigned
events(const struct bench *b, unsigned type)
{
	unsigned i, n = 0;

	for (i = 0; i < b->slots; i++)
		n += b->slot[i].event.type == type;
	return n;
}

static const struct talechain_event *
last_event(const struct bench *b, unsigned type)
{
	unsigned i;

	for (i = b->slots; i-- > 0;)
		if (b->slot[i].event.type == type)
			return &b->slot[i].event;
	fail_msg("no %s", talechain_type_name(type));
	return NULL;
}

static struct channel *
add_channel(
    struct bench *b, enum talechain_kind kind, int server, unsigned slot_log2)
{
	struct channel *c;

	assert_int_equal(
	    channel_new_inside(&c, b->next_number++, kind, "c", slot_log2), 0);
	c->server = server;
	assert_true(observer_add_channel(b->o, c, b->now));
	return c;
}

static void
set_state(struct channel *c, uint64_t epoch, unsigned state)
{
	__atomic_store_n(
	    &c->memory->state, epoch << 8 | state, __ATOMIC_RELEASE);
}

static void
order(struct bench *b, enum command_kind kind, unsigned server, void *source)
{
	struct observer_command o = {.kind = kind,
	    .server = server,
	    .pid = 99,
	    .at = b->now,
	    .source = source};

	assert_true(command_push(&b->rig->commands, &o));
}

/* Goal: collections by the state word, seen and unseen, each exactly once. */
TEST(test_state_word)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, 0, 6);

	assert_string_equal(sweep(b, 1000), "");
	set_state(c, 1, TALECHAIN_JVM_RUNNING);
	assert_string_equal(sweep(b, 1000), "");
	set_state(c, 2, TALECHAIN_JVM_GC);
	assert_string_equal(sweep(b, 1000), "G0");
	assert_string_equal(sweep(b, 1000), "");
	set_state(c, 3, TALECHAIN_JVM_RUNNING);
	assert_string_equal(sweep(b, 1000), "g0");
	set_state(c, 7, TALECHAIN_JVM_RUNNING); /* two whole ones */
	assert_string_equal(sweep(b, 1000), "G0 g0 G0 g0");
	set_state(c, 10, TALECHAIN_JVM_GC); /* one whole, one begun */
	assert_string_equal(sweep(b, 1000), "G0 g0 G0");
	set_state(c, 14, TALECHAIN_JVM_GC); /* over, one whole, one begun */
	assert_string_equal(sweep(b, 1000), "g0 G0 g0 G0");
	set_state(c, 17, TALECHAIN_JVM_RUNNING); /* over, one whole */
	assert_string_equal(sweep(b, 1000), "g0 G0 g0");
	set_state(c, 18, TALECHAIN_JVM_GC);
	assert_string_equal(sweep(b, 1000), "G0");
	set_state(c, 19, TALECHAIN_JVM_DEAD);
	assert_string_equal(sweep(b, 1000), "g0");
	assert_int_equal(events(b, TALECHAIN_JVM_DEATH), 1);
	channel_free(&c);
	bench_free(b);
}

/* Goal: a lying agent cannot leave a hazard in force, nor make more than a
 * few at a time. */
TEST(test_hostile_state)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, 0, 6);
	const char *said;
	int i;

	srand(6);
	set_state(c, 1, TALECHAIN_JVM_RUNNING);
	sweep(b, 1000);
	set_state(c, UINT32_MAX, TALECHAIN_JVM_RUNNING);
	said = sweep(b, 1000);
	assert_int_equal(strlen(said), 16 * 6 - 1);
	for (i = 0; i < 10000; i++) {
		__atomic_store_n(&c->memory->state,
		    (uint64_t)rand() << (rand() % 40), __ATOMIC_RELEASE);
		c->memory->word[TALECHAIN_WORD_SINCE] = (uint64_t)rand()
							<< (rand() % 40);
		c->memory->word[TALECHAIN_WORD_CAUSE] = (uint64_t)rand();
		sweep(b, 1000);
	}
	c->ending = true;
	sweep(b, 1000);
	assert_int_equal(b->o->hazards[0].active, 0);
	assert_int_equal(b->o->hazards[0].agents, 0);
	assert_int_equal(b->o->channels, 0);
	assert_int_equal(b->o->agents, 0);
	channel_free(&c);
	bench_free(b);
}

/* Goal: an agent that ends in a collection takes the hazard with it. */
TEST(test_agent_leaves)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, 1, 6);
	struct observer_command back;

	set_state(c, 1, TALECHAIN_JVM_GC);
	assert_string_equal(sweep(b, 1000), "G1");
	order(b, COMMAND_CHANNEL_END, 0, c);
	assert_string_equal(sweep(b, 1000), "g1");
	assert_true(command_pop(&b->rig->released, &back));
	assert_ptr_equal(back.source, c);
	assert_int_equal(back.kind, COMMAND_CHANNEL_END);
	channel_free(&c);
	bench_free(b);
}

/* Goal: a server's processes mark on their own; the last that ends, or
 * leaves, ends the hazard. */
TEST(test_marking)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, 0, 6);
	struct channel *d = add_channel(b, TALECHAIN_KIND_JVM, -1, 6);

	set_state(c, 1, TALECHAIN_JVM_RUNNING | TALECHAIN_STATE_MARKING);
	set_state(d, 1, TALECHAIN_JVM_RUNNING | TALECHAIN_STATE_MARKING);
	assert_string_equal(sweep(b, 1000), "M0");
	d->server = 0;
	assert_string_equal(sweep(b, 1000), "");
	set_state(c, 1, TALECHAIN_JVM_RUNNING);
	assert_string_equal(sweep(b, 1000), "");
	d->server = 1;
	assert_string_equal(sweep(b, 1000), "m0 M1");
	set_state(c, 1, TALECHAIN_JVM_RUNNING | TALECHAIN_STATE_MARKING);
	set_state(d, 2, TALECHAIN_JVM_GC | TALECHAIN_STATE_MARKING);
	assert_string_equal(sweep(b, 1000), "M0 G1");
	d->ending = true;
	c->ending = true;
	assert_string_equal(sweep(b, 1000), "m0 g1 m1");
	assert_int_equal(b->o->hazards[0].agents_marking, 0);
	assert_int_equal(b->o->hazards[1].agents_marking, 0);
	channel_free(&c);
	channel_free(&d);
	bench_free(b);
}

/* Goal: a channel that finds its server late brings its state along. */
TEST(test_agent_joins_late)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, -1, 6);

	set_state(c, 1, TALECHAIN_JVM_GC);
	assert_string_equal(sweep(b, 1000), "");
	c->server = 1;
	assert_string_equal(sweep(b, 1000), "G1");
	c->server = 0;
	assert_string_equal(sweep(b, 1000), "g1 G0");
	set_state(c, 2, TALECHAIN_JVM_RUNNING);
	assert_string_equal(sweep(b, 1000), "g0");
	channel_free(&c);
	bench_free(b);
}

/* Goal: the process's end ends all other hazards, and nothing begins until
 * there is a new one. */
TEST(test_exit_rules)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, 0, 6);

	order(b, COMMAND_SERVER_START, 0, NULL);
	assert_string_equal(sweep(b, 1000), "");
	set_state(c, 1, TALECHAIN_JVM_GC);
	assert_string_equal(sweep(b, 1000), "G0");
	order(b, COMMAND_SERVER_EXIT, 0, NULL);
	assert_string_equal(sweep(b, 1000), "g0 X0");
	set_state(c, 4, TALECHAIN_JVM_GC);
	assert_string_equal(sweep(b, 1000), "");
	order(b, COMMAND_CHANNEL_END, 0, c);
	assert_string_equal(sweep(b, 1000), "");
	order(b, COMMAND_SERVER_START, 0, NULL);
	assert_string_equal(sweep(b, 1000), "x0");
	assert_int_equal(events(b, TALECHAIN_SERVER_START), 2);
	assert_int_equal(events(b, TALECHAIN_SERVER_EXIT), 1);
	channel_free(&c);
	bench_free(b);
}

/* Goal: absences beyond the limit are counted, summed and reported. */
TEST(test_blind)
{
	struct bench *b = bench_new();
	const struct counters *c = &b->o->output.counters;

	sweep(b, 1000);
	sweep(b, NS_PER_MS);
	assert_int_equal(c->blind, 0);
	sweep(b, NS_PER_MS + 1);
	sweep(b, 7 * NS_PER_MS);
	sweep(b, 1000);
	assert_int_equal(c->blind, 2);
	assert_int_equal(c->blind_ns, 8 * NS_PER_MS + 1);
	assert_int_equal(c->blind_max_ns, 7 * NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_META_BLIND), 2);
	assert_int_equal(
	    last_event(b, TALECHAIN_META_BLIND)->arg[0], 7 * NS_PER_MS);
	assert_int_equal(c->sweeps, 5);
	bench_free(b);
}

/* Goal: the two clocks are tied together ten times a second. */
TEST(test_calibration)
{
	struct bench *b = bench_new();
	const struct talechain_event *e;
	unsigned sane = 0;
	int i;

	/* The clock itself is read, so sweep in real time. */
	for (i = 0; i < 4;) {
		b->now = instant_now();
		sweep(b, 0);
		i = (int)events(b, TALECHAIN_META_CALIBRATION);
	}
	e = last_event(b, TALECHAIN_META_CALIBRATION);
	assert_int_equal(e->ts, e->arg[1]);
	assert_true(e->arg[1] <= instant_now().ns);
#if defined(__x86_64__)
	assert_true(e->arg[0] > 0);
	/* Between a slow and an absurdly fast counter, unless we lost the CPU
	 * between the two clocks. */
	for (i = 0; i < (int)b->slots; i++) {
		e = &b->slot[i].event;
		sane += e->type == TALECHAIN_META_CALIBRATION &&
			e->arg[2] >= 100000000 && e->arg[2] <= 20000000000;
	}
	assert_true(sane > 0);
#endif
	bench_free(b);
}

/* Goal: classes are told of as they come, to 2 ms; methods at leisure; and a
 * counter that goes back tells nothing. */
TEST(test_rates)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_JVM, 0, 6);
	const struct talechain_event *e;

	c->memory->word[TALECHAIN_WORD_CLASSES] = 1000;
	sweep(b, 50 * NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 0);
	c->memory->word[TALECHAIN_WORD_CLASSES] = 1010;
	c->memory->word[TALECHAIN_WORD_COMPILED] = 3;
	sweep(b, NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 0);
	sweep(b, NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 1);
	e = last_event(b, TALECHAIN_JVM_RATES);
	assert_int_equal(e->arg[0], 10);
	assert_int_equal(e->arg[1], 3);
	assert_int_equal(e->arg[2], 2 * NS_PER_MS);
	c->memory->word[TALECHAIN_WORD_COMPILED] = 4;
	for (int i = 0; i < 12; i++)
		sweep(b, 4 * NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 1);
	sweep(b, 2 * NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 2);
	e = last_event(b, TALECHAIN_JVM_RATES);
	assert_int_equal(e->arg[0], 0);
	assert_int_equal(e->arg[1], 1);
	assert_int_equal(e->arg[2], 50 * NS_PER_MS);
	c->memory->word[TALECHAIN_WORD_CLASSES] = 5;
	sweep(b, 50 * NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 2);
	c->memory->word[TALECHAIN_WORD_CLASSES] = 6;
	sweep(b, 2 * NS_PER_MS);
	assert_int_equal(events(b, TALECHAIN_JVM_RATES), 3);
	channel_free(&c);
	bench_free(b);
}

/* Goal: one sweep copies at most its batch; a full ring cannot keep another
 * one waiting for more than a few sweeps; nothing is lost by that. */
TEST(test_batch)
{
	struct bench *b = bench_new();
	struct channel *busy = add_channel(b, TALECHAIN_KIND_APP, 0, 10);
	struct channel *quiet = add_channel(b, TALECHAIN_KIND_APP, 1, 10);
	struct talechain tb, tq;
	unsigned i;

	talechain_attach(&tb, busy->memory, 10);
	talechain_attach(&tq, quiet->memory, 10);
	for (i = 0; i < 640; i++)
		talechain_emit(&tb, TALECHAIN_APP_MARK, i, 0, 0, 0);
	talechain_emit(&tq, TALECHAIN_APP_START, 0, 0, 0, 0);
	sweep(b, 1000);
	assert_int_equal(events(b, TALECHAIN_APP_MARK), OBSERVER_BATCH);
	sweep(b, 1000);
	assert_int_equal(events(b, TALECHAIN_APP_START), 1);
	for (i = 0; i < 20; i++)
		sweep(b, 1000);
	assert_int_equal(events(b, TALECHAIN_APP_MARK), 640);
	channel_free(&busy);
	channel_free(&quiet);
	bench_free(b);
}

/* Goal: a loss of a CPU's events lasts from the stamp of the last event before
 * it until that of the first event after it that was written as it happened. */
TEST(test_overwritten)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_KERNEL, 0, 6);
	uint64_t begin = instant_now().ns;
	const struct talechain_event *e;
	struct talechain tc;

	c->cpu = 3;
	talechain_attach(&tc, c->memory, 6);
	talechain_emit_at(&tc, begin, TALECHAIN_SCHEDULE, 0, 0, 0, 0);
	sweep(b, 1000);
	for (unsigned i = 0; i < 100; i++)
		if (i % 2 == 0)
			talechain_emit_at(
			    &tc, begin + 1, TALECHAIN_IDLE, i, 0, 0, 0);
		else
			talechain_emit_at(&tc, begin + 1000 + i,
			    TALECHAIN_WAKEUP, i, 0, 0, 0);
	sweep(b, 1000);
	assert_int_equal(events(b, TALECHAIN_META_LOST), 1);
	e = last_event(b, TALECHAIN_META_LOST);
	assert_int_equal(e->arg[0], c->number);
	assert_int_equal(e->arg[1], 52);
	assert_int_equal(e->arg[2], TALECHAIN_LOSS_OVERWRITTEN);
	assert_int_equal(e->arg[3], 1053);
	assert_int_equal(e->ts, begin + 1053);
	assert_int_equal(e->cpu, 3);
	assert_int_equal(events(b, TALECHAIN_IDLE), 24);
	channel_free(&c);
	bench_free(b);
}

/* Goal: an ending channel gives up all it holds, its half-written last event
 * as abandoned, and goes; a writer that will not stop is cut off. */
TEST(test_ending)
{
	struct bench *b = bench_new();
	struct channel *c = add_channel(b, TALECHAIN_KIND_APP, 0, 8);
	struct talechain tc;
	unsigned i;

	talechain_attach(&tc, c->memory, 8);
	for (i = 0; i < 200; i++)
		talechain_emit(&tc, TALECHAIN_APP_MARK, i, 0, 0, 0);
	/* As a writer leaves it that dies between mark and publication. */
	c->memory->head = 201;
	tc.slot[200].seq = 2 * 200 + 1;
	order(b, COMMAND_CHANNEL_END, 0, c);
	for (i = 0; i < 10; i++)
		sweep(b, 1000);
	assert_int_equal(events(b, TALECHAIN_APP_MARK), 200);
	assert_int_equal(b->o->output.counters.abandoned, 1);
	assert_int_equal(b->o->channels, 0);
	assert_int_equal(last_event(b, TALECHAIN_META_LOST)->arg[2],
	    TALECHAIN_LOSS_ABANDONED);
	channel_free(&c);

	c = add_channel(b, TALECHAIN_KIND_APP, 0, 8);
	talechain_attach(&tc, c->memory, 8);
	order(b, COMMAND_CHANNEL_END, 0, c);
	for (i = 0; i < 100000 && b->o->channels > 0; i++) {
		talechain_emit(&tc, TALECHAIN_APP_START, i, 0, 0, 0);
		talechain_emit(&tc, TALECHAIN_APP_START, i, 0, 0, 0);
		if (i % 16 == 0)
			sweep(b, 1000);
	}
	assert_int_equal(b->o->channels, 0);
	channel_free(&c);
	bench_free(b);
}

/* Goal: the observer counts each period where it belongs, and times one
 * sweep in 1024, all of it and by what it looked at. */
TEST(test_self)
{
	struct bench *b = bench_new();
	const struct profiler_cost *self = &b->o->cost.seen;
	struct channel *c = add_channel(b, TALECHAIN_KIND_APP, 0, 6);
	uint64_t sum = 0, periods = 0;
	unsigned i;

	for (i = 0; i < 2 * OBSERVER_COST_EVERY; i++)
		sweep(b, 700);
	assert_int_equal(self->timed, 2);
	sweep(b, 100000);
	assert_int_equal(self->timed, 3);
	for (i = 0; i < PROFILER_PERIODS; i++)
		periods += self->period[i];
	assert_int_equal(
	    periods, 2 * OBSERVER_COST_EVERY); /* the first has none */
	assert_int_equal(
	    self->period[10], 2 * OBSERVER_COST_EVERY - 1); /* 512..1023 */
	assert_int_equal(self->period[17], 1);
	for (i = 0; i < PROFILER_PART_COUNT; i++)
		sum += self->cycles[i];
	assert_true(sum > 0);
	assert_true(self->cycles[PROFILER_PART_CHANNELS] > 0);
	assert_int_equal(self->cycles[PROFILER_PART_KERNEL], 0);
	/* A sweep that is not timed costs nothing to the accounts. */
	sweep(b, 700);
	for (i = 0; i < PROFILER_PART_COUNT; i++)
		sum -= self->cycles[i];
	assert_int_equal(sum, 0);
	channel_free(&c);
	bench_free(b);
}

/* The next hazard, which must be of this kind and edge. */
static struct hazard
take(struct bench *b, enum hazard_kind kind, bool begin)
{
	struct hazard h;

	assert_true(hazard_ring_take(&b->rig->hazards, &h));
	assert_int_equal(h.kind, kind);
	assert_int_equal(h.begin, begin);
	return h;
}

/* Goal: a safepoint that was over when it was seen says so, and whether it was
 * that of a collection; each says how full eden was before. */
TEST(test_page_hazards)
{
	struct bench *b = bench_new();
	struct hsperf_page *p;
	struct fake_page f;
	struct hazard h;
	char why[PAGE_TEXT];
	int i;

	fake_init(&f, NULL);
	fake_add_jvm(&f, "G1");
	fake_add_long(&f, "sun.gc.generation.0.space.0.used", 90);
	fake_add_long(&f, "sun.gc.generation.0.space.0.capacity", 100);
	i = hsperf_page_open_fd(&p, f.fd, geteuid(), 99, why);
	assert_int_equal(i, 0);
	order(b, COMMAND_PAGE, 0, p);
	sweep(b, NS_PER_MS);
	b->now = instant_plus(b->now, NS_PER_MS);
	fake_safepoint_begin(&f);
	fake_safepoint_end(&f, 1000);
	observer_sweep(b->o, b->now);
	h = take(b, HAZARD_SAFEPOINT, true);
	assert_true(h.over);
	assert_int_equal(h.eden, 3);
	assert_int_equal(h.cause, TALECHAIN_CAUSE_NOT_GC);
	h = take(b, HAZARD_SAFEPOINT, false);
	assert_false(h.over);
	assert_int_equal(h.cause, TALECHAIN_CAUSE_NOT_GC);
	fake_safepoint_begin(&f);
	fake_gc_begin(&f, 0, "Allocation Failure", 2000);
	fake_gc_end(&f, 0, 3000);
	fake_safepoint_end(&f, 3000);
	observer_sweep(b->o, instant_plus(b->now, NS_PER_MS));
	h = take(b, HAZARD_SAFEPOINT, true);
	assert_true(h.over);
	h = take(b, HAZARD_SAFEPOINT, false);
	assert_int_equal(h.cause, TALECHAIN_CAUSE_ALLOCATION);
	h = take(b, HAZARD_GC, true);
	assert_true(h.over);
	take(b, HAZARD_GC, false);
	fake_safepoint_begin(&f);
	observer_sweep(b->o, instant_plus(b->now, 2 * NS_PER_MS));
	h = take(b, HAZARD_SAFEPOINT, true);
	assert_false(h.over);
	hsperf_page_free(&p);
	fake_fini(&f);
	bench_free(b);
}
