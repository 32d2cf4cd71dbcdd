/*
 * cases.c: for each cause a plot that shows it.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/cases.h"

#include <string.h>

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

/* Its call returns after Tailor has passed the response on. */
static void
on_sent_late(struct plot *p)
{
	p->sent = 12000;
}

/* Another thread has the CPU last: when it came is in no event. */
static void
on_preempted_two(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9000, A_TID, 8000, HOG + 1);
}

/* The name of stress-ng, whose number shares its place, comes later. */
static void
on_preempted_named(struct plot *p)
{
	uint32_t other = HOG + 1024;

	KERNEL(p, -2900, other, A_PID, TALECHAIN_THREAD, other, A_PID, 'x', 0);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, other);
	plot_enters(p, 9000, A_TID, 8000, other);
}

/* The hog takes the CPU twice, another thread once and for longer. */
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
	KERNEL(
	    p, 10003, 0, 0, TALECHAIN_SCHEDULE, PACK(99, PROXY_TID), 0, 0, 0);
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

/* None is too long to be true. */
static void
on_softirqs(struct plot *p)
{
	for (int64_t us = 2000; us <= 9000; us += 1000)
		KERNEL(p, us, A_TID, A_PID, TALECHAIN_SOFTIRQ, 3, 1000 * US);
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
on_two_gcs(struct plot *p)
{
	SCENE(&p->scene, 4000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 3000 * US);
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_JVM_GC_END, 1, 8, 4000 * US);
}

static void
on_v8(struct plot *p)
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN,
	    TALECHAIN_CAUSE_V8, 7);
	plot_leaves(p, 1010, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	wakes(p, 7990, B_TID, A_TID);
	plot_enters(p, 8002, A_TID, 10, 0);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_V8,
	    7, 7000 * US);
}

/* In one of the server's processes: the one that had the request. */
static void
on_worker_gc(struct plot *p)
{
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_V8,
	    0, 7000 * US, A_PID);
}

/* In another one. */
static void
on_other_worker_gc(struct plot *p)
{
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_V8,
	    0, 7000 * US, OTHER_PID);
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

/* A part of it was held for another reason first. */
static void
on_window_later(struct plot *p)
{
	KERNEL(p, 950, A_TID, A_PID, TALECHAIN_SOCK_SEND, 91, PACK(7900, 100),
	    PACK(100, TALECHAIN_HELD_OTHER), PORTS(9000, 50000));
	on_window(p);
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

/* As of a server with TCP_DEFER_ACCEPT, on a new connection. */
static void
on_deferred_accept(struct plot *p)
{
	on_backend_queue(p);
	p->deferred = true;
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

/* Tailor waits for the CPU that another thread has. */
static void
proxy_waits_for(struct plot *p, uint32_t tid)
{
	KERNEL(p, -100, PROXY_TID, 99, TALECHAIN_SCHEDULE, PACK(tid, tid), 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
	KERNEL(p, 10006, 0, 0, TALECHAIN_WAKEUP, PROXY_TID, 99,
	    PACK(TALECHAIN_CONTEXT_SOFTIRQ, 3));
	p->back = 40000;
	KERNEL(p, 10000, 0, 0, TALECHAIN_TCP_RECV, 81, PACK(8000, 1),
	    PACK(600, 500), PORTS(50000, 9000));
	KERNEL(p, 40006, tid, tid, TALECHAIN_SCHEDULE, PACK(99, PROXY_TID), 0,
	    0, 29990 * (uint64_t)US);
}

static void
on_proxy_runq(struct plot *p)
{
	proxy_waits_for(p, HOG);
}

/* A server's compiler as rival: Tailor itself loads no classes. */
static void
on_proxy_compiler(struct plot *p)
{
	char name[16] = "C2 CompilerThre";
	uint64_t text[2];

	memcpy(text, name, sizeof(text));
	KERNEL(p, -2900, B_TID, A_PID, TALECHAIN_THREAD, B_TID, A_PID, text[0],
	    text[1]);
	proxy_waits_for(p, B_TID);
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

/* Whether it was read late, or its thread stood still, is lost. */
static void
on_lost_in_socket(struct plot *p)
{
	p->awake = true;
	p->taken = 9500;
	KERNEL(p, 1000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 1);
	SCENE(&p->scene, 9000 * US, -1, TALECHAIN_META_LOST, 9, 300, 0);
}

/*
 * A worker process that is not watched gives its CPU to Tailor and back: these
 * two switches are recorded, its sleep between 2 and 9 ms is not.
 */
static void
on_forked_worker(struct plot *p)
{
	p->forked = true;
	KERNEL(p, 1000, A_TID, WORKER_PID, TALECHAIN_SCHEDULE,
	    PACK(99, PROXY_TID), 0, 0, 0);
	KERNEL(p, 1040, PROXY_TID, 99, TALECHAIN_SCHEDULE,
	    PACK(WORKER_PID, A_TID), 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
}

/* It lies in the socket of such a worker. */
static void
on_forked_queue(struct plot *p)
{
	on_forked_worker(p);
	p->taken = 9000;
}

/* The CPU quota's way on a kernel that shows it, and on one that does not. */
static void
on_quota(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_THROTTLED, 0);
	plot_enters(p, 9000, A_TID, 8000, 0);
}

/* It may use 20 ms of CPU time in each 100. */
static void
on_quota_known(struct plot *p)
{
	KERNEL(p, 1000, A_TID, A_PID, TALECHAIN_QUOTA, 0, 100 * NS_PER_MS,
	    20 * NS_PER_MS);
	on_quota(p);
}

static void
on_quota_unseen(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, 0);
	plot_enters(p, 9000, A_TID, 8000, 0);
}

/* Woken when the quota is used up: no CPU leaves idle for 90 ms. */
static void
on_quota_ready(struct plot *p)
{
	p->wait = 90000;
	p->taken = 90070;
	p->sent = 92000;
	p->left = 91997;
	p->back = 92005;
}

/* Of so much that its thread had the CPU until it was done, the host took
 * 6 ms. */
static void
stolen(struct plot *p, int64_t ran_us)
{
	KERNEL(p, p->sent + 2, A_TID, A_PID, TALECHAIN_STEAL, 6000 * US,
	    (uint64_t)(ran_us * US));
}

static void
on_stolen(struct plot *p)
{
	stolen(p, p->sent + 2 - p->net_in);
}

/* It had the CPU for 3 ms before the request came: that much may be stolen
 * from another one. */
static void
on_stolen_before(struct plot *p)
{
	p->awake = true;
	stolen(p, p->sent + 2 - p->net_in + 3000);
}

/* Of all that nothing need be of this request. */
static void
on_stolen_elsewhere(struct plot *p)
{
	p->awake = true;
	stolen(p, p->sent + 2 - p->net_in + 6000);
}

/* 5 ms of it are a page fault, which is known. */
static void
on_stolen_fault(struct plot *p)
{
	KERNEL(p, 9000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 5000 * US);
	stolen(p, p->sent + 2 - p->net_in);
}

/* Of its run, handlers had the CPU for so long. */
static void
handled(struct plot *p, int64_t ran_us, int64_t us)
{
	KERNEL(p, p->sent + 2, A_TID, A_PID, TALECHAIN_INTERRUPT,
	    (uint64_t)(us * US), (uint64_t)(ran_us * US), 300);
}

static void
on_handled(struct plot *p)
{
	handled(p, p->sent + 2 - p->net_in, 6000);
}

/* 3 ms of what was handled may have been before the request. */
static void
on_handled_before(struct plot *p)
{
	p->awake = true;
	handled(p, p->sent + 2 - p->net_in + 3000, 6000);
}

/* The host took 6 ms: all but 1 ms of the handlers' time may be the same. */
static void
on_handled_stolen(struct plot *p)
{
	stolen(p, p->sent + 2 - p->net_in);
	handled(p, p->sent + 2 - p->net_in, 7000);
}

/* A softirq of 8 ms in which the host had the CPU for 7 at least. */
static void
on_stolen_softirq(struct plot *p)
{
	KERNEL(p, 9000, A_TID, A_PID, TALECHAIN_SOFTIRQ, 3, 8000 * US);
	KERNEL(p, p->sent + 2, A_TID, A_PID, TALECHAIN_STEAL, 9000 * US,
	    (uint64_t)((p->sent + 2 - p->net_in) * US));
}

/* It waits in the socket of a server whose quota is used up. */
static void
on_quota_queue(struct plot *p)
{
	p->awake = true;
	p->taken = 9000;
	SCENE(&p->scene, 100 * US, 0, TALECHAIN_HAZARD_BEGIN, 0, HAZARD_QUOTA);
	SCENE(&p->scene, 8900 * US, 0, TALECHAIN_HAZARD_END, 0, HAZARD_QUOTA, 0,
	    8800 * US);
}

/* A timeout ends a sleep: the thread looks, and waits on. */
static void
timed_out(struct plot *p, int64_t us)
{
	KERNEL(p, us, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_IRQ, 0));
	plot_enters(p, us + 10, A_TID, 10, 0);
	plot_leaves(p, us + 40, A_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* A Java monitor whose owner sleeps: parks of 1 and 8 ms, then the owner. */
static void
on_monitor(struct plot *p)
{
	p->sent = 30000;
	p->left = 29997;
	p->back = 30005;
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	timed_out(p, 2060);
	timed_out(p, 10160);
	wakes(p, 25000, B_TID, A_TID);
	plot_enters(p, 25010, A_TID, 10, 0);
}

/* The same without a thread that ends it: each was a timer. */
static void
on_timers(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	timed_out(p, 2060);
	KERNEL(p, 8160, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_IRQ, 0));
	plot_enters(p, 8170, A_TID, 10, 0);
}

/* A sleep of 5 ms, and then a lock: two waits. */
static void
on_sleep_then_lock(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	timed_out(p, 6060);
	wakes(p, 9000, B_TID, A_TID);
	plot_enters(p, 9010, A_TID, 10, 0);
}

/*
 * SIGSTOP at -20 ms, before the request; SIGCONT at 8 ms.  Both threads had
 * slept; the one that reads it then is one of a pool.
 */
static void
on_stopped_before(struct plot *p)
{
	p->awake = true;
	p->taken = 8100;
	plot_leaves(p, -20000, A_TID, TALECHAIN_OFF_STOPPED, 0);
	plot_leaves(p, -19990, B_TID, TALECHAIN_OFF_STOPPED, 0);
	wakes(p, 8000, HOG, B_TID);
	plot_enters(p, 8010, B_TID, 10, 0);
	plot_leaves(p, 8020, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	wakes(p, 8020, HOG, A_TID);
	plot_enters(p, 8030, A_TID, 10, 0);
	plot_leaves(p, 8040, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8045, B_TID, 0, 0);
	wakes(p, 8050, B_TID, A_TID);
	plot_leaves(p, 8055, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8060, A_TID, 10, 0);
}

/* SIGCONT at 6 ms, and the CPU is another's until 9 ms: only then the hazard
 * ends. */
static void
on_continued_late(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_STOPPED, HOG);
	SCENE(
	    &p->scene, 1000 * US, 0, TALECHAIN_HAZARD_BEGIN, 0, HAZARD_STOPPED);
	wakes(p, 6000, HOG, A_TID);
	plot_enters(p, 9000, A_TID, 3000, HOG);
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_HAZARD_END, 0, HAZARD_STOPPED,
	    0, 8000 * US);
}

/* Long before the request one thread gave its CPU to another, which lost it. */
static void
on_left_before(struct plot *p)
{
	KERNEL(p, -20000, A_TID, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, B_TID),
	    0, 0, (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
	plot_leaves(p, -19000, B_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	wakes(p, 500, A_TID, B_TID);
}

/* A debugger stops one thread; the other goes on: that one alone stops. */
static void
on_one_stopped(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_STOPPED, B_TID);
	wakes(p, 500, A_TID, B_TID);
	plot_leaves(p, 8500, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* On CPU 2, an event of the kernel. */
static void
on_cpu2(struct plot *p, int64_t us, uint32_t tid, uint64_t a0, uint64_t off)
{
	struct talechain_event e = {
	    .seq = 2,
	    .ts = scene_at(us * US).ns,
	    .tid = tid,
	    .pid = tid,
	    .type = TALECHAIN_SCHEDULE,
	    .version = 1,
	    .cpu = 2,
	    .arg = {a0, 0, 0, off << 56},
	};

	timeline_append(p->scene.timeline, &e, 10, 0, scene_at(us * US + 500));
}

/* Another worker of the server, which used the socket once, is stopped. */
static void
on_other_stopped(struct plot *p)
{
	on_cpu2(p, 1000, OTHER_PID, 0, TALECHAIN_OFF_STOPPED);
	on_cpu2(p, 9000, 0, PACK(OTHER_PID, OTHER_PID), 0);
	KERNEL(p, 9500, OTHER_PID, OTHER_PID, TALECHAIN_SOCK_RECV, 91,
	    PACK(5120, 0), 0, PORTS(9000, 50000));
}

/* The worker that has the request is a process of one thread, and computes. */
static void
on_worker(struct plot *p)
{
	p->forked = true;
	KERNEL(p, 1000, A_TID, WORKER_PID, TALECHAIN_SCHEDULE, 0, 0, 0,
	    (uint64_t)TALECHAIN_OFF_STOPPED << 56);
	KERNEL(p, 9000, 0, 0, TALECHAIN_SCHEDULE, PACK(WORKER_PID, A_TID), 0, 0,
	    0);
}

/* Tailor's own queue, and its own response. */
static void
on_queue_timeout(struct plot *p)
{
	p->unserved = true;
	p->flags = "queue_timeout";
}

static void
on_no_server(struct plot *p)
{
	p->unserved = true;
	p->flags = "no_server,refused";
}

/* Two threads seem to run on CPU 1: a switch is missing. */
static void
on_two_on_a_cpu(struct plot *p)
{
	wakes(p, 500, A_TID, B_TID);
	plot_enters(p, 1000, B_TID, 10, 0);
	plot_leaves(p, 9000, B_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* The server's CPU clock went 1 ms in 10. */
static void
on_clock_exceeded(struct plot *p)
{
	KERNEL(p, 10000, 0, A_PID, TALECHAIN_RATE, TALECHAIN_RATE_CPU, 1000000,
	    10000000, 10 * NS_PER_MS);
}

/* Of 8 ms off its CPU it was runnable for 3: the switches between are lost. */
static void
on_part_of_it(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9000, A_TID, 3000, HOG);
}

/* It comes back to its CPU in a switch that the kernel did not report. */
static void
on_left_twice(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_leaves(p, 9000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9005, A_TID, 5, HOG);
}

/* It seems to have waited for longer than it was off its CPU. */
static void
on_longer_wait(struct plot *p)
{
	plot_leaves(p, 5000, A_TID, TALECHAIN_OFF_SLEEPING, HOG);
	plot_enters(p, 9000, A_TID, 8000, HOG);
}

/* It sends all of its response, without a length, computes on, then closes. */
static void
on_closed(struct plot *p)
{
	p->taken = 75;
	p->left = 97;
	p->sent = 100;
	p->back = 105;
	p->closed = 10000;
	p->closer = A_TID;
	plot_leaves(p, 10010, A_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* The same, and it sleeps until bytes come from elsewhere: not for room. */
static void
on_closed_asleep(struct plot *p)
{
	on_closed(p);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	KERNEL(p, 9000, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_SOFTIRQ, 3));
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* Which thread closed is in no event. */
static void
on_closed_unseen(struct plot *p)
{
	on_closed(p);
	p->closer = 0;
}

/* Nor is the FIN. */
static void
on_fin_unseen(struct plot *p)
{
	on_closed(p);
	p->closer = 0;
	p->fin_unseen = true;
}

/* A client of HTTP/1.0, to which nothing is sent then, waits as long. */
static void
on_closed_for_both(struct plot *p)
{
	on_closed(p);
	p->undelimited = true;
}

/* The request's first bytes came while Tailor had another one of the
 * connection. */
static void
on_head_in_pieces(struct plot *p)
{
	p->rest = 30000;
	p->written += p->rest;
	p->net_in += p->rest;
	p->taken += p->rest;
	p->left += p->rest;
	p->sent += p->rest;
	p->back += p->rest;
}

#define CASE(plot, cause, share, sentence)                            \
	{                                                             \
#plot, on_##plot, TALE_CAUSE_##cause, share, sentence \
	}

const struct cause_case cases[] = {
    CASE(work, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(runq, RUNQ, 8000,
	"8.00 of 10.0 ms: A's thread 501 was ready but waited for CPU 1, which "
	"last ran stress-ng[777]."),
    CASE(idle, IDLE_WAKEUP, 8000,
	"8.00 of 10.0 ms: A's thread 501 waited for CPU 1 to leave idle state "
	"3."),
    CASE(preempted, PREEMPTED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
	"ran "
	"stress-ng[777]."),
    CASE(sent_late, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(preempted_two, PREEMPTED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
	"ran stress-ng[777] and later thread 778."),
    CASE(preempted_named, PREEMPTED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
	"ran A's thread x[1801]."),
    CASE(hog, PREEMPTED, 6500,
	"6.50 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
	"ran stress-ng[777] (4.00 ms of it)."),
    CASE(away, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(lost_in_socket, LOST, 8000,
	"8.00 of 10.0 ms: events of that time were lost."),
    CASE(forked_worker, NOT_OBSERVED, 9942,
	"9.94 of 10.0 ms: not observed: A's thread 501 is in a process that is "
	"not watched."),
    CASE(forked_queue, NOT_OBSERVED, 9942,
	"9.94 of 10.0 ms: not observed: A's thread 501 is in a process that is "
	"not watched."),
    CASE(quota, QUOTA, 8000,
	"8.00 of 10.0 ms: A's thread 501 was kept off CPU 1: the CPU quota of "
	"its cgroup was used up."),
    CASE(quota_known, QUOTA, 8000,
	"8.00 of 10.0 ms: A's thread 501 was kept off CPU 1: the CPU quota of "
	"its cgroup was used up (20 of each 100 ms)."),
    CASE(quota_unseen, NOT_OBSERVED, 8000,
	"8.00 of 10.0 ms: not observed: A's thread 501 was runnable and its "
	"CPU idle (a CPU quota does that)."),
    CASE(quota_ready, NOT_OBSERVED, 90000,
	"90.0 of 92.0 ms: not observed: A's thread 501 was runnable and its "
	"CPU idle (a CPU quota does that)."),
    CASE(quota_queue, QUOTA, 8800,
	"8.80 of 10.0 ms: A was kept off its CPUs: the CPU quota of its cgroup "
	"was used up."),
    CASE(stolen, STEAL, 5975,
	"5.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
	"else on it."),
    CASE(stolen_before, WORK, 6947,
	"6.95 of 10.0 ms: A's thread 501 computed. 2.98 of 10.0 ms: A's thread "
	"501 had CPU 1, but the host ran something else on it."),
    CASE(stolen_elsewhere, WORK, 9922,
	"9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(stolen_softirq, STEAL, 8975,
	"8.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
	"else on it."),
    CASE(handled, IRQ, 5975,
	"5.97 of 10.0 ms: A's thread 501 had CPU 1, which handled interrupts "
	"or softirqs instead."),
    CASE(handled_before, WORK, 6947,
	"6.95 of 10.0 ms: A's thread 501 computed. 2.98 of 10.0 ms: A's thread "
	"501 had CPU 1, which handled interrupts or softirqs instead."),
    CASE(handled_stolen, STEAL, 5975,
	"5.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
	"else on it. 2.97 of 10.0 ms: A's thread 501 computed."),
    CASE(stolen_fault, STEAL, 5975,
	"5.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
	"else on it. 3.95 of 10.0 ms: A's thread 501 waited for memory in page "
	"faults."),
    CASE(monitor, LOCK, 24000,
	"24.0 of 30.0 ms: A's thread 501 waited for a lock, held by thread "
	"502."),
    CASE(timers, SLEEP, 7120,
	"7.12 of 10.0 ms: A's thread 501 slept until a timer or another "
	"interrupt woke it."),
    CASE(sleep_then_lock, SLEEP, 5060,
	"5.06 of 10.0 ms: A's thread 501 slept until a timer or another "
	"interrupt woke it."),
    CASE(stopped_before, STOPPED, 7965,
	"7.96 of 10.0 ms: A's process 500 was stopped by a signal, a debugger "
	"or the freezer."),
    CASE(left_before, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(continued_late, STOPPED, 5000,
	"5.00 of 10.0 ms: A's process 500 was stopped by a signal, a debugger "
	"or the freezer. 3.00 of 10.0 ms: A's thread 501 was ready but waited "
	"for CPU 1, which last ran A's thread stress-ng[777]."),
    CASE(one_stopped, STOPPED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was stopped by a signal, a debugger "
	"or the freezer."),
    CASE(
	other_stopped, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(worker, STOPPED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was stopped by a signal, a debugger "
	"or the freezer."),
    CASE(queue_timeout, PROXY_QUEUE, 9995,
	"10.0 of 10.0 ms: it waited in Tailor's queue: no server had a free "
	"slot; Tailor then responded with 503. It was sent to no server."),
    CASE(no_server, PROXY_QUEUE, 9995,
	"10.0 of 10.0 ms: it waited in Tailor's queue: no server was ready; "
	"Tailor then responded with 503. It was sent to no server."),
    CASE(two_on_a_cpu, NOT_OBSERVED, 8000,
	"8.00 of 10.0 ms: not observed: A's thread 501 ran, but another thread "
	"ran on its CPU: events are missing."),
    CASE(clock_exceeded, NOT_OBSERVED, 9922,
	"9.92 of 10.0 ms: not observed: A's thread 501 ran longer than its "
	"server's CPU clock says: events are missing."),
    CASE(part_of_it, NOT_OBSERVED, 8000,
	"8.00 of 10.0 ms: not observed: A's thread 501 waited for a CPU for a "
	"part of it: events are missing."),
    CASE(left_twice, NOT_OBSERVED, 8000,
	"8.00 of 10.0 ms: not observed: A's thread 501 left a CPU twice: "
	"events are missing."),
    CASE(longer_wait, WORK, 5922, "5.92 of 10.0 ms: A's thread 501 computed."),
    CASE(stopped, STOPPED, 8000,
	"8.00 of 10.0 ms: A's thread 501 was stopped by a signal, a debugger "
	"or the freezer."),
    CASE(disk, DISK, 8000, "8.00 of 10.0 ms: A's thread 501 waited for disk."),
    CASE(blocked, LOCK, 8000,
	"8.00 of 10.0 ms: A's thread 501 waited for a lock in the kernel."),
    CASE(lock, LOCK, 8000,
	"8.00 of 10.0 ms: A's thread 501 waited until thread 502 woke it."),
    CASE(handed_over, WORK, 9902, "9.90 of 10.0 ms: A's thread 502 computed."),
    CASE(sleep, SLEEP, 8000,
	"8.00 of 10.0 ms: A's thread 501 slept until a timer or another "
	"interrupt woke it."),
    CASE(faults, PAGE_FAULT, 7500,
	"7.50 of 10.0 ms: A's thread 501 waited for memory in page faults."),
    CASE(fault_burst, PAGE_FAULT, 5499,
	"5.50 of 10.0 ms: A's thread 501 waited for memory in page faults."),
    CASE(softirq, SOFTIRQ, 8000,
	"8.00 of 10.0 ms: A's thread 501 was held up by softirq NET_RX on CPU "
	"1 (likely)."),
    CASE(softirqs, SOFTIRQ, 8000,
	"8.00 of 10.0 ms: A's thread 501 was held up by softirq NET_RX on CPU "
	"1."),
    CASE(gc, GC, 7000, "7.00 of 10.0 ms: A was in a gc (allocation)."),
    CASE(two_gcs, GC, 7000, "7.00 of 10.0 ms: A was in a gc (allocation)."),
    CASE(v8, GC, 7000, "7.00 of 10.0 ms: A was in a V8 collection."),
    CASE(worker_gc, GC, 7000, "7.00 of 10.0 ms: A was in a V8 collection."),
    CASE(other_worker_gc, WORK, 9922,
	"9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(safepoint, SAFEPOINT, 7000,
	"7.00 of 10.0 ms: A was in a safepoint (not_gc)."),
    CASE(exit_, EXIT, 7000, "7.00 of 10.0 ms: A was not running."),
    CASE(classes, CLASS_LOADING, 8000,
	"8.00 of 10.0 ms: A was loading and compiling classes (likely)."),
    CASE(nagle, DELAYED_ACK, 40000,
	"40.0 of 41.0 ms: the response waited in the TCP stack for a delayed "
	"ACK "
	"(A)."),
    CASE(cork, CORK, 40000,
	"40.0 of 41.0 ms: the response was held back by the sender's own cork "
	"(A)."),
    CASE(window, WINDOW, 40000,
	"40.0 of 41.0 ms: the response waited for the receiver to read (A)."),
    CASE(window_later, WINDOW, 40000,
	"40.0 of 41.0 ms: the response waited for the receiver to read (A)."),
    CASE(congestion, CONGESTION, 40000,
	"40.0 of 41.0 ms: the response waited for the congestion window (A)."),
    CASE(pacing, HELD, 40000,
	"40.0 of 41.0 ms: the response was held back in the TCP stack (A)."),
    CASE(retransmit, RETRANSMIT, 204002,
	"204.0 of 205.1 ms: the response was lost and waited for "
	"retransmission "
	"(A)."),
    CASE(retransmit_out, RETRANSMIT, 200000,
	"200.0 of 210.1 ms: the response was lost and waited for "
	"retransmission "
	"(client's connection)."),
    CASE(backend_queue, BACKEND_QUEUE, 8945,
	"8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
	"other work."),
    CASE(deferred_accept, BACKEND_QUEUE, 8952,
	"8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
	"other work (likely)."),
    CASE(idle_pool, BACKEND_QUEUE, 8940, "8.94 of 10.0 ms: it waited in A's"),
    CASE(late_dispatcher, RUNQ, 8929,
	"8.93 of 10.0 ms: A's thread 502 was ready but waited for CPU 1, which "
	"last ran stress-ng[777]."),
    CASE(full_socket, WINDOW, 8000,
	"8.00 of 10.0 ms: the response waited for the receiver to read (A) "
	"(likely)."),
    CASE(full_client, WINDOW, 8015,
	"8.02 of 10.0 ms: the response waited for the receiver to read "
	"(client's connection) (likely)."),
    CASE(proxy_queue, PROXY_QUEUE, 8968,
	"8.97 of 10.0 ms: it waited in Tailor's queue for a server."),
    CASE(proxy_runq, RUNQ, 30000,
	"30.0 of 40.0 ms: Tailor was ready but waited for CPU 1, which last "
	"ran "
	"stress-ng[777]."),
    CASE(proxy_compiler, RUNQ, 30000,
	"30.0 of 40.0 ms: Tailor was ready but waited for CPU 1, which last "
	"ran "
	"A's compiler C2 CompilerThre[502]."),
    CASE(client_late, CLIENT_LATE, 19995,
	"20.0 of 30.1 ms: the response had arrived; the client read it later."),
    CASE(client_send, CLIENT_SEND, 29990,
	"30.0 of 40.1 ms: the client sent it later than planned."),
    CASE(closed, WORK, 9917, "9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(closed_asleep, SLEEP, 8000,
	"8.00 of 10.0 ms: A's thread 501 slept until softirq NET_RX woke it."),
    CASE(closed_unseen, UNKNOWN, 9890,
	"9.89 of 10.0 ms: not explained; it was at its server, which had sent "
	"all but the response's end: what closed its connection is in no "
	"event."),
    CASE(fin_unseen, UNKNOWN, 9900,
	"9.90 of 10.0 ms: not explained; it was at its server, which had sent "
	"all but the response's end: what closed its connection is in no "
	"event."),
    CASE(closed_for_both, WORK, 9917,
	"9.92 of 10.0 ms: A's thread 501 computed."),
    CASE(head_in_pieces, CLIENT_SEND, 29980,
	"30.0 of 40.0 ms: the client was still sending it."),
    CASE(lost, LOST, 8000, "8.00 of 10.0 ms: events of that time were lost."),
};
const size_t cases_count = sizeof(cases) / sizeof(cases[0]);

void
case_plot(struct plot *p, const char *name)
{
	const struct {
		const struct cause_case *cases;
		size_t count;
	} of[] = {
	    {cases, cases_count},
	    {walk_cases, walk_cases_count},
	    {where_cases, where_cases_count},
	    {chain_cases, chain_cases_count},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		for (size_t k = 0; k < of[i].count; k++)
			if (strcmp(of[i].cases[k].name, name) == 0) {
				of[i].cases[k].plot(p);
				return;
			}
	fail_msg("no case \"%s\"", name);
}

struct story *
plot_case(struct plot *p, const char *name)
{
	plot_init(p);
	case_plot(p, name);
	return plot_tell(p);
}
