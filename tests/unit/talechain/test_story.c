/*
 * Goal: for each cause a stream that shows it: the cause, its length to the
 * microsecond and the sentence are told; and a story of any events, however
 * hostile, tiles the request's time.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/claims/explainer.h"
#include "talechain/render/render.h"
#include "talechain/tale/tale_struct.h"
#include "tests/unit/talechain/cases.h"
#include "tests/unit/talechain/recorded.h"

/* What must hold of every story. */
static void
whole(const struct story *s)
{
	int64_t at = 0, sum = 0;
	size_t i, k;

	for (i = 0; i < s->segments; i++) {
		assert_true(s->segment[i].begin_ns == at);
		assert_true(s->segment[i].end_ns > at);
		assert_true(s->segment[i].lane < s->lanes);
		assert_non_null(memchr(s->segment[i].who, '\0', 96));
		at = s->segment[i].end_ns;
	}
	assert_true(at == s->total_ns);
	for (i = 0; i < TALE_CAUSE_COUNT; i++)
		sum += s->cause_ns[i];
	assert_true(sum == s->total_ns);
	assert_true(s->coverage >= 0 && s->coverage <= 1);
	assert_true(s->bars <= STORY_BARS_MAX);
	assert_true(s->arrows <= STORY_ARROWS_MAX);
	for (i = 0; i < s->bars; i++) {
		const struct story_bar *a = &s->bar[i], *b;

		assert_true(a->begin_ns >= 0 && a->begin_ns < a->end_ns);
		assert_true(a->end_ns <= s->total_ns && a->lane < s->lanes);
		for (k = i + 1; k < s->bars && s->bar[k].lane == a->lane; k++) {
			b = &s->bar[k];
			assert_true(b->begin_ns >= a->end_ns ||
				    (b->begin_ns >= a->begin_ns &&
					b->end_ns <= a->end_ns));
		}
	}
	for (i = 0; i < s->arrows; i++) {
		assert_true(s->arrow[i].from_lane < s->lanes);
		assert_true(s->arrow[i].to_lane < s->lanes);
		assert_true(s->arrow[i].from_ns >= 0);
		assert_true(s->arrow[i].from_ns <= s->arrow[i].to_ns);
		assert_true(s->arrow[i].to_ns <= s->total_ns);
	}
}

static void
case_check(const struct cause_case *c)
{
	size_t n = strlen(c->sentence);
	struct plot p;
	struct story *s;

	plot_init(&p);
	c->plot(&p);
	s = plot_tell(&p);
	whole(s);
	if (s->verdict.cause != c->cause ||
	    s->verdict.share_ns != c->share_us * US ||
	    strncmp(s->verdict.text, c->sentence, n) != 0) {
		for (n = 0; n < s->segments; n++)
			print_message("%10.3f %s %s\n",
			    (double)s->segment[n].begin_ns / 1e3,
			    tale_cause_code(s->segment[n].cause),
			    s->segment[n].who);
		fail_msg("%s: %s, %ld us: %s", c->name,
		    tale_cause_code(s->verdict.cause),
		    (long)(s->verdict.share_ns / US), s->verdict.text);
	}
	plot_fini(&p);
}

TEST(test_causes)
{
	assert_true(cases_count > 180);
	for (size_t i = 0; i < cases_count; i++)
		case_check(&cases[i]);
}

#define STACK_OF(kind, frame) \
	((uint64_t)(kind) << 60 | (uint64_t)(frame) << 54 | PACK(A_PID, A_TID))

/* A name as it is added to a tale that has been sliced, in pieces. */
static void
names_add(struct tale *t, uint32_t pid, uint64_t address, const char *name)
{
	uint64_t text[9] = {0};
	struct tale_entry *e;

	memcpy(text, name, strlen(name));
	for (unsigned i = 0; i < 3 && text[3 * i] != 0; i++) {
		t->entry =
		    realloc(t->entry, (t->entries + 1) * sizeof(t->entry[0]));
		assert_non_null(t->entry);
		t->capacity = t->entries + 1;
		e = &t->entry[t->entries];
		*e = t->entry[t->entries - 1];
		t->entries++;
		e->slot.event.type = TALECHAIN_SYMBOL;
		e->slot.event.tid = e->slot.event.pid = pid;
		e->slot.event.arg[0] = (uint64_t)i << 57 | (address << 7 >> 7);
		memcpy(&e->slot.event.arg[1], &text[3 * i], 24);
	}
}

/* Goal: the stack of a wait is that which the thread had there. */
TEST(test_stack)
{
	struct plot p;
	struct story *s;
	char name[STORY_FRAME];
	bool kernel;
	size_t i;

	plot_init(&p);
	case_plot(&p, "sleep_in");
	KERNEL(&p, 9001, 0, 0, TALECHAIN_STACK,
	    STACK_OF(TALECHAIN_STACK_WAITED, 0), 0x1000, 0x2000, 0x3000);
	KERNEL(&p, 9001, 0, 0, TALECHAIN_STACK,
	    STACK_OF(TALECHAIN_STACK_WAITED, 3), 0x4000, 0, 0);
	KERNEL(&p, 9001, 0, 0, TALECHAIN_STACK,
	    STACK_OF(TALECHAIN_STACK_KERNEL, 0), UINT64_MAX << 4, 0, 0);
	s = plot_tell(&p);
	names_add(p.tale, A_PID, 0x1000, "clock_nanosleep");
	names_add(p.tale, A_PID, 0x3000,
	    "org.example.Handler.handle(Request) that is long");
	names_add(p.tale, 0, UINT64_MAX << 4, "do_nanosleep");
	s = plot_explain(&p);
	for (i = 0; s->segment[i].stack == 0;)
		assert_true(++i < s->segments);
	assert_true(story_frame(s, i, 0, name, &kernel));
	assert_string_equal(name, "do_nanosleep");
	assert_true(kernel);
	assert_true(story_frame(s, i, 1, name, &kernel));
	assert_string_equal(name, "clock_nanosleep");
	assert_false(kernel);
	assert_true(story_frame(s, i, 2, name, &kernel));
	assert_string_equal(name, "?");
	assert_true(story_frame(s, i, 3, name, &kernel));
	assert_string_equal(
	    name, "org.example.Handler.handle(Request) that is long");
	assert_true(story_frame(s, i, 4, name, &kernel));
	assert_false(story_frame(s, i, 5, name, &kernel));
	assert_string_equal(s->verdict.evidence[1],
	    "stack: do_nanosleep; called from clock_nanosleep < ? < "
	    "org.example.Handler.handle(Request) that is long < ?");
	plot_fini(&p);
}

/* Goal: whether a JVM's thread slept or waited for a monitor is in its stack,
 * where the timers are the same. */
TEST(test_stack_of_timers)
{
#define SLEPT "A's thread 501 slept until a timer or another interrupt woke it."
#define ENTER "_ZN13ObjectMonitor6EnterIEP10JavaThread"
	static const struct {
		const char *plot, *function;
		int64_t us; /* when the stack was written */
		enum tale_cause cause;
		const char *sentence;
	} rows[] = {
	    {"backoff_in_jvm", "JVM_Sleep", 10131, TALE_CAUSE_SLEEP,
		"9.11 of 15.0 ms: " SLEPT},
	    {"backoff_in_jvm", "_ZN6Parker4parkEbl", 10131, TALE_CAUSE_SLEEP,
		"9.11 of 15.0 ms: " SLEPT},
	    {"backoff_in_jvm", "_ZN13ObjectMonitor4waitElbP10JavaThread", 10131,
		TALE_CAUSE_SLEEP, "9.11 of 15.0 ms: " SLEPT},
	    {"backoff_in_jvm", ENTER, 10131, TALE_CAUSE_LOCK,
		"9.12 of 15.0 ms: A's thread 501 waited for a Java monitor."},
	    {"backoff_in_jvm", "pthread_cond_timedwait", 10131,
		TALE_CAUSE_NOT_OBSERVED,
		"9.11 of 15.0 ms: not observed: A's thread 501 slept until "
		"timers woke it: its own, or those of a Java monitor that was "
		"then free."},
	    {"futex_alone", "JVM_SleepNanos", 9001, TALE_CAUSE_SLEEP,
		"8.00 of 10.0 ms: A's thread 501 slept in futex."},
	    {"futex_alone", "_ZN6Parker4parkEbl", 9001, TALE_CAUSE_NOT_OBSERVED,
		"8.00 of 10.0 ms: not observed: A's thread 501 slept in futex, "
		"and what for is in no event."},
	    {"futex_alone", ENTER, 9001, TALE_CAUSE_LOCK,
		"8.00 of 10.0 ms: A's thread 501 waited in futex for a Java "
		"monitor."},
	    {"futex_timer", ENTER, 9011, TALE_CAUSE_LOCK,
		"8.00 of 10.0 ms: A's thread 501 waited in futex for a Java "
		"monitor."},
	};
	struct plot p;
	struct story *s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		plot_init(&p);
		case_plot(&p, rows[i].plot);
		KERNEL(&p, rows[i].us, 0, 0, TALECHAIN_STACK,
		    STACK_OF(TALECHAIN_STACK_WAITED, 0), 0x1000, 0x2000,
		    0x3000);
		s = plot_tell(&p);
		names_add(p.tale, A_PID, 0x3000, rows[i].function);
		s = plot_explain(&p);
		assert_int_equal(s->verdict.cause, rows[i].cause);
		assert_non_null(strstr(s->verdict.text, rows[i].sentence));
		plot_fini(&p);
	}
}

/* Goal: the stack of a later wait is not that of the one before. */
TEST(test_later_stack)
{
	struct plot p;
	struct story *s;

	plot_init(&p);
	case_plot(&p, "sleep_in");
	plot_leaves(&p, 9100, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(&p, 9600, A_TID, 0, 0);
	KERNEL(&p, 9601, 0, 0, TALECHAIN_STACK,
	    STACK_OF(TALECHAIN_STACK_WAITED, 0), 0x1000, 0x2000, 0x3000);
	s = plot_tell(&p);
	for (size_t i = 0; i < s->segments; i++)
		assert_int_equal(s->segment[i].stack, 0);
	plot_fini(&p);
}

/* Goal: samples of computing are counted by function; those of another time
 * are not the request's. */
TEST(test_samples)
{
	static const uint64_t at[] = {0x1000, 0x1000, 0x2000, 0x1000};
	struct plot p;
	struct story *s;

	plot_init(&p);
	for (unsigned i = 0; i < 4; i++) {
		KERNEL(&p, 1000 + 2000 * i, A_TID, A_PID, TALECHAIN_STACK,
		    STACK_OF(TALECHAIN_STACK_RAN, 0), at[i], 0x3000, 0x4000);
		KERNEL(&p, 1000 + 2000 * i, A_TID, A_PID, TALECHAIN_STACK,
		    STACK_OF(TALECHAIN_STACK_RAN, 3), 0x5000, 0, 0);
	}
	KERNEL(&p, -1000, A_TID, A_PID, TALECHAIN_STACK,
	    STACK_OF(TALECHAIN_STACK_RAN, 0), 0x1000, 0, 0);
	s = plot_tell(&p);
	names_add(p.tale, A_PID, 0x1000, "parse");
	s = plot_explain(&p);
	assert_string_equal(s->verdict.evidence[1],
	    "4 samples of its stack: 3 in parse, 1 in ?");
	plot_fini(&p);
}

/* Goal: where the runtime moves work between threads, what another thread
 * computed is not called the request's; the wait for it is. */
TEST(test_moved_work)
{
	static const struct {
		const char *plot;
		enum tale_cause cause;
		const char *sentence;
	} rows[] = {
	    {"handed_on", TALE_CAUSE_LOCK,
		"8.48 of 10.0 ms: A's thread 501 waited until thread 503 woke "
		"it, which computed meanwhile."},
	    {"given_away", TALE_CAUSE_WORK,
		"9.91 of 10.0 ms: A's thread 502 computed."},
	    {"taken_over", TALE_CAUSE_NOT_OBSERVED,
		"9.92 of 10.0 ms: not observed: A's thread 502 computed, and "
		"Go moves work between threads: for which request is in no "
		"event."},
	    {"work", TALE_CAUSE_WORK,
		"9.92 of 10.0 ms: A's thread 501 computed."},
	};
	struct plot p;
	struct story *s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s = plot_case(&p, rows[i].plot);
		names_add(p.tale, A_PID, 0, "Go");
		s = plot_explain(&p);
		whole(s);
		assert_string_equal(s->verdict.text, rows[i].sentence);
		assert_int_equal(s->verdict.cause, rows[i].cause);
		plot_fini(&p);
	}
}

static void
recorded_append(struct scene *scene, const struct recorded *r)
{
	for (size_t i = 0; i < r->events; i++) {
		const struct recorded_event *v = &r->event[i];
		struct talechain_event e = {
		    .seq = 2,
		    .ts = scene_at(v->ns).ns,
		    .tid = v->tid,
		    .pid = v->pid,
		    .type = (uint16_t)v->type,
		    .version = 1,
		    .cpu = (uint32_t)v->cpu,
		};

		memcpy(e.arg, v->arg, sizeof(e.arg));
		timeline_append(scene->timeline, &e, (uint32_t)v->cpu + 2,
		    v->server, scene_at(v->ns + 1000));
	}
}

/* Goal: what a real kernel recorded is explained as it was. */
TEST(test_recorded)
{
	struct tale_request q;
	struct scene scene;
	struct story *s;
	struct tale *t;

	for (size_t i = 0; i < recorded_count; i++) {
		const struct recorded *r = &recorded[i];

		scene_open(&scene, 12);
		recorded_append(&scene, r);
		scene_request(&q);
		q.id = r->id;
		q.first_byte = scene_at(r->first_byte);
		q.received = scene_at(r->received);
		q.committed = scene_at(r->committed);
		q.finished = scene_at(r->finished);
		q.cookie = r->client;
		q.attempt[0] = (struct tale_attempt){
		    .server = 0,
		    .server_pid = r->pid,
		    .cookie = r->server,
		    .server_name = "s0",
		    .trigger = "first",
		    .outcome = "won",
		    .written = scene_at(r->written),
		    .first_byte = scene_at(r->answered),
		    .complete = scene_at(r->complete),
		    .status = 200,
		};
		q.stream_end = timeline_position(scene.timeline);
		assert_int_equal(
		    tale_slice(&t, scene.reader, &q, NULL, 5000 * US), 0);
		assert_int_equal(tale_explain(&s, t), 0);
		whole(s);
		assert_int_equal(s->contradictions, 0);
		assert_int_equal(s->verdict.cause, r->cause);
		assert_string_equal(s->verdict.text, r->sentence);
		story_free(&s);
		tale_free(&t);
		scene_close(&scene);
	}
}

/* Goal: a 7 ms stall is reported as 7 ms, with why and what to do. */
TEST(test_words)
{
	static const struct {
		const char *name, *evidence, *advice; /* NULL: any */
	} of[] = {
	    {"gc", "the gc of A lasted 7.00 ms, from +1.000 to +8.000 ms",
		"hedging"},
	    {"two_gcs",
		"the gc of A lasted 4.00 ms, from +5.000 to +9.000 ms; 2 "
		"pauses in all",
		NULL},
	    {"faults",
		"3 page faults, 7.50 ms of it, the longest 2.50 ms; 6144 KiB "
		"of memory, up to 2048 KiB at once",
		"AlwaysPreTouch"},
	    {"classes",
		"800 classes were prepared and 300 methods compiled meanwhile",
		NULL},
	    {"nagle", NULL, "TCP_NODELAY"},
	};
	struct plot p;
	struct story *s;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		s = plot_case(&p, of[i].name);
		if (i == 0)
			assert_true(s->cause_ns[TALE_CAUSE_GC] == 7000 * US);
		if (of[i].evidence != NULL)
			assert_string_equal(
			    s->verdict.evidence[0], of[i].evidence);
		if (of[i].advice != NULL &&
		    strstr(s->verdict.advice[0], of[i].advice) == NULL)
			fail_msg("%s: %s", of[i].name, s->verdict.advice[0]);
		plot_fini(&p);
	}
}

/* Goal: what its own events contradict is counted, said, and not explained;
 * where none do, nothing is. */
TEST(test_contradictions)
{
	static const struct {
		const char *name;
		unsigned count;
		int64_t dark_us;
	} of[] = {
	    {"two_on_a_cpu", 1, 8000},
	    {"clock_exceeded", 1, 9922},
	    {"part_of_it", 1, 8000},
	    {"longer_wait", 1, 4000},
	    {"left_twice", 1, 8000},
	    {"preempted", 0, 0},
	    {"handed_over", 0, 0},
	};
	struct plot p;
	struct story *s;
	bool said;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		s = plot_case(&p, of[i].name);
		whole(s);
		assert_int_equal(s->contradictions, of[i].count);
		assert_true(
		    s->cause_ns[TALE_CAUSE_NOT_OBSERVED] == of[i].dark_us * US);
		assert_true(s->coverage <= 1 - (double)of[i].dark_us * 1e3 /
						   (double)s->total_ns);
		said = false;
		for (size_t k = 0; k < STORY_LINES; k++)
			said |= strstr(s->verdict.evidence[k],
				    "1 piece of it contradicts other events, "
				    "and counts as") != NULL;
		assert_int_equal(said, of[i].count > 0);
		plot_fini(&p);
	}
}

/* Goal: what is inferred is likely, is said to be, and explains nothing. */
TEST(test_confidence)
{
	static const struct {
		const char *name;
		enum story_confidence confidence;
		int64_t unexplained_us;
	} of[] = {
	    {"work", STORY_OBSERVED, 0},
	    {"interpreter", STORY_OBSERVED, 0},
	    {"gc", STORY_OBSERVED, 0},
	    {"classes", STORY_LIKELY, 8000},
	    {"full_socket", STORY_LIKELY, 8000},
	    {"forked_worker", STORY_NOT_OBSERVED, 9942},
	    {"lost", STORY_NOT_OBSERVED, 8000},
	};
	struct plot p;
	struct story *s;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		s = plot_case(&p, of[i].name);
		assert_int_equal(s->verdict.confidence, of[i].confidence);
		assert_int_equal(strstr(s->verdict.text, " (likely).") != NULL,
		    of[i].confidence == STORY_LIKELY);
		assert_true(fabs((1 - s->coverage) * (double)s->total_ns -
				 (double)of[i].unexplained_us * 1e3) < 1);
		assert_true(s->known >= s->coverage);
		plot_fini(&p);
	}
}

/* Goal: where a tale holds no more switches, threads are not known. */
TEST(test_too_many_switches)
{
	const int64_t switches = (int64_t)TALE_SWITCHES_MAX + 100;
	struct plot p;
	struct story *s;
	uint32_t from = A_TID, to = B_TID;

	plot_init(&p);
	KERNEL(&p, 90, A_TID, A_PID, TALECHAIN_WAKEUP, B_TID, A_PID, 0);
	for (int64_t i = 0; i < switches; i++) {
		KERNEL(&p, 100 + i * 100, from, A_PID, TALECHAIN_SCHEDULE,
		    PACK(A_PID, to), 0, 0,
		    (uint64_t)TALECHAIN_OFF_PREEMPTED << 56 |
			(i > 0 ? 100 * (uint64_t)US : 10 * (uint64_t)US));
		from = from == A_TID ? B_TID : A_TID;
		to = to == A_TID ? B_TID : A_TID;
	}
	p.sent = 1000000;
	p.left = 999997;
	p.back = 1000005;
	s = plot_tell(&p);
	whole(s);
	assert_true(p.tale->omitted > 0);
	assert_true(s->cause_ns[TALE_CAUSE_LOST] > 175000 * US);
	assert_true(s->cause_ns[TALE_CAUSE_LOST] < 190000 * US);
	assert_true(s->coverage < 0.83);
	plot_fini(&p);
}

/* Goal: a story whose pieces overlap or exceed it explains nothing. */
TEST(test_tiles)
{
	struct story_segment piece[2] = {
	    {.begin_ns = 0, .end_ns = 60}, {.begin_ns = 60, .end_ns = 100}};
	struct claim claim[2] = {{.rank = RANK_THREAD}, {.rank = RANK_GC}};
	struct story s = {.total_ns = 100, .segment = piece, .segments = 2};
	struct explainer ex = {.s = &s, .segment_claim = claim};

	s.coverage = 0.5;
	s.cause_ns[TALE_CAUSE_WORK] = 60;
	s.cause_ns[TALE_CAUSE_GC] = 40;
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 0);
	assert_true(s.coverage > 0.4);
	piece[1].begin_ns = 50;
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 1);
	assert_true(s.coverage < 0.1);
	piece[1] = (struct story_segment){.begin_ns = 60, .end_ns = 101};
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 2);
	piece[1].end_ns = 100;
	s.cause_ns[TALE_CAUSE_GC] = 41;
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 3);
}

static const struct story_arrow *
arrow_find(const struct story *s, enum story_arrow_kind kind, const char *name)
{
	for (size_t i = 0; i < s->arrows; i++)
		if (s->arrow[i].kind == kind &&
		    strcmp(s->arrow[i].name, name) == 0)
			return &s->arrow[i];
	fail_msg("no arrow: %s", name);
	return NULL;
}

/* Goal: of several requests that a thread of a pool had before, each has its
 * part of the wait. */
TEST(test_pool)
{
	struct plot p;
	struct story *s = plot_case(&p, "pool_two");

	whole(s);
	assert_int_equal(s->requests, 2);
	assert_true(s->request[0].id == 0xee);
	assert_in_range(s->request[0].waited_ns, 7000 * US, 7020 * US);
	assert_true(s->request[1].id == 0xcc);
	assert_int_equal(s->request[1].waited_ns, 925 * US);
	plot_fini(&p);
}

/* Goal: the request's bytes and the wake-ups are arrows between lanes. */
TEST(test_picture)
{
	const struct story_arrow *a;
	struct plot p;
	struct story *s;

	plot_init(&p);
	case_plot(&p, "lock");
	case_plot(&p, "client_late");
	s = plot_tell(&p);
	whole(s);
	a = arrow_find(s, STORY_ARROW_FLOW, "request");
	assert_true(a->to_ns - a->from_ns >= 0);
	a = arrow_find(s, STORY_ARROW_WAKE, "woken by softirq NET_RX");
	assert_int_equal(s->lane[a->from_lane].kind, STORY_LANE_CPU);
	assert_true(a->from_ns == (56 + 10) * US); /* 0 is 10 us earlier */
	assert_true(a->to_ns == (66 + 10) * US);
	a = arrow_find(s, STORY_ARROW_WAKE, "woken by thread 502");
	assert_true(a->from_ns == (9000 + 10) * US);
	assert_int_equal(s->lane[a->from_lane].kind, STORY_LANE_HOLDER);
	assert_int_equal(s->lane[a->from_lane].tid, B_TID);
	assert_string_equal(s->lane[a->from_lane].owner, "A");
	assert_int_equal(s->lane[a->to_lane].tid, A_TID);
	a = arrow_find(s, STORY_ARROW_FLOW, "response");
	assert_int_equal(s->lane[0].kind, STORY_LANE_CLIENT);
	assert_int_equal(s->lane[1].kind, STORY_LANE_PROXY);
	plot_fini(&p);
}

/* Bars of a kind on lanes of a kind: how long in all. */
static int64_t
bars_ns(const struct story *s, enum story_lane_kind lane,
    enum story_bar_kind kind, enum tale_cause cause)
{
	int64_t sum_ns = 0;

	for (size_t i = 0; i < s->bars; i++)
		if (s->lane[s->bar[i].lane].kind == lane &&
		    s->bar[i].kind == kind && s->bar[i].cause == cause)
			sum_ns += s->bar[i].end_ns - s->bar[i].begin_ns;
	return sum_ns;
}

/*
 * Goal: what a holder did is on its lane: it waited for a CPU, and ran no
 * longer than it did; the lock lies on the lane of the thread that waited.
 */
TEST(test_holder)
{
	struct plot p;
	struct story *s = plot_case(&p, "holder_preempted");

	whole(s);
	assert_int_equal(
	    bars_ns(s, STORY_LANE_SERVER, STORY_BAR_DELAY, TALE_CAUSE_LOCK),
	    s->cause_ns[TALE_CAUSE_LOCK]);
	assert_in_range(bars_ns(s, STORY_LANE_HOLDER, STORY_BAR_HOLDER,
			    TALE_CAUSE_PREEMPTED),
	    5000 * US, 7990 * US);
	assert_in_range(
	    bars_ns(s, STORY_LANE_HOLDER, STORY_BAR_HOLDER, TALE_CAUSE_WORK),
	    1 * US, 3000 * US);
	/* The holder works, but not on this request. */
	assert_in_range(
	    bars_ns(s, STORY_LANE_CPU, STORY_BAR_WORK, TALE_CAUSE_WORK), 0,
	    s->cause_ns[TALE_CAUSE_WORK]);
	plot_fini(&p);
}

/*
 * Goal: work on another request is drawn as that, with its id, on its thread's
 * lane and on the CPU; none of that is work on this one.
 */
TEST(test_other_request)
{
	struct plot p;
	struct story *s = plot_case(&p, "busy_loop");
	unsigned drawn = 0;

	whole(s);
	assert_int_equal(s->requests, 1);
	assert_true(s->request[0].id == 0xee);
	assert_in_range(s->request[0].waited_ns, 5900 * US, 7000 * US);
	for (size_t i = 0; i < s->bars; i++) {
		if (s->bar[i].kind != STORY_BAR_REQUEST)
			continue;
		assert_true(s->bar[i].request == 0xee);
		drawn++;
	}
	assert_in_range(drawn, 2, 20);
	assert_in_range(bars_ns(s, STORY_LANE_CPU, STORY_BAR_REQUEST,
			    TALE_CAUSE_BACKEND_QUEUE),
	    5900 * US, 6000 * US);
	assert_in_range(
	    bars_ns(s, STORY_LANE_CPU, STORY_BAR_WORK, TALE_CAUSE_WORK),
	    2000 * US, s->cause_ns[TALE_CAUSE_WORK]);
	/* Its names, once they are known: a line of evidence, once, though the
	 * others are in use. */
	for (unsigned i = 0; i < STORY_LINES - 1; i++)
		if (s->verdict.evidence[i][0] == '\0')
			strcpy(s->verdict.evidence[i], "other evidence");
	story_request_name(s, 0, "id-7", "GET", "/report");
	story_request_name(s, 0, "id-7", "GET", "/report");
	drawn = 0;
	for (unsigned i = 0; i < STORY_LINES; i++)
		drawn += strcmp(s->verdict.evidence[i],
			     "request 00000000000000ee was GET /report "
			     "(tailorctl why id-7)") == 0;
	assert_int_equal(drawn, 1);
	plot_fini(&p);
}

/* Goal: what a thread did before it took the request is other work, even if it
 * then goes on without a pause. */
TEST(test_other_work)
{
	struct plot p;
	struct story *s = plot_case(&p, "busy_no_more");

	whole(s);
	assert_in_range(
	    bars_ns(s, STORY_LANE_CPU, STORY_BAR_OTHER, TALE_CAUSE_UNKNOWN),
	    8000 * US, 9500 * US);
	assert_in_range(
	    bars_ns(s, STORY_LANE_CPU, STORY_BAR_WORK, TALE_CAUSE_WORK),
	    500 * US, 1500 * US);
	plot_fini(&p);
}

/* Whether a line of evidence contains a text. */
static bool
has_evidence(const struct story *s, const char *text)
{
	for (unsigned i = 0; i < STORY_LINES; i++)
		if (strstr(s->verdict.evidence[i], text) != NULL)
			return true;
	return false;
}

/* Goal: a collection of the other server is a pause that the request did not
 * meet, and no cause; ordered ones say so, one at another time is left out. */
TEST(test_unmet)
{
	static const struct {
		int64_t end_us, length_us;
		unsigned cause;
		const char *said; /* NULL: nothing */
	} heard[] = {
	    {7000, 4000, TALECHAIN_CAUSE_ORDERED,
		"the other server collected for 4.00 ms meanwhile, as Tailor "
		"had "
		"ordered: a pause that this request did not meet"},
	    {7000, 4000, TALECHAIN_CAUSE_ALLOCATION,
		"the other server collected for 4.00 ms meanwhile: a pause"},
	    {-1000, 4000, TALECHAIN_CAUSE_ORDERED, NULL},
	    {5000, 0, TALECHAIN_CAUSE_ORDERED,
		"the other server collected meanwhile, as"},
	};
	struct plot p;
	struct story *s;

	for (unsigned i = 0; i < sizeof(heard) / sizeof(heard[0]); i++) {
		plot_init(&p);
		SCENE(&p.scene, heard[i].end_us * US, 1,
		    heard[i].length_us > 0 ? TALECHAIN_HAZARD_END
					   : TALECHAIN_HAZARD_BEGIN,
		    1, HAZARD_GC, heard[i].cause,
		    (uint64_t)(heard[i].length_us * US));
		s = plot_tell(&p);
		whole(s);
		assert_int_equal(s->cause_ns[TALE_CAUSE_GC], 0);
		assert_true(has_evidence(s, "the other server") ==
			    (heard[i].said != NULL));
		if (heard[i].said != NULL)
			assert_true(has_evidence(s, heard[i].said));
		plot_fini(&p);
	}
}

/* Goal: the threads of a story are listed with what they belong to. */
TEST(test_threads)
{
	struct plot p;
	struct story *s = plot_case(&p, "preempted");
	bool hog = false, server = false, tailor = false;

	for (size_t i = 0; i < s->threads; i++) {
		const struct story_thread *h = &s->thread[i];

		assert_true(i == 0 || h[-1].tid < h->tid);
		hog |= h->tid == HOG && strcmp(h->name, "stress-ng") == 0;
		server |= h->tid == A_TID && h->pid == A_PID &&
			  strcmp(h->owner, "A") == 0;
		tailor |=
		    h->tid == PROXY_TID && strcmp(h->owner, "Tailor") == 0;
	}
	assert_true(hog && server && tailor);
	plot_fini(&p);
}

/* Goal: the neighbours' bytes on the same connections are not the request's. */
TEST(test_keep_alive)
{
	const uint64_t ports = PORTS(8080, 40000);
	struct plot p;
	struct story *s;

	plot_init(&p);
	/* The request before, its answer, and the one after. */
	KERNEL(&p, -900, 0, 0, TALECHAIN_TCP_RECV, 71, PACK(900, 1),
	    PACK(100, 500), ports);
	KERNEL(&p, -890, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 71, PACK(900, 100),
	    0, ports);
	KERNEL(&p, -500, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 71,
	    PACK(1400, 600), 0, ports);
	KERNEL(&p, 10200, 0, 0, TALECHAIN_TCP_RECV, 71, PACK(1100, 1),
	    PACK(100, 500), ports);
	KERNEL(&p, 10210, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 71,
	    PACK(1100, 100), 0, ports);
	/* Strangers with the same ports, of another address. */
	KERNEL(&p, 60, 0, 0, TALECHAIN_TCP_RECV, 66, PACK(77, 1),
	    PACK(120, 500), PORTS(9000, 50000));
	KERNEL(&p, 70, 600, 600, TALECHAIN_SOCK_RECV, 66, PACK(77, 120), 0,
	    PORTS(9000, 50000));
	s = plot_tell(&p);
	whole(s);
	/* From its own first segment to its own last one. */
	assert_true(p.tale->t0.ns == scene_at(0).ns);
	assert_true(s->total_ns == 10045 * US);
	assert_int_equal(p.tale->cookie[TALE_SOCKET_A_PEER], 91);
	for (size_t i = 0; i < p.tale->entries; i++) {
		const struct talechain_event *e = &p.tale->entry[i].slot.event;

		assert_true(e->tid != 600);
		if (e->arg[0] == 71)
			assert_true(e->ts > scene_at(-500 * US).ns &&
				    e->ts < scene_at(10200 * US).ns);
	}
	plot_fini(&p);
}

static uint64_t
dice(uint64_t sides)
{
	return (uint64_t)rand() % sides;
}

/* Any event, half of them of a kind and with values that fit somewhere. */
static void
event_random(struct plot *p)
{
	static const uint16_t types[] = {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) number,
	    TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
	};
	static const uint64_t values[] = {0, 1, 2, 3, 71, 72, 81, 91, A_TID,
	    B_TID, PROXY_TID, PACK(A_PID, A_TID), PACK(A_PID, B_TID),
	    PACK(5000, 120), PACK(8000, 600), PACK(600, 1), PACK(2000, 600),
	    PORTS(9000, 50000), PORTS(8080, 40000), SCENE_ID, UINT64_MAX,
	    INT64_MAX, 1000000, 9000000, UINT64_C(1) << 63};
	struct talechain_event e = {
	    .seq = 2, .version = 1, .cpu = (uint32_t)dice(3)};
	int k;

	e.type = types[dice(sizeof(types) / sizeof(types[0]))];
	e.tid = (uint32_t)values[dice(13)];
	e.pid = dice(2) ? A_PID : (uint32_t)dice(600);
	e.ts = scene_at((int64_t)dice(12000) * US - 1000 * US).ns;
	if (dice(50) == 0)
		e.ts = values[dice(sizeof(values) / sizeof(values[0]))];
	for (k = 0; k < 4; k++)
		e.arg[k] =
		    dice(20) == 0
			? ((uint64_t)rand() << 33) ^ (uint64_t)rand()
			: values[dice(sizeof(values) / sizeof(values[0]))];
	timeline_append(p->scene.timeline, &e, (uint32_t)dice(3),
	    (int)dice(3) - 1,
	    dice(50) == 0 ? (struct instant){values[dice(24)]}
			  : (struct instant){e.ts + dice(2000)});
}

/* Goal: whatever the events, the story is whole and can be rendered. */
TEST(test_any_events)
{
	struct plot p;
	struct story *s;
	struct json j;
	char *text;
	size_t n;
	int round;

	srand(11);
	for (round = 0; round < 1000; round++) {
		plot_init(&p);
		p.sent = (int64_t)dice(12000);
		p.left = (int64_t)dice(12000);
		p.back = (int64_t)dice(12000);
		p.taken = (int64_t)dice(12000);
		p.written = (int64_t)dice(12000);
		p.wait = (int64_t)dice(100);
		p.unsent = (uint32_t)dice(2) * 600;
		p.held = (uint32_t)dice(7);
		if (dice(2))
			cases[dice(cases_count)].plot(&p);
		if (dice(4) == 0)
			cases[dice(cases_count)].plot(&p);
		if (dice(3) == 0)
			p.client = (struct tale_client){
			    .scheduled = {dice(2) * SCENE_T0 - dice(9000000)},
			    .sent = {SCENE_T0 + dice(9000000)},
			    .received = {dice(2) * SCENE_T0 + dice(90000000)},
			    .same_host = dice(2),
			};
		for (n = dice(200); n > 0; n--)
			event_random(&p);
		s = plot_tell(&p);
		whole(s);
		assert_int_equal(story_render_text(s, &text, &n), 0);
		free(text);
		json_init(&j, false);
		assert_int_equal(story_render_json(s, &j), 0);
		json_fini(&j);
		plot_fini(&p);
	}
}

/* Goal: codes are unique, stable and found again. */
TEST(test_codes)
{
	for (int i = 0; i < TALE_CAUSE_COUNT; i++)
		assert_int_equal(
		    tale_cause_find(tale_cause_code((enum tale_cause)i)), i);
	assert_int_equal(tale_cause_find("no such cause"), -1);
}
