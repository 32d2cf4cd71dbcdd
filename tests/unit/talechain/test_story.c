/*
 * Goal: for each cause a stream that shows it: the cause, its length to the
 * microsecond and the sentence are told; and a story of any events, however
 * hostile, tiles the request's time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/story.h"
#include "talechain/tale.h"
#include "tests/unit/talechain/plot.h"

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
on_work(struct plot *p)
{
	(void)p;
}

static void
on_runq(struct plot *p)
{
	p->wait = 8000;
	p->before = HOG;
	p->taken = 8060;
}

static void
on_idle(struct plot *p)
{
	p->wait = 8000;
	p->taken = 8060;
	KERNEL(p, 8050, 0, 0, TALECHAIN_IDLE, 3, 90000 * US);
}

static void
on_preempted(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9000, A_TID, 8000, HOG);
}

/* The hog takes the CPU twice, another stranger once and for longer. */
static void
on_hog(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 3000, A_TID, 2000, HOG);
	plot_leaves(p, 3500, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 5500, A_TID, 2000, HOG);
	plot_leaves(p, 6000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG + 1);
	plot_enters(p, 8500, A_TID, 2500, HOG + 1);
}

/* Tailor loses its CPU for 30 ms after the answer has been sent. */
static void
on_away(struct plot *p)
{
	p->away = 30000;
	KERNEL(p, 10036, PROXY_TID, 99, TALECHAIN_SCHEDULE, PACK(HOG, HOG), 0,
	    0, (uint64_t)TALECHAIN_OFF_PREEMPTED << 56);
	KERNEL(p, 40036, HOG, HOG, TALECHAIN_SCHEDULE, PACK(99, PROXY_TID), 0,
	    0, 30000 * (uint64_t)US);
}

static void
on_stopped(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_STOPPED, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

static void
on_disk(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_DISK, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

static void
on_blocked(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_BLOCKED, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

static void
wakes(struct plot *p, int64_t us, uint32_t from, uint32_t to)
{
	KERNEL(p, us, from, A_PID, TALECHAIN_WAKEUP, to, A_PID, 0);
}

static void
on_lock(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	wakes(p, 9000, B_TID, A_TID);
	plot_enters(p, 9010, A_TID, 10, 0);
}

/* The other thread does the work: asleep, woken, wakes the first again. */
static void
on_handed_over(struct plot *p)
{
	wakes(p, 500, A_TID, B_TID);
	KERNEL(p, 510, A_TID, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, B_TID),
	    PACK(A_PID, A_TID), 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56 | 10 * US);
	wakes(p, 9000, B_TID, A_TID);
	KERNEL(p, 9020, B_TID, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, A_TID),
	    PACK(A_PID, B_TID), 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56 | 20 * US);
}

static void
on_sleep(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	KERNEL(p, 9000, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_IRQ, 0));
	plot_enters(p, 9000, A_TID, 0, 0);
}

static void
on_faults(struct plot *p)
{
	for (int i = 1; i <= 3; i++)
		KERNEL(p, i * 3000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 0x1000,
		    2500 * US, 2 << 20, 0);
}

/* What is between two of them is their way in and out. */
static void
on_fault_burst(struct plot *p)
{
	for (unsigned i = 1; i <= 500; i++)
		KERNEL(p, 1000 + 11 * (int64_t)i, A_TID, A_PID,
		    TALECHAIN_PAGEFAULT, 0x1000 * i, 10 * US, 4096, 0);
}

static void
on_softirq(struct plot *p)
{
	KERNEL(p, 9000, A_TID, A_PID, TALECHAIN_SOFTIRQ, 3, 8000 * US);
}

static void
on_gc(struct plot *p)
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	plot_leaves(p, 1010, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	wakes(p, 7990, B_TID, A_TID);
	plot_enters(p, 8002, A_TID, 10, 0);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 7000 * US);
}

static void
on_safepoint(struct plot *p)
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_JVM_SAFEPOINT_BEGIN, 9, 7);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_SAFEPOINT_END, 9, 7,
	    7000 * US);
}

static void
on_exit_(struct plot *p)
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_SERVER_EXIT, 0, A_PID);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_SERVER_START, 0, A_PID);
}

static void
on_classes(struct plot *p)
{
	SCENE(
	    &p->scene, 9000 * US, 0, TALECHAIN_JVM_RATES, 800, 300, 8000 * US);
}

/* The answer stays in the server's socket until 41 ms. */
static void
on_held(struct plot *p, uint32_t held)
{
	p->sent = 1000;
	p->unsent = 600;
	p->held = held;
	p->left = 41000;
	p->back = 41010;
	KERNEL(p, 40990, 0, 0, TALECHAIN_TCP_ACK, 91, PACK(5120, 8000), 0,
	    PORTS(9000, 50000));
}

static void
on_nagle(struct plot *p)
{
	on_held(p, TALECHAIN_HELD_NAGLE);
}

static void
on_cork(struct plot *p)
{
	on_held(p, TALECHAIN_HELD_CORK);
}

static void
on_window(struct plot *p)
{
	on_held(p, TALECHAIN_HELD_WINDOW);
}

static void
on_congestion(struct plot *p)
{
	on_held(p, TALECHAIN_HELD_CONGESTION);
}

static void
on_pacing(struct plot *p)
{
	on_held(p, TALECHAIN_HELD_OTHER);
}

static void
on_retransmit(struct plot *p)
{
	p->sent = 1000;
	p->left = 998;
	p->back = 205010;
	KERNEL(p, 205000, 0, 0, TALECHAIN_TCP_RETRANSMIT, 91, PACK(8000, 1),
	    PACK(600, 500), PORTS(9000, 50000));
}

static void
on_backend_queue(struct plot *p)
{
	p->awake = true;
	p->taken = 9000;
}

/* One of a pool, idle until another thread, not seen, gives it the request. */
static void
on_idle_pool(struct plot *p)
{
	p->awake = true;
	p->taken = 9000;
	wakes(p, 8990, 509, A_TID);
	plot_enters(p, 8995, A_TID, 5, 0);
}

/* The thread that hands it over had to wait for a CPU. */
static void
on_late_dispatcher(struct plot *p)
{
	p->awake = true;
	p->taken = 9000;
	KERNEL(p, 56, 0, 0, TALECHAIN_WAKEUP, B_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_SOFTIRQ, 3));
	plot_enters(p, 8980, B_TID, 8924, HOG);
	wakes(p, 8990, B_TID, A_TID);
	plot_leaves(p, 8992, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8995, A_TID, 5, B_TID);
}

/* The socket is full after a part of the answer; ACKs make room. */
static void
on_full_socket(struct plot *p)
{
	KERNEL(p, 985, A_TID, A_PID, TALECHAIN_TCP_XMIT, 91, PACK(8000, 1),
	    PACK(50, 500), PORTS(9000, 50000));
	KERNEL(p, 990, A_TID, A_PID, TALECHAIN_SOCK_SEND, 91, PACK(8000, 100),
	    PACK(100, TALECHAIN_HELD_WINDOW), PORTS(9000, 50000));
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	KERNEL(p, 9000, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_SOFTIRQ, 3));
	plot_enters(p, 9001, A_TID, 1, 0);
}

/* The same, since Tailor cannot get rid of it. */
static void
on_full_client(struct plot *p)
{
	KERNEL(p, 995, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 71, PACK(2000, 100),
	    PACK(100, TALECHAIN_HELD_WINDOW), PORTS(8080, 40000));
	on_full_socket(p);
}

static void
on_proxy_queue(struct plot *p)
{
	p->written = 9000;
	p->net_in = 9005;
	p->taken = 9030;
}

static void
on_proxy_runq(struct plot *p)
{
	KERNEL(p, -100, PROXY_TID, 99, TALECHAIN_SCHEDULE, PACK(HOG, HOG), 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
	KERNEL(p, 10006, 0, 0, TALECHAIN_WAKEUP, PROXY_TID, 99,
	    PACK(TALECHAIN_CONTEXT_SOFTIRQ, 3));
	p->back = 40000;
	KERNEL(p, 10000, 0, 0, TALECHAIN_TCP_RECV, 81, PACK(8000, 1),
	    PACK(600, 500), PORTS(50000, 9000));
	KERNEL(p, 40006, HOG, HOG, TALECHAIN_SCHEDULE, PACK(99, PROXY_TID), 0,
	    0, 29990 * (uint64_t)US);
}

static void
on_client_late(struct plot *p)
{
	KERNEL(p, 10040, 0, 0, TALECHAIN_TCP_RECV, 72, PACK(2000, 1),
	    PACK(600, 500), PORTS(40000, 8080));
	p->client = (struct tale_client){
	    .sent = scene_at(-10 * US),
	    .received = scene_at(30040 * US),
	    .same_host = true,
	};
}

/* To a client whose end of the connection nobody here sees. */
static void
on_retransmit_out(struct plot *p)
{
	KERNEL(p, 210035, 0, 0, TALECHAIN_TCP_RETRANSMIT, 71, PACK(2000, 1),
	    PACK(600, 500), PORTS(8080, 40000));
	p->client = (struct tale_client){
	    .sent = scene_at(-10 * US),
	    .received = scene_at(210100 * US),
	    .same_host = true,
	};
}

static void
on_client_send(struct plot *p)
{
	p->client = (struct tale_client){
	    .scheduled = scene_at(-30000 * US),
	    .sent = scene_at(-10 * US),
	    .received = scene_at(10100 * US),
	    .same_host = true,
	};
}

static void
on_lost(struct plot *p)
{
	KERNEL(p, 1000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 1);
	SCENE(&p->scene, 9000 * US, -1, TALECHAIN_META_LOST, 9, 300, 0);
}

struct cause_case {
	const char *name;
	void (*plot)(struct plot *p);
	enum tale_cause cause;
	int64_t share_us;
	const char *sentence; /* the first */
};

#define CASE(plot, cause, share, sentence)                            \
	{                                                             \
#plot, on_##plot, TALE_CAUSE_##cause, share, sentence \
	}

static const struct cause_case cases[] = {
    CASE(work, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(runq, RUNQ, 8000,
	"8.00 of 10.0 ms: A's thread 501 was ready but waited for CPU 1, which "
	"ran stress-ng[777]."),
    CASE(idle, IDLE_WAKEUP, 8000,
	"8.00 of 10.0 ms: A's thread 501 waited for CPU 1 to leave idle state "
	"3."),
    CASE(preempted, PREEMPTED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was pushed off CPU 1, which then ran "
	"stress-ng[777]."),
    CASE(hog, PREEMPTED, 6500,
	"6.50 of 10.0 ms: A's thread 501 was pushed off CPU 1, which then ran "
	"stress-ng[777]."),
    CASE(away, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(stopped, STOPPED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was stopped by a signal or a "
	"debugger."),
    CASE(disk, DISK, 8000, "8.00 of 10.0 ms: A's thread 501 waited for disk."),
    CASE(blocked, LOCK, 8000,
	"8.00 of 10.0 ms: A's thread 501 waited for a lock in the kernel."),
    CASE(lock, LOCK, 8000,
	"8.00 of 10.0 ms: A's thread 501 waited until thread 502 woke it."),
    CASE(handed_over, WORK, 9892, "9.89 of 10.0 ms: A's thread 502 computed."),
    CASE(sleep, SLEEP, 8000,
	"8.00 of 10.0 ms: A's thread 501 slept until a timer or another "
	"interrupt woke it."),
    CASE(faults, PAGE_FAULT, 7500,
	"7.50 of 10.0 ms: A's thread 501 waited for memory in page faults."),
    CASE(fault_burst, PAGE_FAULT, 5499,
	"5.50 of 10.0 ms: A's thread 501 waited for memory in page faults."),
    CASE(softirq, SOFTIRQ, 8000,
	"8.00 of 10.0 ms: A's thread 501 was held up by softirq NET_RX on CPU "
	"1."),
    CASE(gc, GC, 7000, "7.00 of 10.0 ms: A was in a gc (allocation)."),
    CASE(safepoint, SAFEPOINT, 7000,
	"7.00 of 10.0 ms: A was in a safepoint (not_gc)."),
    CASE(exit_, EXIT, 7000, "7.00 of 10.0 ms: A was not running."),
    CASE(classes, CLASS_LOADING, 8000,
	"8.00 of 10.0 ms: A was loading and compiling classes."),
    CASE(nagle, DELAYED_ACK, 40000,
	"40.0 of 41.0 ms: the answer waited in the TCP stack for a delayed ACK "
	"(A)."),
    CASE(cork, CORK, 40000,
	"40.0 of 41.0 ms: the answer was held back by the sender's own cork "
	"(A)."),
    CASE(window, WINDOW, 40000,
	"40.0 of 41.0 ms: the answer waited for the receiver to read (A)."),
    CASE(congestion, CONGESTION, 40000,
	"40.0 of 41.0 ms: the answer waited for the congestion window (A)."),
    CASE(pacing, HELD, 40000,
	"40.0 of 41.0 ms: the answer was held back in the TCP stack (A)."),
    CASE(retransmit, RETRANSMIT, 204002,
	"204.0 of 205.1 ms: the answer was lost and waited for retransmission "
	"(A)."),
    CASE(retransmit_out, RETRANSMIT, 200000,
	"200.0 of 210.1 ms: the answer was lost and waited for retransmission "
	"(client's connection)."),
    CASE(backend_queue, BACKEND_QUEUE, 8945,
	"8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
	"other work."),
    CASE(idle_pool, BACKEND_QUEUE, 8940, "8.94 of 10.0 ms: it waited in A's"),
    CASE(late_dispatcher, RUNQ, 8929,
	"8.93 of 10.0 ms: A's thread 502 was ready but waited for CPU 1, which "
	"ran stress-ng[777]."),
    CASE(full_socket, WINDOW, 8000,
	"8.00 of 10.0 ms: the answer waited for the receiver to read (A)."),
    CASE(full_client, WINDOW, 8015,
	"8.02 of 10.0 ms: the answer waited for the receiver to read "
	"(client's connection)."),
    CASE(proxy_queue, PROXY_QUEUE, 8970,
	"8.97 of 10.0 ms: it waited in Tailor for a server."),
    CASE(proxy_runq, RUNQ, 30000,
	"30.0 of 40.0 ms: Tailor was ready but waited for CPU 1, which ran "
	"stress-ng[777]."),
    CASE(client_late, CLIENT_LATE, 19995,
	"20.0 of 30.1 ms: the answer had arrived; the client read it later."),
    CASE(client_send, CLIENT_SEND, 29990,
	"30.0 of 40.1 ms: the client sent it later than planned."),
    CASE(lost, LOST, 8000, "8.00 of 10.0 ms: events of that time were lost."),
};

static void
test_causes(void **state)
{
	const struct cause_case *c;
	struct plot p;
	struct tale *t;
	struct story *s;
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = &cases[i];
		plot_init(&p);
		c->plot(&p);
		plot_tell(&p, &t, &s);
		whole(s);
		n = strlen(c->sentence);
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
		story_free(&s);
		tale_free(&t);
		plot_fini(&p);
	}
}

/* Goal: a 7 ms stall is told as 7 ms, with why and what to do. */
static void
test_words(void **state)
{
	struct plot p;
	struct tale *t;
	struct story *s;

	(void)state;
	plot_init(&p);
	on_gc(&p);
	plot_tell(&p, &t, &s);
	assert_true(s->cause_ns[TALE_CAUSE_GC] == 7000 * US);
	assert_string_equal(s->verdict.evidence[0],
	    "the gc of A lasted 7.00 ms, from +1.000 to +8.000 ms");
	assert_non_null(strstr(s->verdict.advice[0], "hedging"));
	story_free(&s);
	tale_free(&t);
	plot_fini(&p);

	plot_init(&p);
	on_faults(&p);
	plot_tell(&p, &t, &s);
	assert_string_equal(s->verdict.evidence[0],
	    "3 page faults, 7.50 ms of it, the longest 2.50 ms; 6144 KiB of "
	    "memory, up to 2048 KiB at once");
	assert_non_null(strstr(s->verdict.advice[0], "AlwaysPreTouch"));
	story_free(&s);
	tale_free(&t);
	plot_fini(&p);

	plot_init(&p);
	on_nagle(&p);
	plot_tell(&p, &t, &s);
	assert_non_null(strstr(s->verdict.advice[0], "TCP_NODELAY"));
	story_free(&s);
	tale_free(&t);
	plot_fini(&p);
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

/* Goal: the request's bytes and the wake-ups are arrows between lanes. */
static void
test_picture(void **state)
{
	const struct story_arrow *a;
	struct plot p;
	struct tale *t;
	struct story *s;

	(void)state;
	plot_init(&p);
	on_lock(&p);
	on_client_late(&p);
	plot_tell(&p, &t, &s);
	whole(s);
	a = arrow_find(s, STORY_ARROW_FLOW, "request");
	assert_true(a->to_ns - a->from_ns >= 0);
	a = arrow_find(s, STORY_ARROW_WAKE, "woken by softirq NET_RX");
	assert_int_equal(s->lane[a->from_lane].kind, STORY_LANE_CPU);
	assert_true(a->from_ns == (56 + 10) * US); /* 0 is 10 us earlier */
	assert_true(a->to_ns == (66 + 10) * US);
	a = arrow_find(s, STORY_ARROW_WAKE, "woken by thread 502");
	assert_true(a->from_ns == (9000 + 10) * US);
	a = arrow_find(s, STORY_ARROW_FLOW, "answer");
	assert_int_equal(s->lane[0].kind, STORY_LANE_CLIENT);
	assert_int_equal(s->lane[1].kind, STORY_LANE_PROXY);
	assert_string_equal(s->lane[s->lanes - 1].name, "delays");
	story_free(&s);
	tale_free(&t);
	plot_fini(&p);
}

/* Goal: the neighbours' bytes on the same connections are not the request's. */
static void
test_keep_alive(void **state)
{
	const uint64_t ports = PORTS(8080, 40000);
	struct plot p;
	struct tale *t;
	struct story *s;

	(void)state;
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
	plot_tell(&p, &t, &s);
	whole(s);
	/* From its own first segment to its own last one. */
	assert_true(t->t0.ns == scene_at(0).ns);
	assert_true(s->total_ns == 10045 * US);
	assert_int_equal(t->cookie[TALE_SOCKET_A_PEER], 91);
	for (size_t i = 0; i < tale_events(t); i++) {
		const struct talechain_event *e = &tale_event(t, i)->event;

		assert_true(e->tid != 600);
		if (e->arg[0] == 71)
			assert_true(e->ts > scene_at(-500 * US).ns &&
				    e->ts < scene_at(10200 * US).ns);
	}
	story_free(&s);
	tale_free(&t);
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
static void
test_any_events(void **state)
{
	struct plot p;
	struct tale *t;
	struct story *s;
	struct json j;
	char *text;
	size_t n;
	int round;

	(void)state;
	srand(11);
	for (round = 0; round < 3000; round++) {
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
			cases[dice(sizeof(cases) / sizeof(cases[0]))].plot(&p);
		if (dice(3) == 0)
			p.client = (struct tale_client){
			    .scheduled = {dice(2) * SCENE_T0 - dice(9000000)},
			    .sent = {SCENE_T0 + dice(9000000)},
			    .received = {dice(2) * SCENE_T0 + dice(90000000)},
			    .same_host = dice(2),
			};
		for (n = dice(200); n > 0; n--)
			event_random(&p);
		plot_tell(&p, &t, &s);
		whole(s);
		assert_int_equal(story_render_text(s, &text, &n), 0);
		free(text);
		json_init(&j, false);
		assert_int_equal(story_render_json(s, &j), 0);
		json_fini(&j);
		story_free(&s);
		tale_free(&t);
		plot_fini(&p);
	}
}

/* Goal: codes are unique, stable and found again. */
static void
test_codes(void **state)
{
	(void)state;
	for (int i = 0; i < TALE_CAUSE_COUNT; i++)
		assert_int_equal(
		    tale_cause_find(tale_cause_code((enum tale_cause)i)), i);
	assert_int_equal(tale_cause_find("no such cause"), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_causes),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_picture),
	    cmocka_unit_test(test_keep_alive),
	    cmocka_unit_test(test_any_events),
	    cmocka_unit_test(test_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
