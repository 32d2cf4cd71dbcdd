/*
 * cases_where.c: plots of waits of which it is known where: in which system
 * call, and for whom.  Of waits only is it reported.
 */
#include "tests/unit/talechain/cases.h"

#include <sys/syscall.h>

/* A's thread leaves CPU 1 in a system call. */
static void
leaves_in(struct plot *p, int64_t us, enum talechain_off off, unsigned call)
{
	KERNEL(p, us, A_TID, A_PID, TALECHAIN_SCHEDULE, 0, 0, 0,
	    (uint64_t)off << 56 | (uint64_t)(call + 1) << TALECHAIN_WAIT_BITS);
}

static void
timer_wakes(struct plot *p, int64_t us)
{
	plot_woken(p, us, A_TID, TALECHAIN_CONTEXT_IRQ, 0);
	plot_enters(p, us, A_TID, 0, 0);
}

CASE(sleep_in, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in clock_nanosleep until a "
    "timer or another interrupt woke it.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_clock_nanosleep);
	timer_wakes(p, 9000);
}

/* A number that no machine has yet. */
CASE(sleep_in_new, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in system call 1021 until a "
    "timer or another interrupt woke it.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, 1021);
	timer_wakes(p, 9000);
}

/* 0 is a number, too, on some machines. */
CASE(disk_in, DISK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited for disk in read.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_DISK, SYS_read);
	plot_enters(p, 9000, A_TID, 0, 0);
}

CASE(blocked_in, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited in fsync for a lock in the "
    "kernel.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_BLOCKED, SYS_fsync);
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* Its child, of which no event is here, ends the wait. */
CASE(blocked_in_vfork, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in vfork")
{
	leaves_in(p, 1000, TALECHAIN_OFF_BLOCKED, SYS_vfork);
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* The same for posix_spawn. */
CASE(blocked_in_clone, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in clone3")
{
	leaves_in(p, 1000, TALECHAIN_OFF_BLOCKED, SYS_clone3);
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* A collection of so long, while the thread sleeps until its timer. */
static void
slept_through(struct plot *p, int64_t begin, int64_t end)
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_clock_nanosleep);
	SCENE(&p->scene, end * US, 0, TALECHAIN_JVM_GC_END, 1, 7,
	    (uint64_t)((end - begin) * US));
	timer_wakes(p, 9000);
}

CASE(slept_through, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in clock_nanosleep until a "
    "timer or another interrupt woke it.")
{
	slept_through(p, 2000, 8000);
}

/* The timer comes in the collection, which holds the thread up from then on. */
CASE(slept_into, GC, 9000,
    "9.00 of 20.0 ms: A was in a gc (allocation). 8.00 of 20.0 ms: A's "
    "thread 501 slept in clock_nanosleep until a timer or another "
    "interrupt woke it.")
{
	p->sent = 19990;
	p->left = 19995;
	p->back = 20000;
	slept_through(p, 8000, 18000);
}

CASE(lock_in, LOCK, 8000,
    "8.00 of 10.0 ms: A's thread 501 waited in futex until thread 502 woke "
    "it.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_futex);
	KERNEL(p, 9000, B_TID, A_PID, TALECHAIN_WAKEUP, A_TID, A_PID, 0);
	plot_enters(p, 9010, A_TID, 10, 0);
}

/* Preempted in a system call: it waits for a CPU, not for the call. */
CASE(preempted_in, PREEMPTED, 8000,
    "8.00 of 10.0 ms: A's thread 501 was preempted on CPU 1, which then "
    "ran stress-ng[777].")
{
	KERNEL(p, 1000, A_TID, A_PID, TALECHAIN_SCHEDULE, PACK(HOG, HOG), 0, 0,
	    (uint64_t)TALECHAIN_OFF_PREEMPTED << 56 |
		(uint64_t)(SYS_read + 1) << TALECHAIN_WAIT_BITS);
	plot_enters(p, 9000, A_TID, 8000, HOG);
}

/* The memory that it copied the request to is not there. */
CASE(fault_after, PAGE_FAULT, 7000,
    "7.00 of 10.0 ms: A's thread 501 waited for memory in page faults.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_read);
	timer_wakes(p, 1100);
	KERNEL(p, 9000, A_TID, A_PID, TALECHAIN_PAGEFAULT, 0x1000, 7000 * US,
	    4096, 1);
}

#define OURS PORTS(44000, 5432) /* of A's socket 95 to 10.0.0.5 */
#define REMOTE 0x0a000005
#define TO_US PORTS(45000, 8080) /* of A's socket 96 to Tailor's 73 */
#define OTHER_ID 0xbeef

static void
asks(struct plot *p, int64_t us, uint64_t cookie, uint64_t ends)
{
	KERNEL(p, us, A_TID, A_PID, TALECHAIN_SOCK_SEND, cookie, PACK(100, 50),
	    0, ends);
}

static void
hears(struct plot *p, int64_t us, uint64_t cookie, uint64_t ends)
{
	KERNEL(p, us, A_TID, A_PID, TALECHAIN_SOCK_RECV, cookie, PACK(900, 50),
	    0, ends);
}

static void
bytes_wake(struct plot *p, int64_t us)
{
	plot_woken(p, us, A_TID, TALECHAIN_CONTEXT_SOFTIRQ, 3);
	plot_enters(p, us, A_TID, 0, 0);
}

CASE(asked, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in recvfrom until bytes came "
    "from 10.0.0.5:5432.")
{
	asks(p, 900, 95, OURS | REMOTE);
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_recvfrom);
	bytes_wake(p, 9000);
	hears(p, 9010, 95, OURS | REMOTE);
}

/* Through what waits for many: the order of events is all that is known. */
CASE(asked_by_poll, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in ppoll until bytes came, and "
    "then received from 10.0.0.5:5432.")
{
	asks(p, 900, 95, OURS | REMOTE);
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_ppoll);
	bytes_wake(p, 9000);
	hears(p, 9010, 95, OURS | REMOTE);
}

/* The address of IPv6 is in an event of its own, before the call. */
CASE(asked_ipv6, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in recvfrom until bytes came "
    "from [::1]:5432.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_recvfrom);
	bytes_wake(p, 9000);
	KERNEL(p, 9010, A_TID, A_PID, TALECHAIN_SOCK_PEER, 95, 0,
	    UINT64_C(1) << 56, OURS);
	hears(p, 9011, 95, OURS);
}

CASE(connected, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in connect to 10.0.0.5:5432.")
{
	KERNEL(p, 900, A_TID, A_PID, TALECHAIN_SOCK_PEER, 95, 0, 0,
	    (OURS | REMOTE) << 16 >> 16);
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_connect);
	bytes_wake(p, 9000);
}

/* Half of it for another one, and in another call. */
CASE(asked_two, SLEEP, 8500,
    "8.50 of 10.0 ms: A's thread 501 slept in recvfrom (8.00 ms of it) "
    "until bytes came from 10.0.0.5:5432 (8.00 ms of it).")
{
	on_asked(p);
	leaves_in(p, 9100, TALECHAIN_OFF_SLEEPING, SYS_ppoll);
	bytes_wake(p, 9600);
	hears(p, 9610, 97, PORTS(44001, 6379) | REMOTE);
}

/* What it then read was of another client of its own. */
CASE(asked_by_client, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in ppoll until softirq NET_RX "
    "woke it.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_ppoll);
	bytes_wake(p, 9000);
	hears(p, 9010, 98, PORTS(9000, 51111) | REMOTE);
}

/* A timer ended the sleep; then it read. */
CASE(asked_after_timer, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in clock_nanosleep until a "
    "timer or another interrupt woke it.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_clock_nanosleep);
	timer_wakes(p, 9000);
	hears(p, 9010, 95, OURS | REMOTE);
}

/* It sent first: what woke it is not known. */
CASE(asked_late, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in ppoll until softirq NET_RX "
    "woke it.")
{
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_ppoll);
	bytes_wake(p, 9000);
	asks(p, 9005, 95, OURS | REMOTE);
	hears(p, 9010, 95, OURS | REMOTE);
}

/* Tailor forwards what A asks; the request before on that connection is not
 * the one. */
CASE(asked_tailor, SLEEP, 8000,
    "8.00 of 10.0 ms: A's thread 501 slept in read until bytes came from "
    "127.0.0.1:8080: Tailor's request 000000000000beef.")
{
	const uint64_t there = PORTS(8080, 45000) | 0x7f000001;

	SCENE(&p->scene, 500 * US, -1, TALECHAIN_PROXY_RECEIVE, 0xdead, 1, 73);
	asks(p, 900, 96, TO_US | 0x7f000001);
	leaves_in(p, 1000, TALECHAIN_OFF_SLEEPING, SYS_read);
	KERNEL(p, 1010, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 73, PACK(100, 50),
	    0, there);
	SCENE(
	    &p->scene, 1020 * US, -1, TALECHAIN_PROXY_RECEIVE, OTHER_ID, 1, 73);
	bytes_wake(p, 9000);
	hears(p, 9010, 96, TO_US | 0x7f000001);
	SCENE(&p->scene, 9100 * US, -1, TALECHAIN_PROXY_RECEIVE, 0xf00d, 1, 73);
}
