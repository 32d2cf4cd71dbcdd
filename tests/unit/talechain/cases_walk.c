/*
 * cases_walk.c: plots of threads that wait for each other: what is handed over,
 * and what is only passed on, as a lock is.  The request stays with its thread
 * until that hands work over.
 */
#include "tests/unit/talechain/cases.h"

#include <string.h>
#include <sys/syscall.h>

/* CPU 1 goes from one thread of A's to another. */
static void
passes(struct plot *p, int64_t us, uint32_t from, enum talechain_off off,
    uint32_t to, int64_t wait_us)
{
	KERNEL(p, us, from, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, to), 0, 0,
	    (uint64_t)off << 56 | (uint64_t)(wait_us * US));
}

/* A timer wakes one thread while another runs; it looks, and sleeps again. */
static void
looks(struct plot *p, int64_t us, uint32_t tid, uint32_t runs)
{
	plot_woken(p, us, tid, TALECHAIN_CONTEXT_IRQ, 0);
	passes(p, us + 5, runs, TALECHAIN_OFF_PREEMPTED, tid, 5);
	passes(p, us + 15, tid, TALECHAIN_OFF_SLEEPING, runs, 10);
}

static void
until(struct plot *p, int64_t us)
{
	p->sent = us;
	p->left = us - 3;
	p->back = us + 5;
}

/*
 * CPython.  A's thread computes; another one wants the interpreter, asks for
 * it after 5 ms, gets it and wakes the first, which then waits for it.
 */
static void
interpreter_taken(struct plot *p)
{
	plot_woken(p, 600, B_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	passes(p, 610, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 10);
	passes(p, 640, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 30);
	looks(p, 5650, B_TID, A_TID);
	plot_wakes(p, 5700, A_TID, B_TID);
	passes(p, 5710, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	plot_wakes(p, 5715, B_TID, A_TID);
	passes(p, 5720, B_TID, TALECHAIN_OFF_PREEMPTED, A_TID, 5);
	passes(p, 5730, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	looks(p, 10740, A_TID, B_TID);
	looks(p, 15760, A_TID, B_TID);
}

CASE(interpreter, LOCK, 19275,
    "19.3 of 30.0 ms: A's thread 501 waited for the interpreter lock, held "
    "by thread 502, which computed meanwhile.")
{
	until(p, 30000);
	interpreter_taken(p);
	plot_wakes(p, 25000, B_TID, A_TID);
	passes(p, 25010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* A third thread waits as well and gets it before the first. */
CASE(interpreter_in_turn, LOCK, 20275,
    "20.3 of 40.0 ms: A's thread 501 waited for the interpreter lock, held "
    "by thread 502 and 1 other in turn, which computed meanwhile.")
{
	until(p, 40000);
	interpreter_taken(p);
	plot_wakes(p, 16000, B_TID, C_TID);
	passes(p, 16005, B_TID, TALECHAIN_OFF_SLEEPING, C_TID, 5);
	looks(p, 20780, A_TID, C_TID);
	looks(p, 25800, A_TID, C_TID);
	plot_wakes(p, 26000, C_TID, A_TID);
	passes(p, 26010, C_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* It is free when a timeout comes: no thread wakes the one that takes it. */
CASE(interpreter_free, LOCK, 29305,
    "29.3 of 40.0 ms: A's thread 501 waited for the interpreter lock, held "
    "by thread 502, which computed meanwhile.")
{
	until(p, 40000);
	interpreter_taken(p);
	plot_wakes(p, 25000, B_TID, A_TID);
	passes(p, 25010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
	plot_wakes(p, 26000, A_TID, B_TID);
	passes(p, 26010, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	looks(p, 31020, A_TID, B_TID);
	plot_leaves(p, 33000, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 36040, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 36050, A_TID, 10, 0);
}

/* Timers of 5 ms alone, one after the other, and no other thread: it may wait
 * for an interpreter's lock, or look at something. */
CASE(turns_unseen, NOT_OBSERVED, 20080,
    "20.1 of 30.0 ms: not observed: A's thread 501 slept until timers of "
    "5 ms woke it: its own, or those of an interpreter's lock. 9.80 of "
    "30.0 ms: A's thread 501 computed.")
{
	until(p, 30000);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	for (int64_t us = 6020; us < 26000; us += 5040) {
		plot_woken(p, us, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
		plot_enters(p, us + 10, A_TID, 10, 0);
		if (us < 20000)
			plot_leaves(
			    p, us + 20, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	}
}

/* It waited for 3 ms, woken before a timeout: no baton is work handed over. */
CASE(interpreter_brief, WORK, 6892,
    "6.89 of 10.0 ms: A's thread 501 computed. 2.99 of 10.0 ms: A's thread "
    "501 waited until thread 502 woke it, which computed meanwhile.")
{
	plot_woken(p, 600, B_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	passes(p, 610, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 10);
	passes(p, 640, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 30);
	plot_wakes(p, 3000, A_TID, B_TID);
	passes(p, 3010, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	plot_wakes(p, 6000, B_TID, A_TID);
	passes(p, 6010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* Over two threads and back: what each does is the request's. */
CASE(handed_on, WORK, 9902, "9.90 of 10.0 ms: A's thread 503 computed.")
{
	plot_wakes(p, 500, A_TID, B_TID);
	passes(p, 510, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	plot_wakes(p, 2000, B_TID, C_TID);
	passes(p, 2010, B_TID, TALECHAIN_OFF_SLEEPING, C_TID, 10);
	plot_wakes(p, 9000, C_TID, A_TID);
	passes(p, 9010, C_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* Twice to the same thread, and between it works on it itself. */
CASE(handed_twice, WORK, 9902, "9.90 of 10.0 ms: A's thread 501 computed.")
{
	plot_wakes(p, 500, A_TID, B_TID);
	passes(p, 510, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	plot_wakes(p, 2000, B_TID, A_TID);
	passes(p, 2010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
	plot_wakes(p, 7000, A_TID, B_TID);
	passes(p, 7010, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* It gives a part away and computes on; that part only waits for its CPU. */
CASE(handed_beside, WORK, 9912, "9.91 of 10.0 ms: A's thread 501 computed.")
{
	plot_wakes(p, 500, A_TID, B_TID);
	passes(p, 8500, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 8000);
	plot_wakes(p, 8900, B_TID, A_TID);
	passes(p, 8910, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* One thread stops before the other: the process is when both have. */
CASE(stopped_in_turn, STOPPED, 7200,
    "7.20 of 10.0 ms: A's process 500 was stopped by a signal, a debugger "
    "or the freezer.")
{
	plot_wakes(p, 500, A_TID, B_TID);
	passes(p, 990, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 490);
	passes(p, 1000, B_TID, TALECHAIN_OFF_STOPPED, A_TID, 10);
	plot_leaves(p, 1800, A_TID, TALECHAIN_OFF_STOPPED, 0);
	plot_enters(p, 9000, A_TID, 0, 0);
	passes(p, 9010, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 0);
	passes(p, 9020, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* How it came back to its CPU was not recorded. */
CASE(entry_missing, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept until a timer or another "
    "interrupt woke it.")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 9000, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
}

/* The same, and it computes from then on: it read the request there. */
CASE(reads_unseen, WORK, 9922,
    "9.92 of 10.0 ms: A's thread 501 computed (likely).")
{
	p->awake = true;
	plot_leaves(p, -500, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 50, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
}

/* Another answers: A's thread gave it all away. */
CASE(given_away, WORK, 9912, "9.91 of 10.0 ms: A's thread 502 computed.")
{
	p->sender = B_TID;
	plot_wakes(p, 500, A_TID, B_TID);
	passes(p, 510, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
}

/* Another answers, which was busy as the request came and did not sleep. */
CASE(taken_over, WORK, 9497, "9.50 of 10.0 ms: A's thread 502 computed.")
{
	p->sender = B_TID;
	plot_leaves(p, 500, A_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* One of a pool was busy as the request came: for what is not known. */
CASE(busy_pool, LOCK, 8490,
    "8.49 of 10.0 ms: A's thread 501 waited until thread 502 woke it, "
    "which computed meanwhile.")
{
	plot_leaves(p, -1000, B_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 60, B_TID, 1060, HOG);
	passes(p, 66, B_TID, TALECHAIN_OFF_PREEMPTED, A_TID, 10);
	passes(p, 400, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 334);
	passes(p, 450, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 50);
	plot_wakes(p, 500, A_TID, B_TID);
	passes(p, 510, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 10);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* The holder of a lock sleeps, on a timer of its own. */
CASE(holder_sleeps, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited until thread 502 woke it, "
    "which slept until a timer woke it: with a lock that it held, or to "
    "keep the time for others (likely).")
{
	plot_leaves(p, -900, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 8900, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 8910, B_TID, 10, 0);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* It lost its CPU. */
CASE(holder_preempted, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited until thread 502 woke it, "
    "which waited for a CPU meanwhile.")
{
	plot_wakes(p, 400, A_TID, D_TID); /* a third, that does nothing of it */
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	plot_leaves(p, 1500, B_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 8900, B_TID, 7400, HOG);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* A Java monitor on a busy machine: it has to wait to look. */
CASE(monitor_late, LOCK, 24000,
    "24.0 of 30.0 ms: A's thread 501 waited for a lock, held by thread "
    "502, which computed meanwhile.")
{
	until(p, 30000);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	plot_woken(p, 2060, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	passes(p, 5060, B_TID, TALECHAIN_OFF_PREEMPTED, A_TID, 3000);
	passes(p, 5070, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 10);
	passes(p, 6070, B_TID, TALECHAIN_OFF_PREEMPTED, A_TID, 1000);
	passes(p, 6090, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 20);
	looks(p, 14200, A_TID, B_TID);
	plot_wakes(p, 25000, B_TID, A_TID);
	passes(p, 25010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* A thread sleeps twice, 1 and 8 ms, as a Java monitor is waited for. */
CASE(backoff, SLEEP, 9105,
    "9.11 of 15.0 ms: A's thread 501 slept until a timer or another "
    "interrupt woke it.")
{
	until(p, 15000);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	looks(p, 2060, A_TID, B_TID);
	plot_leaves(p, 9000, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 10120, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 10130, A_TID, 10, 0);
}

/* And a JVM does so: it may be Thread.sleep twice, or a monitor that is free
 * after the second timeout, so that no thread wakes the one that takes it. */
CASE(backoff_in_jvm, NOT_OBSERVED, 9105,
    "9.11 of 15.0 ms: not observed: A's thread 501 slept until timers woke "
    "it: its own, or those of a Java monitor that was then free.")
{
	on_backoff(p);
	SCENE(&p->scene, 1500 * US, 0, TALECHAIN_RATE, TALECHAIN_RATE_HEAP, 1,
	    1, NS_PER_MS);
}

/* A thread leaves its CPU for a sleep in a system call. */
static void
sleeps_in(
    struct plot *p, int64_t us, uint32_t tid, unsigned call, uint32_t next)
{
	KERNEL(p, us, tid, A_PID, TALECHAIN_SCHEDULE, PACK(A_PID, next), 0, 0,
	    (uint64_t)TALECHAIN_OFF_SLEEPING << 56 |
		(uint64_t)(call + 1) << TALECHAIN_WAIT_BITS);
}

/* A timeout of 1 ms, then a wait that another thread ends: in a call of its own
 * each, so they are no lock's. */
static void
timeout_then_wait(struct plot *p, unsigned first, unsigned second)
{
	sleeps_in(p, 1000, A_TID, first, B_TID);
	plot_woken(p, 2060, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	passes(p, 2065, B_TID, TALECHAIN_OFF_PREEMPTED, A_TID, 5);
	sleeps_in(p, 2075, A_TID, second, B_TID);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

CASE(nanosleep_first, LOCK, 6925,
    "6.92 of 10.0 ms: A's thread 501 waited in futex until thread 502 woke "
    "it")
{
	timeout_then_wait(p, SYS_clock_nanosleep, SYS_futex);
}

CASE(epoll_last, LOCK, 6925,
    "6.92 of 10.0 ms: A's thread 501 waited in epoll_pwait until thread "
    "502 woke it")
{
	timeout_then_wait(p, SYS_futex, SYS_epoll_pwait);
}

/* What ended it is in no event. */
CASE(futex_alone, NOT_OBSERVED, 8000,
    "8.00 of 10.0 ms: not observed: A's thread 501 slept in futex, and "
    "what for is in no event.")
{
	sleeps_in(p, 1000, A_TID, SYS_futex, B_TID);
	passes(p, 9000, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 0);
}

/* A timer did, and it is alone. */
CASE(futex_timer, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in futex until a timer or "
    "another interrupt woke it.")
{
	sleeps_in(p, 1000, A_TID, SYS_futex, B_TID);
	plot_woken(p, 9000, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

CASE(both_futex, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited in futex for a lock, held by "
    "thread 502")
{
	timeout_then_wait(p, SYS_futex, SYS_futex);
}

/* A timeout of so many us on a word, then a wait on one that another thread
 * ends. */
static void
sleep_on_words(struct plot *p, int64_t us, uint64_t first, uint64_t second)
{
	sleeps_in(p, 1000, A_TID, SYS_futex, B_TID);
	KERNEL(p, 1060 + us, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_IRQ, 0), first);
	passes(p, 1065 + us, B_TID, TALECHAIN_OFF_PREEMPTED, A_TID, 5);
	sleeps_in(p, 1075 + us, A_TID, SYS_futex, B_TID);
	KERNEL(
	    p, 9000, B_TID, A_PID, TALECHAIN_WAKEUP, A_TID, A_PID, 0, second);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* Thread.sleep and then a monitor, whose words HotSpot has for each thread. */
CASE(two_words, LOCK, 6925,
    "6.92 of 10.0 ms: A's thread 501 waited in futex until thread 502 woke "
    "it")
{
	sleep_on_words(p, 1000, 0x7fc78c11e878, 0x7fc78c11e578);
}

/* The two words of a pthread condition. */
CASE(one_condition, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited in futex for a lock, held by "
    "thread 502")
{
	sleep_on_words(p, 1000, 0x7fc78c11e578, 0x7fc78c11e57c);
}

/* An interpreter's lock, free after one turn. */
CASE(one_turn, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited in futex for a lock, held by "
    "thread 502")
{
	sleep_on_words(p, 5000, 0xa5b8b0, 0xa5b8b4);
}

/* A sleep of 5 ms, then a lock. */
CASE(two_words_5, SLEEP, 5060,
    "5.06 of 10.0 ms: A's thread 501 slept in futex until a timer or "
    "another interrupt woke it. 2.92 of 10.0 ms: A's thread 501 waited in "
    "futex until thread 502 woke it")
{
	sleep_on_words(p, 5000, 0x7fc78c11e878, 0x7fc78c11e578);
}

/* Another thread receives what this one waits for, and wakes it: from a
 * database; only: of the time it slept until then. */
static void
received_for(struct plot *p, int64_t asleep_us)
{
	sleeps_in(p, 1000, A_TID, SYS_futex, B_TID);
	sleeps_in(p, asleep_us, B_TID, SYS_epoll_wait, 0);
	plot_woken(p, 8900, B_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	passes(p, 8905, 0, TALECHAIN_OFF_PREEMPTED, B_TID, 5);
	KERNEL(p, 8910, B_TID, A_PID, TALECHAIN_SOCK_RECV, 95, PACK(900, 50), 0,
	    PORTS(44000, 5432) | 0x0a000005);
	plot_wakes(p, 8950, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

CASE(received_for, SLEEP, 7950,
    "7.95 of 10.0 ms: A's thread 501 slept in futex until thread 502, "
    "which received from 10.0.0.5:5432, woke it")
{
	received_for(p, 1100);
}

/* It had most of the wait computed before. */
CASE(received_for_late, LOCK, 7950,
    "7.95 of 10.0 ms: A's thread 501 waited in futex until thread 502 woke "
    "it")
{
	received_for(p, 6000);
}

/* 2 ms of sleep, then a wait of 8 ms and more: no monitor begins so. */
CASE(sleep_then_monitor, LOCK, 13385,
    "13.4 of 30.0 ms: A's thread 501 waited until thread 502 woke it")
{
	until(p, 30000);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	looks(p, 3500, A_TID, B_TID);
	looks(p, 11600, A_TID, B_TID);
	plot_wakes(p, 25000, B_TID, A_TID);
	passes(p, 25010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* Tailor lost its CPU after the send, before it read the clock. */
CASE(stamped_late, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	p->stamped = 8000;
}

/* A hog had the CPU for long, then a thread of A's for a moment. */
CASE(behind_two, RUNQ, 8000,
    "8.00 of 10.0 ms: A's thread 501 was ready but waited for CPU 1, which "
    "ran stress-ng[777], and perhaps others before it.")
{
	plot_named(p, C_TID, A_PID, "G1 Service");
	p->wait = 8000;
	p->before = C_TID;
	p->taken = 8075;
	KERNEL(p, 7960, HOG, HOG, TALECHAIN_SCHEDULE, PACK(A_PID, C_TID), 0, 0,
	    7000 * US);
}

/* Had the one that leaves come meanwhile, there would be an event of it. */
CASE(behind_watched, RUNQ, 8000,
    "8.00 of 10.0 ms: A's thread 501 was ready but waited for CPU 1, which "
    "mostly ran thread 100.")
{
	p->wait = 8000;
	p->before = C_TID;
	p->taken = 8075;
	KERNEL(p, 7960, PROXY_TID, 99, TALECHAIN_SCHEDULE, PACK(A_PID, C_TID),
	    0, 0, (uint64_t)TALECHAIN_OFF_SLEEPING << 56);
}

/* Two waits, of which only the ends show who had the CPU. */
CASE(behind_parts, RUNQ, 6700,
    "6.70 of 10.0 ms: A's thread 501 was ready but waited for CPU 1, which "
    "last ran stress-ng[777] (at the end of 3.90 ms of it).")
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 1100, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 5000, A_TID, 3900, HOG);
	plot_leaves(p, 5100, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 5200, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 8000, A_TID, 2800, HOG + 1);
}

/* A thread of A's that has nothing to do with the request takes its CPU. */
static void
preempted_by(struct plot *p, const char *name)
{
	plot_named(p, B_TID, A_PID, name);
	passes(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 10);
	passes(p, 9000, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 8000);
}

/* The agent's event of a part of a Java thread's name. */
static void
java_named(struct plot *p, uint32_t tid, uint64_t part, const char *name)
{
	uint64_t text[3] = {0};

	memcpy(text, name, strlen(name));
	SCENE(&p->scene, -2800 * US, 0, TALECHAIN_JVM_THREAD,
	    (uint64_t)tid << 32 | part, text[0], text[1], text[2]);
}

/* The holder is a Java thread whose name the kernel cuts; A_TID's was taken by
 * another thread since. */
CASE(java_holder, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread qtp-1[501] waited until "
    "http-nio-8080-exec-no-178[502] woke it, which computed meanwhile.")
{
	plot_named(p, A_TID, A_PID, "qtp-1");
	java_named(p, A_TID, 0, "ForkJoinPool.commonPool-");
	plot_named(p, B_TID, A_PID, "http-nio-8080-e");
	java_named(p, B_TID, 1, "8");
	java_named(p, B_TID, 0, "http-nio-8080-exec-no-17");
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

CASE(compiler, CLASS_LOADING, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited for CPU 1, on which A's "
    "compiler C1 CompilerThre[502] ran.")
{
	preempted_by(p, "C1 CompilerThre");
}

CASE(collector, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran A's collector GC Thread#0[502].")
{
	preempted_by(p, "GC Thread#0");
}

CASE(helper, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran A's thread node[502].")
{
	preempted_by(p, "node");
}

/* A JVM that is no server's: its compiler is like any other program. */
CASE(other_compiler, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran C2 CompilerThre[888].")
{
	plot_named(p, 888, 880, "C2 CompilerThre");
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, 888);
	plot_enters(p, 9000, A_TID, 8000, 888);
}

/* It waits for what the compiler makes. */
CASE(compiled, CLASS_LOADING, 8010,
    "8.01 of 10.0 ms: A's thread 501 waited until A's compiler C2 "
    "CompilerThre[502] woke it.")
{
	plot_named(p, B_TID, A_PID, "C2 CompilerThre");
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* Tailor's observer was there as it lost the CPU, and as it got it back. */
CASE(observer_at_ends, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran A's thread observer[778] and others that are in no event.")
{
	plot_named(p, HOG + 1, A_PID, "observer");
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG + 1);
	plot_enters(p, 9000, A_TID, 8000, HOG + 1);
}

/* A JVM stops it, and no signal of the JVM says so. */
CASE(stopped_by_vm, SAFEPOINT, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited until A's thread VM "
    "Thread[502] woke it, as after a collection or another safepoint "
    "(likely).")
{
	plot_named(p, B_TID, A_PID, "VM Thread");
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, B_TID);
	plot_wakes(p, 9000, B_TID, A_TID);
	passes(p, 9010, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 10);
}

/* A's thread has another request, which Tailor had forwarded. */
static void
busy_with(struct plot *p, int64_t since, int64_t until)
{
	SCENE(&p->scene, (since - 20) * US, -1, TALECHAIN_PROXY_ATTEMPT, 0xee,
	    0, 0, 83);
	KERNEL(p, since - 15, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 83,
	    PACK(100, 10), 0, PORTS(50002, 9000));
	KERNEL(p, since, A_TID, A_PID, TALECHAIN_SOCK_RECV, 93, PACK(100, 10),
	    0, PORTS(9000, 50002));
	KERNEL(p, until, A_TID, A_PID, TALECHAIN_SOCK_SEND, 93, PACK(300, 10),
	    0, PORTS(9000, 50002));
	/* The connection's request before, and the next one. */
	SCENE(&p->scene, (since - 9000) * US, -1, TALECHAIN_PROXY_ATTEMPT, 0xdd,
	    0, 0, 83);
	SCENE(&p->scene, (until + 50) * US, -1, TALECHAIN_PROXY_ATTEMPT, 0xff,
	    0, 0, 83);
}

CASE(busy_with, BACKEND_QUEUE, 8945,
    "8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
    "request 00000000000000ee.")
{
	p->awake = true;
	p->taken = 9000;
	busy_with(p, -2000, 8950);
}

/* An event loop has both, and computes after a timer: for whom is not known. */
static void
loop_of_two(struct plot *p, int64_t other_sent)
{
	p->awake = true;
	busy_with(p, -2000, other_sent);
	plot_leaves(p, 500, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 1995, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 2000, A_TID, 5, 0);
}

CASE(loop_of_two, WORK, 8422,
    "8.42 of 10.0 ms: A's thread 501 computed, for this request or for "
    "another that it had (likely).")
{
	loop_of_two(p, 12000);
}

/* The other one has its response: it computes for this one. */
CASE(loop_of_one, WORK, 8422, "8.42 of 10.0 ms: A's thread 501 computed.")
{
	loop_of_two(p, 300);
}

/* And that request's thread loses its CPU. */
CASE(busy_preempted, PREEMPTED, 7000,
    "7.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran stress-ng[777]; it was busy with request 00000000000000ee.")
{
	p->awake = true;
	p->taken = 9000;
	busy_with(p, -2000, 8950);
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_PREEMPTED, HOG);
	plot_enters(p, 8000, A_TID, 7000, HOG);
}

/* Since long before, and it sleeps for that request. */
CASE(busy_long, BACKEND_QUEUE, 8935,
    "8.94 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
    "request 00000000000000ee.")
{
	p->awake = true;
	p->taken = 9000;
	busy_with(p, -90000, 8950);
	plot_leaves(p, -80000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 8000, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 8010, A_TID, 10, 0);
}

/* One thread serves all: it takes another request while this one waits. */
CASE(busy_loop, BACKEND_QUEUE, 6000,
    "6.00 of 10.0 ms: it waited for A's thread 501, which was busy with "
    "request 00000000000000ee (likely).")
{
	plot_leaves(p, 500, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 995, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, 1000, A_TID, 5, 0);
	busy_with(p, 1010, 8000);
	passes(p, 2000, A_TID, TALECHAIN_OFF_PREEMPTED, B_TID, 0);
	passes(p, 3000, B_TID, TALECHAIN_OFF_SLEEPING, A_TID, 1000);
}

/* It had responded to that: what it did then is not known. */
CASE(busy_no_more, BACKEND_QUEUE, 8945,
    "8.95 of 10.0 ms: it waited in A's socket; thread 501 was busy with "
    "other work.")
{
	p->awake = true;
	p->taken = 9000;
	busy_with(p, -2000, 40);
}

/* A's thread receives all requests, 0xee before this one; another one has slept
 * for that since, and responds to it at 8 ms, to this one at 10 ms. */
static void
pool_busy(struct plot *p)
{
	const uint64_t ports = PORTS(9000, 50002);

	p->sender = B_TID;
	SCENE(
	    &p->scene, -2020 * US, -1, TALECHAIN_PROXY_ATTEMPT, 0xee, 0, 0, 83);
	KERNEL(p, -2015, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 83, PACK(100, 10),
	    0, PORTS(50002, 9000));
	KERNEL(p, -2000, A_TID, A_PID, TALECHAIN_SOCK_RECV, 93, PACK(100, 10),
	    0, ports);
	plot_leaves(p, -1000, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_leaves(p, 200, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 7900, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 7910, B_TID, 10, 0);
	KERNEL(p, 8000, B_TID, A_PID, TALECHAIN_SOCK_SEND, 93, PACK(300, 10), 0,
	    ports);
}

CASE(pool, BACKEND_QUEUE, 7935,
    "7.93 of 10.0 ms: it waited for A's thread 502, which was busy with "
    "request 00000000000000ee.")
{
	pool_busy(p);
}

/* It had responded to another one before, in two pieces. */
CASE(pool_two, BACKEND_QUEUE, 7935,
    "7.93 of 10.0 ms: it waited for A's thread 502, which was busy with "
    "request 00000000000000ee.")
{
	const uint64_t ports = PORTS(9000, 50003);

	SCENE(
	    &p->scene, -2020 * US, -1, TALECHAIN_PROXY_ATTEMPT, 0xcc, 0, 0, 84);
	KERNEL(p, -2018, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 84, PACK(100, 10),
	    0, PORTS(50003, 9000));
	pool_busy(p);
	plot_woken(p, 890, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 900, B_TID, 10, 0);
	KERNEL(p, 950, B_TID, A_PID, TALECHAIN_SOCK_SEND, 94, PACK(300, 10), 0,
	    ports);
	KERNEL(p, 1000, B_TID, A_PID, TALECHAIN_SOCK_SEND, 94, PACK(310, 10), 0,
	    ports);
	plot_leaves(p, 1010, B_TID, TALECHAIN_OFF_SLEEPING, 0);
}

/* The next one sleeps for the request itself, until a timer. */
CASE(pool_sleeps, BACKEND_QUEUE, 7935,
    "7.93 of 10.0 ms: it waited for A's thread 502, which was busy with "
    "request 00000000000000ee.")
{
	pool_busy(p);
	plot_leaves(p, 8100, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_woken(p, 9000, B_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, 9010, B_TID, 10, 0);
}

/* It was idle then, until another woke it: that may have had the request. */
CASE(pool_idle, NOT_OBSERVED, 7925,
    "7.92 of 10.0 ms: not observed: A's thread 502 had another request: "
    "which thread had this one is in no event.")
{
	pool_busy(p);
	plot_leaves(p, 8100, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 9000, D_TID, B_TID);
	plot_enters(p, 9010, B_TID, 10, 0);
}

/* The call was on a connection of the server's own. */
CASE(pool_calls, WORK, 9872, "9.87 of 10.0 ms: A's thread 502 computed.")
{
	p->sender = B_TID;
	plot_leaves(p, -1000, B_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_wakes(p, 150, A_TID, B_TID);
	passes(p, 200, A_TID, TALECHAIN_OFF_SLEEPING, B_TID, 50);
	KERNEL(p, 8000, B_TID, A_PID, TALECHAIN_SOCK_SEND, 95, PACK(300, 10), 0,
	    PORTS(44000, 5432) | 0x0a000005);
}

/* It waits in Tailor for a connection, which another request has meanwhile. */
CASE(queue_for_a_connection, PROXY_QUEUE, 8968,
    "8.97 of 10.0 ms: it waited in Tailor's queue for a server.")
{
	const uint64_t ours = PORTS(50000, 9000), theirs = PORTS(9000, 50000);

	KERNEL(p, 100, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 81, PACK(4000, 100),
	    0, ours);
	KERNEL(p, 105, 0, 0, TALECHAIN_TCP_RECV, 91, PACK(4000, 1),
	    PACK(100, 500), theirs);
	KERNEL(p, 130, A_TID, A_PID, TALECHAIN_SOCK_RECV, 91, PACK(4000, 100),
	    0, theirs);
	plot_leaves(p, 200, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	plot_enters(p, 8800, A_TID, 10, 0);
	KERNEL(p, 8900, A_TID, A_PID, TALECHAIN_SOCK_SEND, 91, PACK(7000, 100),
	    0, theirs);
	KERNEL(p, 8950, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 81, PACK(7000, 100),
	    0, ours);
	p->written = 9000;
	p->net_in = 9005;
	p->taken = 9030;
}

/*
 * A client here reads the response in two pieces, the second long after Tailor
 * gave it to the kernel; and then sends its next request.
 */
CASE(slow_reader, CLIENT_LATE, 179955,
    "180.0 of 190.0 ms: the response had arrived; the client read it "
    "later.")
{
	const uint64_t ports = PORTS(40000, 8080);

	KERNEL(p, 10040, 0, 0, TALECHAIN_TCP_RECV, 72, PACK(2000, 1),
	    PACK(600, 500), ports);
	KERNEL(p, 10050, 650, 650, TALECHAIN_SOCK_RECV, 72, PACK(2000, 100), 0,
	    ports);
	KERNEL(p, 190000, 650, 650, TALECHAIN_SOCK_RECV, 72, PACK(2100, 500), 0,
	    ports);
	KERNEL(p, 190100, 650, 650, TALECHAIN_SOCK_SEND, 72, PACK(1100, 100), 0,
	    ports);
	KERNEL(p, 195000, 650, 650, TALECHAIN_SOCK_RECV, 72, PACK(2600, 500), 0,
	    ports);
}

/* One that reads all of it late: what it waited for is not known. */
CASE(late_reader, WORK, 9922, "9.92 of 10.0 ms: A's thread 501 computed.")
{
	const uint64_t ports = PORTS(40000, 8080);

	KERNEL(p, 10040, 0, 0, TALECHAIN_TCP_RECV, 72, PACK(2000, 1),
	    PACK(600, 500), ports);
	KERNEL(p, 190000, 650, 650, TALECHAIN_SOCK_RECV, 72, PACK(2000, 600), 0,
	    ports);
}
