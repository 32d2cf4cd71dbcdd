/*
 * cases.c: for each cause a plot that shows it.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/cases.h"

#include <assert.h>
#include <string.h>

CASE(work, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
}

CASE(runq, RUNQ, 8000,
    "8.00 of 10.0 ms: A's thread 501 was ready but waited for CPU 1, which "
    "last ran stress-ng[777].")
{
	p->wait = 8000;
	p->before = HOG;
	p->taken = 8060;
}

CASE(idle, IDLE_WAKEUP, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited for CPU 1 to leave idle state "
    "3.")
{
	p->wait = 8000;
	p->taken = 8060;
	KERNEL(p, 8050, 0, 0, TALECHAIN_IDLE, 3, 90000 * US);
}

CASE(preempted, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran "
    "stress-ng[777].")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9000, A_TID, 8000, HOG);
}

/* Its call returns after Tailor has passed the response on. */
CASE(sent_late, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	p->sent = 12000;
}

/* Another thread has the CPU last: when it came is in no event. */
CASE(preempted_two, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran stress-ng[777] and later thread 778.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9000, A_TID, 8000, HOG + 1);
}

/* The name of stress-ng, whose number shares its place, comes later. */
CASE(preempted_named, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran A's thread x[1801].")
{
	uint32_t other = HOG + 1024;

	plot_named(p, other, A_PID, "x");
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, other);
	plot_enters(p, 9000, A_TID, 8000, other);
}

/* The hog takes the CPU twice, another thread once and for longer. */
CASE(hog, PREEMPTED, 6500,
    "6.50 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran stress-ng[777] (4.00 ms of it).")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 3000, A_TID, 2000, HOG);
	plot_leaves(p, 3500, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 5500, A_TID, 2000, HOG);
	plot_leaves(p, 6000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG + 1);
	plot_enters(p, 8500, A_TID, 2500, HOG + 1);
}

/* Tailor loses its CPU for 30 ms after the answer has been sent. */
CASE(away, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	p->away = 30000;
	KERNEL(
	    p, 10003, 0, 0, TALECHAIN_SCHEDULE, PACK(99, PROXY_TID), 0, 0, 0);
	KERNEL(p, 10036, PROXY_TID, 99, TALECHAIN_SCHEDULE, PACK(HOG, HOG), 0,
	    0, (uint64_t)TALECHAIN_OFF_PREEMPTED << 56);
	KERNEL(p, 40036, HOG, HOG, TALECHAIN_SCHEDULE, PACK(99, PROXY_TID), 0,
	    0, 30000 * (uint64_t)US);
}

CASE(stopped, STOPPED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was stopped by a signal, a debugger "
    "or the freezer.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_STOPPED, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

CASE(disk, DISK, 8000, "8.00 of 10.0 ms: A's thread 501 waited for disk.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_DISK, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

CASE(blocked, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited for a lock in the kernel.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_BLOCKED, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

CASE(lock, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited until thread 502 woke it.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 9000, B_TID, A_TID);
	plot_enters(p, 9010, A_TID, 10, 0);
}

/* The other thread does the work: asleep, woken, wakes the first again. */
CASE(handed_over, WORK, 9902, "9.90 of 10.0 ms: A's thread 502 computed.")
{
	plot_wakes(p, 500, A_TID, B_TID);
	KERNEL(p, 510, A_TID, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, B_TID),
	    PACK(A_PID, A_TID), 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56 | 10 * US);
	plot_wakes(p, 9000, B_TID, A_TID);
	KERNEL(p, 9020, B_TID, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, A_TID),
	    PACK(A_PID, B_TID), 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56 | 20 * US);
}

CASE(sleep, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept until a timer or another "
    "interrupt woke it.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 9000, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
}

CASE(faults, PAGE_FAULT, 7500,
    "7.50 of 10.0 ms: A's thread 501 waited for memory in page faults.")
{
	for (int i = 1; i <= 3; i++)
		KERNEL(p, i * 3000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 0x1000,
		    2500 * US, 2 << 20, 0);
}

/* What is between two of them is their way in and out. */
CASE(fault_burst, PAGE_FAULT, 5499,
    "5.50 of 10.0 ms: A's thread 501 waited for memory in page faults.")
{
	for (unsigned i = 1; i <= 500; i++)
		KERNEL(p, 1000 + 11 * (int64_t)i, A_TID, A_PID,
		    TALECHAIN_PAGEFAULT, 0x1000 * i, 10 * US, 4096, 0);
}

CASE(softirq, SOFTIRQ, 8000,
    "8.00 of 10.0 ms: A's thread 501 was held up by softirq NET_RX on CPU "
    "1 (likely).")
{
	KERNEL(p, 9000, A_TID, A_PID, TALECHAIN_SOFTIRQ, 3, 8000 * US);
}

/* None is too long to be true. */
CASE(softirqs, SOFTIRQ, 8000,
    "8.00 of 10.0 ms: A's thread 501 was held up by softirq NET_RX on CPU "
    "1.")
{
	for (int64_t us = 2000; us <= 9000; us += 1000)
		KERNEL(p, us, A_TID, A_PID, TALECHAIN_SOFTIRQ, 3, 1000 * US);
}

CASE(gc, GC, 7000, "7.00 of 10.0 ms: A was in a gc (allocation).")
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN, 1, 7);
	plot_leaves(p, 1010, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 7990, B_TID, A_TID);
	plot_enters(p, 8002, A_TID, 10, 0);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 7000 * US);
}

CASE(two_gcs, GC, 7000, "7.00 of 10.0 ms: A was in a gc (allocation).")
{
	SCENE(&p->scene, 4000 * US, 0, TALECHAIN_JVM_GC_END, 1, 7, 3000 * US);
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_JVM_GC_END, 1, 8, 4000 * US);
}

CASE(v8, GC, 7000, "7.00 of 10.0 ms: A was in a V8 collection.")
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_JVM_GC_BEGIN,
	    TALECHAIN_CAUSE_V8, 7);
	plot_leaves(p, 1010, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 7990, B_TID, A_TID);
	plot_enters(p, 8002, A_TID, 10, 0);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_V8,
	    7, 7000 * US);
}

/* In one of the server's processes: the one that had the request. */
CASE(worker_gc, GC, 7000, "7.00 of 10.0 ms: A was in a V8 collection.")
{
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_V8,
	    0, 7000 * US, A_PID);
}

/* In another one. */
CASE(other_worker_gc, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_V8,
	    0, 7000 * US, OTHER_PID);
}

CASE(safepoint, SAFEPOINT, 7000,
    "7.00 of 10.0 ms: A was in a safepoint (not_gc).")
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_JVM_SAFEPOINT_BEGIN, 9, 7);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_JVM_SAFEPOINT_END, 9, 7,
	    7000 * US);
}

CASE(exit_, EXIT, 7000, "7.00 of 10.0 ms: A was not running.")
{
	SCENE(&p->scene, 1000 * US, 0, TALECHAIN_SERVER_EXIT, 0, A_PID);
	SCENE(&p->scene, 8000 * US, 0, TALECHAIN_SERVER_START, 0, A_PID);
}

CASE(classes, CLASS_LOADING, 8000,
    "8.00 of 10.0 ms: A was loading and compiling classes (likely).")
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

CASE(nagle, DELAYED_ACK, 40000,
    "40.0 of 41.0 ms: the response waited in the TCP stack for a delayed "
    "ACK "
    "(A).")
{
	on_held(p, TALECHAIN_HELD_NAGLE);
}

CASE(cork, CORK, 40000,
    "40.0 of 41.0 ms: the response was held back by the sender's own cork "
    "(A).")
{
	on_held(p, TALECHAIN_HELD_CORK);
}

CASE(window, WINDOW, 40000,
    "40.0 of 41.0 ms: the response waited for the receiver to read (A).")
{
	on_held(p, TALECHAIN_HELD_WINDOW);
}

CASE(congestion, CONGESTION, 40000,
    "40.0 of 41.0 ms: the response waited for the congestion window (A).")
{
	on_held(p, TALECHAIN_HELD_CONGESTION);
}

CASE(pacing, HELD, 40000,
    "40.0 of 41.0 ms: the response was held back in the TCP stack (A).")
{
	on_held(p, TALECHAIN_HELD_OTHER);
}

/* A part of it was held for another reason first. */
CASE(window_later, WINDOW, 40000,
    "40.0 of 41.0 ms: the response waited for the receiver to read (A).")
{
	KERNEL(p, 950, A_TID, A_PID, TALECHAIN_SOCK_SEND, 91, PACK(7900, 100),
	    PACK(100, TALECHAIN_HELD_OTHER), PORTS(9000, 50000));
	on_window(p);
}

CASE(retransmit, RETRANSMIT, 204002,
    "204.0 of 205.1 ms: the response was lost and waited for "
    "retransmission "
    "(A).")
{
	p->sent = 1000;
	p->left = 998;
	p->back = 205010;
	KERNEL(p, 205000, 0, 0, TALECHAIN_TCP_RETRANSMIT, 91, PACK(8000, 1),
	    PACK(600, 500), PORTS(9000, 50000));
}

CASE(backend_queue, BACKEND_QUEUE, 8945,
    "8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
    "other work.")
{
	p->awake = true;
	p->taken = 9000;
}

/* As of a server with TCP_DEFER_ACCEPT, on a new connection. */
CASE(deferred_accept, BACKEND_QUEUE, 8952,
    "8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
    "other work (likely).")
{
	on_backend_queue(p);
	p->deferred = true;
}

/* One of a pool, idle until another thread, not seen, gives it the request. */
CASE(idle_pool, BACKEND_QUEUE, 8940, "8.94 of 10.0 ms: it waited in A's")
{
	p->awake = true;
	p->taken = 9000;
	plot_wakes(p, 8990, 509, A_TID);
	plot_enters(p, 8995, A_TID, 5, 0);
}

/* The thread that hands it over had to wait for a CPU. */
CASE(late_dispatcher, RUNQ, 8929,
    "8.93 of 10.0 ms: A's thread 502 was ready but waited for CPU 1, which "
    "last ran stress-ng[777].")
{
	p->awake = true;
	p->taken = 9000;
	plot_woken(p, 56, B_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 8980, B_TID, 8924, HOG);
	plot_wakes(p, 8990, B_TID, A_TID);
	plot_leaves(p, 8992, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8995, A_TID, 5, B_TID);
}

/* The socket is full after a part of the answer; ACKs make room. */
CASE(full_socket, WINDOW, 8000,
    "8.00 of 10.0 ms: the response waited for the receiver to read (A) "
    "(likely).")
{
	KERNEL(p, 985, A_TID, A_PID, TALECHAIN_TCP_XMIT, 91, PACK(8000, 1),
	    PACK(50, 500), PORTS(9000, 50000));
	KERNEL(p, 990, A_TID, A_PID, TALECHAIN_SOCK_SEND, 91, PACK(8000, 100),
	    PACK(100, TALECHAIN_HELD_WINDOW), PORTS(9000, 50000));
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 9000, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 9001, A_TID, 1, 0);
}

/* The same, since Tailor cannot get rid of it. */
CASE(full_client, WINDOW, 8015,
    "8.02 of 10.0 ms: the response waited for the receiver to read "
    "(client's connection) (likely).")
{
	KERNEL(p, 995, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 71, PACK(2000, 100),
	    PACK(100, TALECHAIN_HELD_WINDOW), PORTS(8080, 40000));
	on_full_socket(p);
}

CASE(proxy_queue, PROXY_QUEUE, 8968,
    "8.97 of 10.0 ms: it waited in Tailor's queue for a server.")
{
	p->written = 9000;
	p->net_in = 9005;
	p->taken = 9030;
}

/* Chosen at once, and written to when the connection is there. */
CASE(proxy_connects, NETWORK, 8953,
    "8.95 of 10.0 ms: Tailor was connecting to the server.")
{
	SCENE(&p->scene, 60 * US, -1, TALECHAIN_PROXY_ATTEMPT, SCENE_ID, 0, 0,
	    81);
	on_proxy_queue(p);
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

CASE(proxy_runq, RUNQ, 30000,
    "30.0 of 40.0 ms: Tailor was ready but waited for CPU 1, which last "
    "ran "
    "stress-ng[777].")
{
	proxy_waits_for(p, HOG);
}

/* A server's compiler as rival: Tailor itself loads no classes. */
CASE(proxy_compiler, RUNQ, 30000,
    "30.0 of 40.0 ms: Tailor was ready but waited for CPU 1, which last "
    "ran "
    "A's compiler C2 CompilerThre[502].")
{
	plot_named(p, B_TID, A_PID, "C2 CompilerThre");
	proxy_waits_for(p, B_TID);
}

CASE(client_late, CLIENT_LATE, 19995,
    "20.0 of 30.1 ms: the response had arrived; the client read it later.")
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
CASE(retransmit_out, RETRANSMIT, 200000,
    "200.0 of 210.1 ms: the response was lost and waited for "
    "retransmission "
    "(client's connection).")
{
	KERNEL(p, 210035, 0, 0, TALECHAIN_TCP_RETRANSMIT, 71, PACK(2000, 1),
	    PACK(600, 500), PORTS(8080, 40000));
	p->client = (struct tale_client){
	    .sent = scene_at(-10 * US),
	    .received = scene_at(210100 * US),
	    .same_host = true,
	};
}

CASE(client_send, CLIENT_SEND, 29990,
    "30.0 of 40.1 ms: the client sent it later than planned.")
{
	p->client = (struct tale_client){
	    .scheduled = scene_at(-30000 * US),
	    .sent = scene_at(-10 * US),
	    .received = scene_at(10100 * US),
	    .same_host = true,
	};
}

CASE(lost, LOST, 8000, "8.00 of 10.0 ms: events of that time were lost.")
{
	KERNEL(p, 1000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 1);
	SCENE(&p->scene, 9000 * US, -1, TALECHAIN_META_LOST, 9, 300, 0);
}

/* Whether it was read late, or its thread stood still, is lost. */
CASE(lost_in_socket, LOST, 8000,
    "8.00 of 10.0 ms: events of that time were lost.")
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
CASE(forked_worker, NOT_OBSERVED, 9942,
    "9.94 of 10.0 ms: not observed: A's thread 501 is in a process that is "
    "not watched.")
{
	p->forked = true;
	KERNEL(p, 1000, A_TID, WORKER_PID, TALECHAIN_SCHEDULE,
	    PACK(99, PROXY_TID), 0, 0, 0);
	KERNEL(p, 1040, PROXY_TID, 99, TALECHAIN_SCHEDULE,
	    PACK(WORKER_PID, A_TID), 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
}

/* It lies in the socket of such a worker. */
CASE(forked_queue, NOT_OBSERVED, 9942,
    "9.94 of 10.0 ms: not observed: A's thread 501 is in a process that is "
    "not watched.")
{
	on_forked_worker(p);
	p->taken = 9000;
}

/* The CPU quota's way on a kernel that shows it, and on one that does not. */
CASE(quota, QUOTA, 8000,
    "8.00 of 10.0 ms: A's thread 501 was kept off CPU 1: the CPU quota of "
    "its cgroup was used up.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_THROTTLED, 0);
	plot_enters(p, 9000, A_TID, 8000, 0);
}

/* It may use 20 ms of CPU time in each 100. */
CASE(quota_known, QUOTA, 8000,
    "8.00 of 10.0 ms: A's thread 501 was kept off CPU 1: the CPU quota of "
    "its cgroup was used up (20 of each 100 ms).")
{
	KERNEL(p, 1000, A_TID, A_PID, TALECHAIN_QUOTA, 0, 100 * NS_PER_MS,
	    20 * NS_PER_MS);
	on_quota(p);
}

CASE(quota_unseen, NOT_OBSERVED, 8000,
    "8.00 of 10.0 ms: not observed: A's thread 501 was runnable and its "
    "CPU idle (a CPU quota does that).")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, 0);
	plot_enters(p, 9000, A_TID, 8000, 0);
}

/* Woken when the quota is used up: no CPU leaves idle for 90 ms. */
CASE(quota_ready, NOT_OBSERVED, 90000,
    "90.0 of 92.0 ms: not observed: A's thread 501 was runnable and its "
    "CPU idle (a CPU quota does that).")
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

CASE(stolen, STEAL, 5975,
    "5.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
    "else on it.")
{
	stolen(p, p->sent + 2 - p->net_in);
}

/* It had the CPU for 3 ms before the request came: that much may be stolen
 * from another one. */
CASE(stolen_before, WORK, 6947,
    "6.95 of 10.0 ms: A's thread 501 computed. 2.98 of 10.0 ms: A's thread "
    "501 had CPU 1, but the host ran something else on it.")
{
	p->awake = true;
	stolen(p, p->sent + 2 - p->net_in + 3000);
}

/* Of all that nothing need be of this request. */
CASE(stolen_elsewhere, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	p->awake = true;
	stolen(p, p->sent + 2 - p->net_in + 6000);
}

/* 5 ms of it are a page fault, which is known. */
CASE(stolen_fault, STEAL, 5975,
    "5.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
    "else on it. 3.95 of 10.0 ms: A's thread 501 waited for memory in page "
    "faults.")
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

CASE(handled, IRQ, 5975,
    "5.97 of 10.0 ms: A's thread 501 had CPU 1, which handled interrupts "
    "or softirqs instead.")
{
	handled(p, p->sent + 2 - p->net_in, 6000);
}

/* 3 ms of what was handled may have been before the request. */
CASE(handled_before, WORK, 6947,
    "6.95 of 10.0 ms: A's thread 501 computed. 2.98 of 10.0 ms: A's thread "
    "501 had CPU 1, which handled interrupts or softirqs instead.")
{
	p->awake = true;
	handled(p, p->sent + 2 - p->net_in + 3000, 6000);
}

/* The host took 6 ms: all but 1 ms of the handlers' time may be the same. */
CASE(handled_stolen, STEAL, 5975,
    "5.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
    "else on it. 2.97 of 10.0 ms: A's thread 501 computed.")
{
	stolen(p, p->sent + 2 - p->net_in);
	handled(p, p->sent + 2 - p->net_in, 7000);
}

/* A softirq of 8 ms in which the host had the CPU for 7 at least. */
CASE(stolen_softirq, STEAL, 8975,
    "8.97 of 10.0 ms: A's thread 501 had CPU 1, but the host ran something "
    "else on it.")
{
	KERNEL(p, 9000, A_TID, A_PID, TALECHAIN_SOFTIRQ, 3, 8000 * US);
	KERNEL(p, p->sent + 2, A_TID, A_PID, TALECHAIN_STEAL, 9000 * US,
	    (uint64_t)((p->sent + 2 - p->net_in) * US));
}

/* It waits in the socket of a server whose quota is used up. */
CASE(quota_queue, QUOTA, 8800,
    "8.80 of 10.0 ms: A was kept off its CPUs: the CPU quota of its cgroup "
    "was used up.")
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
	plot_woken(p, us, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, us + 10, A_TID, 10, 0);
	plot_leaves(p, us + 40, A_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* A Java monitor whose owner sleeps: parks of 1 and 8 ms, then the owner. */
CASE(monitor, LOCK, 24000,
    "24.0 of 30.0 ms: A's thread 501 waited for a lock, held by thread "
    "502.")
{
	p->sent = 30000;
	p->left = 29997;
	p->back = 30005;
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	timed_out(p, 2060);
	timed_out(p, 10160);
	plot_wakes(p, 25000, B_TID, A_TID);
	plot_enters(p, 25010, A_TID, 10, 0);
}

/* The same without a thread that ends it: each was a timer. */
CASE(timers, SLEEP, 7120,
    "7.12 of 10.0 ms: A's thread 501 slept until a timer or another "
    "interrupt woke it.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	timed_out(p, 2060);
	plot_woken(p, 8160, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 8170, A_TID, 10, 0);
}

/* A sleep of 5 ms, and then a lock: two waits. */
CASE(sleep_then_lock, SLEEP, 5060,
    "5.06 of 10.0 ms: A's thread 501 slept until a timer or another "
    "interrupt woke it.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	timed_out(p, 6060);
	plot_wakes(p, 9000, B_TID, A_TID);
	plot_enters(p, 9010, A_TID, 10, 0);
}

/*
 * SIGSTOP at -20 ms, before the request; SIGCONT at 8 ms.  Both threads had
 * slept; the one that reads it then is one of a pool.
 */
CASE(stopped_before, STOPPED, 7965,
    "7.96 of 10.0 ms: A's process 500 was stopped by a signal, a debugger "
    "or the freezer.")
{
	p->awake = true;
	p->taken = 8100;
	plot_leaves(p, -20000, A_TID, TALECHAIN_OFF_STOPPED, 0);
	plot_leaves(p, -19990, B_TID, TALECHAIN_OFF_STOPPED, 0);
	plot_wakes(p, 8000, HOG, B_TID);
	plot_enters(p, 8010, B_TID, 10, 0);
	plot_leaves(p, 8020, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 8020, HOG, A_TID);
	plot_enters(p, 8030, A_TID, 10, 0);
	plot_leaves(p, 8040, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8045, B_TID, 0, 0);
	plot_wakes(p, 8050, B_TID, A_TID);
	plot_leaves(p, 8055, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8060, A_TID, 10, 0);
}

/* SIGCONT at 6 ms, and the CPU is another's until 9 ms: only then the hazard
 * ends. */
CASE(continued_late, STOPPED, 5000,
    "5.00 of 10.0 ms: A's process 500 was stopped by a signal, a debugger "
    "or the freezer. 3.00 of 10.0 ms: A's thread 501 was ready but waited "
    "for CPU 1, which last ran A's thread stress-ng[777].")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_STOPPED, HOG);
	SCENE(
	    &p->scene, 1000 * US, 0, TALECHAIN_HAZARD_BEGIN, 0, HAZARD_STOPPED);
	plot_wakes(p, 6000, HOG, A_TID);
	plot_enters(p, 9000, A_TID, 3000, HOG);
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_HAZARD_END, 0, HAZARD_STOPPED,
	    0, 8000 * US);
}

/* Long before the request one thread gave its CPU to another, which lost it. */
CASE(left_before, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	KERNEL(p, -20000, A_TID, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, B_TID),
	    0, 0, (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
	plot_leaves(p, -19000, B_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_wakes(p, 500, A_TID, B_TID);
}

/* A debugger stops one thread; the other goes on: that one alone stops. */
CASE(one_stopped, STOPPED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was stopped by a signal, a debugger "
    "or the freezer.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_STOPPED, B_TID);
	plot_wakes(p, 500, A_TID, B_TID);
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
CASE(other_stopped, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	on_cpu2(p, 1000, OTHER_PID, 0, TALECHAIN_OFF_STOPPED);
	on_cpu2(p, 9000, 0, PACK(OTHER_PID, OTHER_PID), 0);
	KERNEL(p, 9500, OTHER_PID, OTHER_PID, TALECHAIN_SOCK_RECV, 91,
	    PACK(5120, 0), 0, PORTS(9000, 50000));
}

/* The worker that has the request is a process of one thread, and computes. */
CASE(worker, STOPPED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was stopped by a signal, a debugger "
    "or the freezer.")
{
	p->forked = true;
	KERNEL(p, 1000, A_TID, WORKER_PID, TALECHAIN_SCHEDULE, 0, 0, 0,
	    (uint64_t)TALECHAIN_OFF_STOPPED << 56);
	KERNEL(p, 9000, 0, 0, TALECHAIN_SCHEDULE, PACK(WORKER_PID, A_TID), 0, 0,
	    0);
}

/* Tailor's own queue, and its own response. */
CASE(queue_timeout, PROXY_QUEUE, 9995,
    "10.0 of 10.0 ms: it waited in Tailor's queue: no server had a free "
    "slot; Tailor then responded with 503. It was sent to no server.")
{
	p->unserved = true;
	p->flags = "queue_timeout";
}

CASE(no_server, PROXY_QUEUE, 9995,
    "10.0 of 10.0 ms: it waited in Tailor's queue: no server was ready; "
    "Tailor then responded with 503. It was sent to no server.")
{
	p->unserved = true;
	p->flags = "no_server,refused";
}

/* Two threads seem to run on CPU 1: a switch is missing. */
CASE(two_on_a_cpu, NOT_OBSERVED, 8000,
    "8.00 of 10.0 ms: not observed: A's thread 501 ran, but another thread "
    "ran on its CPU: events are missing.")
{
	plot_wakes(p, 500, A_TID, B_TID);
	plot_enters(p, 1000, B_TID, 10, 0);
	plot_leaves(p, 9000, B_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* The server's CPU clock went 1 ms in 10. */
CASE(clock_exceeded, NOT_OBSERVED, 9922,
    "9.92 of 10.0 ms: not observed: A's thread 501 ran longer than its "
    "server's CPU clock says: events are missing.")
{
	KERNEL(p, 10000, 0, A_PID, TALECHAIN_RATE, TALECHAIN_RATE_CPU, 1000000,
	    10000000, 10 * NS_PER_MS);
}

/* Of 8 ms off its CPU it was runnable for 3: the switches between are lost. */
CASE(part_of_it, NOT_OBSERVED, 8000,
    "8.00 of 10.0 ms: not observed: A's thread 501 waited for a CPU for a "
    "part of it: events are missing.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9000, A_TID, 3000, HOG);
}

/* It comes back to its CPU in a switch that the kernel did not report. */
CASE(left_twice, NOT_OBSERVED, 8000,
    "8.00 of 10.0 ms: not observed: A's thread 501 left a CPU twice: "
    "events are missing.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_leaves(p, 9000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 9005, A_TID, 5, HOG);
}

/* It seems to have waited for longer than it was off its CPU. */
CASE(longer_wait, WORK, 5922, "5.92 of 10.0 ms: A's thread 501 computed.")
{
	plot_leaves(p, 5000, A_TID, TALECHAIN_OFF_SLEEPING, HOG);
	plot_enters(p, 9000, A_TID, 8000, HOG);
}

/* It sends all of its response, without a length, computes on, then closes. */
CASE(closed, WORK, 9917, "9.92 of 10.0 ms: A's thread 501 computed.")
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
CASE(closed_asleep, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept until softirq NET_RX woke it.")
{
	on_closed(p);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 9000, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* Which thread closed is in no event. */
CASE(closed_unseen, UNKNOWN, 9890,
    "9.89 of 10.0 ms: not explained; it was at its server, which had sent "
    "all but the response's end: what closed its connection is in no "
    "event.")
{
	on_closed(p);
	p->closer = 0;
}

/* Nor is the FIN. */
CASE(fin_unseen, UNKNOWN, 9900,
    "9.90 of 10.0 ms: not explained; it was at its server, which had sent "
    "all but the response's end: what closed its connection is in no "
    "event.")
{
	on_closed(p);
	p->closer = 0;
	p->fin_unseen = true;
}

/* A client of HTTP/1.0, to which nothing is sent then, waits as long. */
CASE(closed_for_both, WORK, 9917, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	on_closed(p);
	p->undelimited = true;
}

/* It waits as long where the kernel's events of the response are not there. */
CASE(closed_for_both_unread, UNKNOWN, 9898,
    "9.90 of 10.0 ms: not explained; it was at its server, which had sent "
    "all but the response's end: what closed its connection is in no "
    "event.")
{
	on_closed_for_both(p);
	p->back_unseen = true;
}

/* The request's first bytes came while Tailor had another one of the
 * connection. */
CASE(head_in_pieces, CLIENT_SEND, 29980,
    "30.0 of 40.0 ms: the client was still sending it.")
{
	p->rest = 30000;
	p->written += p->rest;
	p->net_in += p->rest;
	p->taken += p->rest;
	p->left += p->rest;
	p->sent += p->rest;
	p->back += p->rest;
}

struct cause_case cases[CASES_MAX];
size_t cases_count;

static bool
comes_before(const struct cause_case *a, const struct cause_case *b)
{
	int order = strcmp(a->file, b->file);

	return order < 0 || (order == 0 && a->line < b->line);
}

void
case_add(const struct cause_case *c)
{
	size_t i = cases_count++;

	assert(i < CASES_MAX);
	for (; i > 0 && comes_before(c, &cases[i - 1]); i--)
		cases[i] = cases[i - 1];
	cases[i] = *c;
}

void
case_plot(struct plot *p, const char *name)
{
	for (size_t i = 0; i < cases_count; i++)
		if (strcmp(cases[i].name, name) == 0) {
			cases[i].plot(p);
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
