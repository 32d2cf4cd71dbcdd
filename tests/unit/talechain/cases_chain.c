/*
 * cases_chain.c: plots of threads behind threads, of threads that keep timers,
 * of event loops with several requests, and of io_uring.  The thread at the end
 * of a chain is named, a timer is no lock, and what a loop or io_uring did for
 * others is not this request's for sure.
 */
#include "tests/unit/talechain/cases.h"

#include <sys/syscall.h>

#define FIRST_TID 510 /* of a long chain */

static void
sleeps_in(struct plot *p, int64_t us, uint32_t tid, unsigned call)
{
	KERNEL(p, us, tid, A_PID, TALECHAIN_SCHEDULE, 0, 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56 |
		(uint64_t)(call + 1) << TALECHAIN_WAIT_BITS);
}

/* A thread, woken by another one, runs for 10 us and wakes a third. */
static void
passes_on(struct plot *p, int64_t us, uint32_t tid, uint32_t to)
{
	plot_enters(p, us + 5, tid, 5, 0);
	plot_wakes(p, us + 10, tid, to);
	plot_leaves(p, us + 15, tid, TALECHAIN_OFF_SLEEPING, 0);
}

/* A's thread waits for B, that for C, and that for D until 8.9 ms.  They all
 * were busy as the request came, so nothing was handed over. */
static void
behind_three(struct plot *p)
{
	plot_leaves(p, 900, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, 910, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, 920, C_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 8900, D_TID, C_TID);
	passes_on(p, 8910, C_TID, B_TID);
	passes_on(p, 8930, B_TID, A_TID);
	plot_enters(p, 8950, A_TID, 5, 0);
}

CASE(chain_computes, LOCK, 8040,
    "8.04 of 10.0 ms: A's thread 501 waited until thread 502 woke it, "
    "which waited for thread 503, which waited for thread 504, which "
    "computed meanwhile.")
{
	behind_three(p);
	plot_leaves(p, 8905, D_TID, TALECHAIN_OFF_SLEEPING, 0);
}

CASE(chain_preempted, LOCK, 8040,
    "8.04 of 10.0 ms: A's thread 501 waited until thread 502 woke it, "
    "which waited for thread 503, which waited for thread 504, which "
    "waited for a CPU meanwhile.")
{
	behind_three(p);
	plot_leaves(p, 1000, D_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 8890, D_TID, 7890, HOG);
	plot_leaves(p, 8905, D_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* It waits for a database: so do they all. */
CASE(chain_receives, SLEEP, 8040,
    "8.04 of 10.0 ms: A's thread 501 slept until thread 502 woke it, once "
    "thread 504 had received from 10.0.0.5:5432.")
{
	behind_three(p);
	sleeps_in(p, 1000, D_TID, SYS_epoll_wait);
	plot_woken(p, 8850, D_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 8855, D_TID, 5, 0);
	KERNEL(p, 8860, D_TID, A_PID, TALECHAIN_SOCK_RECV, 95, PACK(900, 50), 0,
	    PORTS(44000, 5432) | 0x0a000005);
	plot_leaves(p, 8905, D_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* D waits for B: all wait for each other. */
CASE(chain_in_circle, LOCK, 8040,
    "8.04 of 10.0 ms: A's thread 501 waited until thread 502 woke it, "
    "which waited for thread 503, which waited for another thread "
    "meanwhile.")
{
	plot_leaves(p, 900, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, 910, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, 920, C_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 8880, B_TID, C_TID);
	passes_on(p, 8885, C_TID, B_TID);
	passes_on(p, 8930, B_TID, A_TID);
	plot_enters(p, 8950, A_TID, 5, 0);
}

/* Twelve threads, one behind the other. */
CASE(chain_long, LOCK, 7510,
    "7.51 of 10.0 ms: A's thread 501 waited until thread 510 woke it, "
    "which waited through 6 more threads for thread 517, which waited for "
    "another thread meanwhile.")
{
	plot_leaves(p, 900, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	for (uint32_t i = 0; i < 12; i++)
		plot_leaves(p, 901 + (int64_t)i, FIRST_TID + i,
		    TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 8000, D_TID, FIRST_TID + 11);
	for (uint32_t i = 11; i > 0; i--)
		passes_on(p, 8000 + 20 * (int64_t)(12 - i), FIRST_TID + i,
		    FIRST_TID + i - 1);
	passes_on(p, 8400, FIRST_TID, A_TID);
	plot_enters(p, 8450, A_TID, 5, 0);
}

/* What accepts the connection has no CPU; it gives it to a poller, which gives
 * it to A's thread. */
CASE(acceptor_off_cpu, RUNQ, 8845,
    "8.85 of 10.0 ms: A's thread Acceptor[504] was ready but waited for "
    "CPU 1, which last ran stress-ng[777].")
{
	p->awake = true;
	p->taken = 9000;
	plot_named(p, D_TID, A_PID, "Acceptor");
	plot_leaves(p, -900, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, -800, C_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, -700, D_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 30, D_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 8900, D_TID, 8870, HOG);
	plot_wakes(p, 8910, D_TID, C_TID);
	plot_leaves(p, 8915, D_TID, TALECHAIN_OFF_SLEEPING, 0);
	passes_on(p, 8920, C_TID, A_TID);
	plot_enters(p, 8940, A_TID, 5, 0);
}

/* A thread that was not woken for it ticks each 2 ms, and at 8.9 ms wakes A's
 * thread. */
CASE(ticks, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in futex until thread 502 woke "
    "it, which slept until timers woke it (likely).")
{
	sleeps_in(p, -500, B_TID, SYS_clock_nanosleep);
	sleeps_in(p, 900, A_TID, SYS_futex);
	for (int64_t us = 1500; us < 8000; us += 2000) {
		plot_woken(p, us, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
		plot_enters(p, us + 5, B_TID, 5, 0);
		sleeps_in(p, us + 20, B_TID, SYS_clock_nanosleep);
	}
	plot_woken(p, 8890, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
	passes_on(p, 8890, B_TID, A_TID);
	plot_enters(p, 8950, A_TID, 5, 0);
}

/* It waits in a call, once, until a timer. */
static void
sleeper(struct plot *p, unsigned call)
{
	sleeps_in(p, -500, B_TID, call);
	sleeps_in(p, 900, A_TID, SYS_futex);
	plot_woken(p, 8890, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
	passes_on(p, 8890, B_TID, A_TID);
	plot_enters(p, 8950, A_TID, 5, 0);
}

CASE(timer_of_loop, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in futex until thread 502 woke "
    "it, which slept until timers woke it (likely).")
{
	sleeper(p, SYS_epoll_wait);
}

CASE(sleeper_in_futex, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited in futex until thread 502 woke "
    "it, which slept until a timer woke it: with a lock that it held, or "
    "to keep the time for others (likely).")
{
	sleeper(p, SYS_futex);
}

/* A scheduler behind another thread. */
CASE(timer_behind_one, SLEEP, 8030,
    "8.03 of 10.0 ms: A's thread 501 slept in futex until thread 502 woke "
    "it, which waited for thread 503, which slept until timers woke it "
    "(likely).")
{
	sleeps_in(p, -500, C_TID, SYS_epoll_wait);
	sleeps_in(p, 900, A_TID, SYS_futex);
	sleeps_in(p, 910, B_TID, SYS_futex);
	plot_woken(p, 8890, C_TID, TALECHAIN_CONTEXT_IRQ, 0);
	passes_on(p, 8890, C_TID, B_TID);
	passes_on(p, 8920, B_TID, A_TID);
	plot_enters(p, 8950, A_TID, 5, 0);
}

/* A's thread receives another request, 0xee, and responds to it if at all. */
static void
other_comes(struct plot *p, int64_t us, int64_t sent_us)
{
	const uint64_t ports = PORTS(9000, 50002);

	SCENE(&p->scene, (us - 20) * US, -1, TALECHAIN_PROXY_ATTEMPT, 0xee, 0,
	    0, 83);
	KERNEL(p, us - 15, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 83,
	    PACK(100, 10), 0, PORTS(50002, 9000));
	KERNEL(p, us, A_TID, A_PID, TALECHAIN_SOCK_RECV, 93, PACK(100, 10), 0,
	    ports);
	if (sent_us != 0)
		KERNEL(p, sent_us, A_TID, A_PID, TALECHAIN_SOCK_SEND, 93,
		    PACK(300, 10), 0, ports);
}

static void
loop_wakes(struct plot *p, int64_t us, enum talechain_context context)
{
	plot_woken(p, us - 5, A_TID, context, 3);
	plot_enters(p, us, A_TID, 5, 0);
}

/* An event loop takes another request after this one; a timer's callback
 * computes 6 ms and responds to the other. */
CASE(loop_computes_for_other, BACKEND_QUEUE, 6100,
    "6.10 of 10.0 ms: it waited for A's thread 501, which was busy with "
    "request 00000000000000ee (likely).")
{
	sleeps_in(p, 200, A_TID, SYS_epoll_wait);
	loop_wakes(p, 500, TALECHAIN_CONTEXT_SOFTIRQ);
	other_comes(p, 510, 8500);
	sleeps_in(p, 600, A_TID, SYS_epoll_wait);
	loop_wakes(p, 2500, TALECHAIN_CONTEXT_IRQ);
	sleeps_in(p, 8600, A_TID, SYS_epoll_wait);
	loop_wakes(p, 9900, TALECHAIN_CONTEXT_IRQ);
}

/* It does not respond yet: the callback may be of either. */
CASE(loop_computes_for_either, WORK, 6332,
    "6.33 of 10.0 ms: A's thread 501 computed, for this request or for "
    "another that it had (likely).")
{
	sleeps_in(p, 200, A_TID, SYS_epoll_wait);
	loop_wakes(p, 500, TALECHAIN_CONTEXT_SOFTIRQ);
	other_comes(p, 510, 0);
	sleeps_in(p, 600, A_TID, SYS_epoll_wait);
	loop_wakes(p, 2500, TALECHAIN_CONTEXT_IRQ);
	sleeps_in(p, 8600, A_TID, SYS_epoll_wait);
	loop_wakes(p, 9900, TALECHAIN_CONTEXT_IRQ);
}

/* Tailor has three in flight, and the loop took the others long ago. */
static void
loop_of_three(struct plot *p, unsigned call)
{
	p->in_flight = 3;
	sleeps_in(p, 200, A_TID, call);
	loop_wakes(p, 2500, TALECHAIN_CONTEXT_IRQ);
}

CASE(loop_of_three, WORK, 7622,
    "7.62 of 10.0 ms: A's thread 501 computed, for this request or for "
    "another that it had (likely).")
{
	loop_of_three(p, SYS_epoll_wait);
}

/* It has one, and computes twice after timers: before it responds, and before,
 * maybe for nothing of this request. */
CASE(loop_of_one_alone, WORK, 8122,
    "8.12 of 10.0 ms: A's thread 501 computed, for this request or for "
    "other work of its loop (likely).")
{
	sleeps_in(p, 200, A_TID, SYS_epoll_wait);
	loop_wakes(p, 1000, TALECHAIN_CONTEXT_IRQ);
	sleeps_in(p, 8000, A_TID, SYS_epoll_wait);
	loop_wakes(p, 9000, TALECHAIN_CONTEXT_IRQ);
}

/* No loop, but a thread that has one request. */
CASE(sleeper_of_three, WORK, 7622, "7.62 of 10.0 ms: A's thread 501 computed.")
{
	loop_of_three(p, SYS_clock_nanosleep);
}

/* It has responded to the others: it computes for this one. */
CASE(loop_computes_for_own, WORK, 9912,
    "9.91 of 10.0 ms: A's thread 501 computed.")
{
	other_comes(p, -300, -100);
	other_comes(p, 8000, 8010);
}

/* io_uring: its own thread receives and sends. */
CASE(io_uring_polls, NOT_OBSERVED, 9942,
    "9.94 of 10.0 ms: not observed: A's thread iou-sqp-500[501] is "
    "io_uring's: which thread of the server had the request is in no "
    "event.")
{
	plot_named(p, A_TID, A_PID, "iou-sqp-500");
}

/* The program waits there for what another request needs, or this one. */
CASE(io_uring_waits, SLEEP, 8795,
    "8.79 of 10.0 ms: A's thread 501 slept in io_uring_enter until a timer "
    "or another interrupt woke it (likely).")
{
	p->in_flight = 2;
	sleeps_in(p, 200, A_TID, SYS_io_uring_enter);
	loop_wakes(p, 9000, TALECHAIN_CONTEXT_IRQ);
}

/* Its cgroup is at its limit: three times within faults it frees memory. */
CASE(group_reclaims, RECLAIM, 7500,
    "7.50 of 10.0 ms: A's thread 501 freed memory, as its cgroup was at "
    "its limit.")
{
	for (int64_t us = 2000; us <= 8000; us += 3000) {
		KERNEL(p, us + 900, A_TID, A_PID, TALECHAIN_RECLAIM,
		    TALECHAIN_RECLAIM_GROUP, 2500 * US, 64);
		KERNEL(p, us + 1000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1,
		    2700 * US, 4096, 0);
	}
}

/* It had to sleep for it, and another thread's is not its own. */
CASE(compacts, RECLAIM, 7000,
    "7.00 of 10.0 ms: A's thread 501 compacted memory for a larger "
    "block.")
{
	plot_leaves(p, 2000, A_TID, TALECHAIN_OFF_DISK, 0);
	plot_enters(p, 6000, A_TID, 0, 0);
	KERNEL(p, 8000, A_TID, A_PID, TALECHAIN_RECLAIM,
	    TALECHAIN_RECLAIM_COMPACTION, 7000 * US, 0);
	KERNEL(p, 9900, B_TID, A_PID, TALECHAIN_RECLAIM,
	    TALECHAIN_RECLAIM_DIRECT, 9000 * US, 0);
}
