/* talechain.h: TaleChain events and channels, and an emitter for C and C++.
 *
 * A service includes this one header to report to Tailor what it is doing: no
 * library, no allocation, no lock and no system call per event.  An event is
 * 64 bytes in a ring of shared memory that Tailor's observer polls; the
 * writer never waits and never fails, and overwrites its oldest event when
 * the observer is away.  Slots carry sequence numbers, so the observer knows
 * exactly which events it lost and never takes a torn one for a whole one.
 *
 * The memory is made by Tailor and handed over a Unix socket (sealed, so
 * neither side can shrink it under the other).  Without a running Tailor
 * everything here is a cheap no-op.
 *
 *	struct talechain tc;
 *	talechain_open(&tc, NULL, "worker-1", 12);
 *	talechain_emit(&tc, TALECHAIN_APP_START, id, queue_length, 0, 0);
 *	talechain_close(&tc);
 *
 * One struct talechain belongs to one thread: a ring has a single writer, so
 * a thread that dies in the middle of an event cannot hold up another.  Open
 * after fork(), never before: parent and child would be two writers.
 *
 * Needs Linux, GCC or Clang, and _GNU_SOURCE or -std=gnu11 (g++ and clang++
 * define it themselves).  Clean under -Wall -Wextra -Wconversion -Wshadow,
 * also in C++11 and later.
 *
 * Cost: one clock read (25 ns where the vDSO has the clock, ten times that
 * where it has not) and about 15 ns an event; 4 KiB + 64 B * slots. */
#ifndef TALECHAIN_H
#define TALECHAIN_H

#include <stdint.h>

/* BPF programs share the vocabulary; they have no library. */
#ifndef __bpf__
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if !defined(CLOCK_MONOTONIC) || !defined(MSG_CMSG_CLOEXEC)
#error "talechain.h: define _GNU_SOURCE before the first include"
#endif
#endif /* __bpf__ */

/* Casts here are C's, also when the includer is C++ and warns about them; and
 * GCC's ThreadSanitizer does not know fences, which costs nothing here because
 * every racing access is atomic by itself. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#if __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wtsan"
#endif
#elif defined(__clang__)
#pragma clang diagnostic push
#ifdef __cplusplus
#pragma clang diagnostic ignored "-Wold-style-cast"
#endif
#endif

#define TALECHAIN_MAGIC UINT32_C(0x48434c54) /* "TLCH" in memory */
#define TALECHAIN_ABI_MAJOR 1
#define TALECHAIN_ABI_MINOR 0
#define TALECHAIN_SLOT_BYTES 64
#define TALECHAIN_SLOT_LOG2_MIN 6
#define TALECHAIN_SLOT_LOG2_MAX 20
#define TALECHAIN_NAME_BYTES 32
#define TALECHAIN_SOCKET_DEFAULT "/run/tailor/channels.sock"

/* Why a thread freed memory. */
enum talechain_reclaim {
	TALECHAIN_RECLAIM_GROUP = 1,  /* its cgroup was at its limit */
	TALECHAIN_RECLAIM_DIRECT,     /* the machine had too little */
	TALECHAIN_RECLAIM_COMPACTION, /* a larger block was needed */
};

/* Every kind of event: symbol, number, name, and what its four arguments
 * hold ("" = unused; "a:8/b:16/c" = several values in one argument, from its
 * highest bits down, a in 8 of them, b in 16, c in all that are left).  A
 * number keeps its meaning for ever; new ones are added.
 *
 * request = Tailor's 64-bit request id (header Tailor-Request, hexadecimal).
 * latency_ns, wait_ns and interval_ns are lengths; every other _ns is a point
 * in time, nanoseconds of CLOCK_MONOTONIC.
 *
 * All fourteen rows of the thesis's table 4.1 are here, with all their
 * fields: WAKEUP, SCHEDULE, SOFTIRQ, TCP_RECV, TCP_XMIT, TCP_ACK, PAGEFAULT,
 * SYSCALL, PROXY_RECEIVE, PROXY_FINISH, APP_RECEIVE, APP_START, APP_FINISH,
 * JVM_YIELDPOINT.  What the table calls otherwise: to_gid is to_pid, wakeup_*
 * is waker_*, a softirq's id is vector, a socket is its cookie (SO_COOKIE),
 * an sk_buff is the sequence number of its first byte (an address is reused,
 * a sequence number names the bytes), the proxy's queue_length is in_flight,
 * its task is request, a yieldpoint's type is kind.  A yieldpoint's tid and
 * pid are those of the event.  The other rows are new.
 *
 * In events of the kernel tid, pid and cpu are those of the task that ran
 * when it happened: the waker of WAKEUP, the task that leaves the CPU in
 * SCHEDULE, the interrupted task in SOFTIRQ, TCP_RECV and TCP_ACK (so that
 * a segment names no thread, only its flow), the caller in SOCK_SEND
 * and SOCK_RECV.  In the events of a flow sequence numbers are TCP's own,
 * 32 bits, of the first byte meant; ports are in host order.
 *   WAKEUP    context: enum talechain_context; vector: of the softirq; futex:
 *             the address of the word that the task slept on in futex (0: none,
 *             or not known)
 *   SCHEDULE  off: why the task left, enum talechain_off; batch: 1 if its
 *             policy was SCHED_IDLE, to_batch: if the next one's is; call: the
 *             number of the system call in which it left, plus 1 (0: none, or
 *             not known);
 *             to_priority: the kernel's 0..139, under 100 is real-time; waker
 *             and waker_ns: the task that made the next one runnable, and when
 *             (0: not known); wait_ns: how long the next task had been
 *             runnable, at most 2^37 - 1; whole: 1 if all switches of this CPU
 *             have been reported since then
 *   THREAD    the name of a task that other events mention: 16 bytes
 *   JVM_THREAD a Java thread's name if it is longer: 24 bytes of it, from
 *             byte 24 * part on
 *   STACK     three addresses of a stack, the innermost first, 0: none; frame:
 *             the index of the first of them; kind: enum talechain_stack.  The
 *             stack of a wait is written when the thread has its CPU again
 *   SYMBOL    in timelines only, added when one is made: 24 bytes of the name
 *             of an address in the process pid; address 0: the name of its
 *             runtime, if that moves work between threads ("Go"); 1: frames
 *             that cannot be found
 *   PEER      another process of this machine ended a server's wait: its thread
 *             woke to_tid or, if to_tid is 0, sent these bytes on a connection
 *             to the server; ports are those of the sender's end.  since_ns:
 *             since when all switches and wake-ups of this process are written,
 *             1: since the server is watched, 0: they are not; state: why, enum
 *             talechain_peer
 *   SOFTIRQ   written at its end; raised_ns: 0 if not known
 *   INTERRUPT written when a thread leaves its CPU after ran_ns: count
 *             handlers of interrupts and softirqs took handled_ns of these;
 *             softirqs that have an event of their own do not count
 *   TCP_*     status: TCP's flags byte; TCP_ACK is a segment without data
 *             that acknowledged something, TCP_XMIT leaves to the device
 *   SOCK_*    one call's bytes; unsent: still in the socket when the call
 *             returned, held: why, enum talechain_held; left: not yet read;
 *             remote_ipv4: the other end's address in host order, 0: it has
 *             none.  SOCK_PEER has all 16 bytes of an IPv6 address; written as
 *             a watched process connects, and before calls on connections to
 *             other ports than the watched ones
 *   PAGEFAULT written at its end; bytes: 0 if not known; more: in timelines
 *             the number of faults that followed at once and are joined to
 *             this one (bytes is the sum), else 0
 *   RECLAIM   written at its end: a thread freed memory before it got some;
 *             kind: enum talechain_reclaim; pages: freed, 0: not known
 *   IDLE      written when a CPU stops idling; state: 0 is the shallowest
 *   STEAL     written when a thread leaves its virtual CPU after ran_ns: for
 *             stolen_ns of these the host ran something else
 *   EPOCH_SUM sums of what a server's thread did in the latency_ns from its
 *             receipt of a request until it sent; cookie: Tailor's end of the
 *             connection; way_ns: from Tailor's last send there until the
 *             receipt, 0: not known.  EPOCH_REST follows at once, of
 *             the same ts and tid.  ran, ready, preempted, slept, lock (in
 *             futex, until woken by a thread of its process), disk and blocked
 *             add up to latency_ns, but for what was not observed; stolen,
 *             handled (by interrupts) and fault are parts of ran; marks: enum
 *             talechain_epoch.  Only while other events are paused
 *   QUOTA     written when a thread leaves its CPU because its cgroup has used
 *             quota_ns in this period_ns; until_ns: CLOCK_MONOTONIC, when the
 *             kernel gives it the next
 *
 * PROXY_ATTEMPT_END has the attempt's outcome, enum talechain_outcome.
 * PROXY_FINISH has how the request ended: termination is 0 if its response was
 * whole.
 *
 * RATE is written by the observer: the value, count over base, of one signal
 * (enum talechain_rate) of one server, or of the CPU in the event's cpu, in the
 * period of interval_ns that ended at ts.  usual_milli: the usual value, in
 * thousandths; 0: not known yet. */
#define TALECHAIN_EVENTS(X)                                                    \
	X(WAKEUP, 0x0101, "wakeup", "to_tid", "to_pid", "context:32/vector",   \
	    "futex")                                                           \
	X(SCHEDULE, 0x0102, "schedule", "to_pid:32/to_tid",                    \
	    "waker_pid:32/waker_tid", "waker_ns",                              \
	    "off:6/batch:1/to_batch:1/to_priority:8/call:10/whole:1/wait_ns")  \
	X(THREAD, 0x0104, "thread", "of_tid", "of_pid", "name_begin",          \
	    "name_end")                                                        \
	X(EXEC, 0x0105, "exec", "", "", "", "")                                \
	X(EXIT, 0x0106, "exit", "status", "", "", "")                          \
	X(STACK, 0x0107, "stack", "kind:4/frame:6/of_pid:22/of_tid",           \
	    "address_0", "address_1", "address_2")                             \
	X(SYMBOL, 0x0108, "symbol", "piece:7/address", "text_0", "text_1",     \
	    "text_2")                                                          \
	X(PEER, 0x0109, "peer", "to_tid",                                      \
	    "local_port:16/remote_port:16/state", "sequence:32/bytes",         \
	    "since_ns")                                                        \
	X(SOFTIRQ, 0x0201, "softirq", "vector", "latency_ns", "raised_ns", "") \
	X(INTERRUPT, 0x0202, "interrupt", "handled_ns", "ran_ns", "count", "") \
	X(TCP_RECV, 0x0301, "tcp_recv", "cookie", "sequence:32/acknowledged",  \
	    "bytes:32/window", "local_port:16/remote_port:16/status")          \
	X(TCP_XMIT, 0x0302, "tcp_xmit", "cookie", "sequence:32/acknowledged",  \
	    "bytes:32/window", "local_port:16/remote_port:16/status")          \
	X(TCP_ACK, 0x0303, "tcp_ack", "cookie", "sequence:32/acknowledged",    \
	    "bytes:32/window", "local_port:16/remote_port:16/status")          \
	X(TCP_RETRANSMIT, 0x0304, "tcp_retransmit", "cookie",                  \
	    "sequence:32/acknowledged", "bytes:32/window",                     \
	    "local_port:16/remote_port:16/status")                             \
	X(SOCK_SEND, 0x0305, "sock_send", "cookie", "sequence:32/bytes",       \
	    "unsent:32/held", "local_port:16/remote_port:16/remote_ipv4")      \
	X(SOCK_RECV, 0x0306, "sock_recv", "cookie", "sequence:32/bytes",       \
	    "left", "local_port:16/remote_port:16/remote_ipv4")                \
	X(SOCK_PEER, 0x0307, "sock_peer", "cookie", "remote_begin",            \
	    "remote_end", "local_port:16/remote_port:16/remote_ipv4")          \
	X(PAGEFAULT, 0x0401, "pagefault", "address", "latency_ns", "bytes",    \
	    "more:32/major")                                                   \
	X(RECLAIM, 0x0402, "reclaim", "kind", "latency_ns", "pages", "")       \
	X(SYSCALL, 0x0501, "syscall", "number:16/latency_ns", "parameter1",    \
	    "parameter2", "parameter3")                                        \
	X(IDLE, 0x0601, "idle", "state", "latency_ns", "", "")                 \
	X(STEAL, 0x0602, "steal", "stolen_ns", "ran_ns", "", "")               \
	X(QUOTA, 0x0603, "quota", "until_ns", "period_ns", "quota_ns", "")     \
	X(EPOCH_SUM, 0x0701, "epoch_sum", "cookie", "way_ns:32/latency_ns",    \
	    "ran_ns:32/ready_ns", "preempted_ns:32/slept_ns")                  \
	X(EPOCH_REST, 0x0702, "epoch_rest", "lock_ns:32/disk_ns",              \
	    "blocked_ns:32/stolen_ns", "handled_ns:32/fault_ns",               \
	    "marks:16/switches:16/migrations:16/faults")                       \
	X(PROXY_RECEIVE, 0x1001, "proxy_receive", "request", "in_flight",      \
	    "cookie", "first_byte_ns")                                         \
	X(PROXY_FINISH, 0x1002, "proxy_finish", "request", "in_flight",        \
	    "termination:8/status", "bytes")                                   \
	X(PROXY_ATTEMPT, 0x1003, "proxy_attempt", "request", "server",         \
	    "attempt", "cookie")                                               \
	X(PROXY_HEDGE, 0x1004, "proxy_hedge", "request", "server", "trigger",  \
	    "pause_ns")                                                        \
	X(PROXY_FIRST_BYTE, 0x1005, "proxy_first_byte", "request", "server",   \
	    "attempt", "status")                                               \
	X(PROXY_ATTEMPT_END, 0x1006, "proxy_attempt_end", "request", "server", \
	    "attempt", "outcome")                                              \
	X(PROXY_SWAP, 0x1007, "proxy_swap", "from", "to", "reason", "")        \
	X(PROXY_COMMIT, 0x1008, "proxy_commit", "request", "server",           \
	    "attempt", "status")                                               \
	X(APP_RECEIVE, 0x2001, "app_receive", "request", "queue_length",       \
	    "task", "")                                                        \
	X(APP_START, 0x2002, "app_start", "request", "queue_length", "task",   \
	    "")                                                                \
	X(APP_FINISH, 0x2003, "app_finish", "request", "queue_length", "task", \
	    "")                                                                \
	X(APP_MARK, 0x2004, "app_mark", "request", "code", "value", "")        \
	X(JVM_GC_BEGIN, 0x3001, "jvm_gc_begin", "cause", "count", "", "")      \
	X(JVM_GC_END, 0x3002, "jvm_gc_end", "cause", "count", "latency_ns",    \
	    "process")                                                         \
	X(JVM_SAFEPOINT_BEGIN, 0x3003, "jvm_safepoint_begin", "cause",         \
	    "count", "", "")                                                   \
	X(JVM_SAFEPOINT_END, 0x3004, "jvm_safepoint_end", "cause", "count",    \
	    "latency_ns", "")                                                  \
	X(JVM_YIELDPOINT, 0x3005, "jvm_yieldpoint", "kind", "latency_ns", "",  \
	    "")                                                                \
	X(JVM_START, 0x3006, "jvm_start", "", "", "", "")                      \
	X(JVM_DEATH, 0x3007, "jvm_death", "", "", "", "")                      \
	X(JVM_RATES, 0x3008, "jvm_rates", "classes_prepared",                  \
	    "methods_compiled", "interval_ns", "")                             \
	X(JVM_THREAD, 0x3009, "jvm_thread", "of_tid:32/part", "name_begin",    \
	    "name_middle", "name_end")                                         \
	X(SERVER_START, 0x4001, "server_start", "server", "server_pid", "",    \
	    "")                                                                \
	X(SERVER_EXIT, 0x4002, "server_exit", "server", "server_pid",          \
	    "status", "")                                                      \
	X(PAUSE_BEGIN, 0x4003, "pause_begin", "server", "kind", "cause", "")   \
	X(PAUSE_END, 0x4004, "pause_end", "server", "kind", "cause",           \
	    "latency_ns")                                                      \
	X(RATE, 0x5001, "rate", "signal", "count", "base",                     \
	    "usual_milli:24/interval_ns")                                      \
	X(META_LOST, 0xf001, "meta_lost", "channel", "events", "reason",       \
	    "latency_ns")                                                      \
	X(META_BLIND, 0xf002, "meta_blind", "latency_ns", "", "", "")          \
	X(META_CALIBRATION, 0xf003, "meta_calibration", "tsc", "monotonic_ns", \
	    "hz", "")                                                          \
	X(META_CHANNEL, 0xf004, "meta_channel", "channel", "opened",           \
	    "channel_pid", "")                                                 \
	X(META_UNSAMPLED, 0xf005, "meta_unsampled", "until_ns", "most_per_s",  \
	    "", "")

enum talechain_type {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) \
	TALECHAIN_##symbol = number,
	TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
};

/* Why a collection or safepoint happened, as carried in "cause" arguments: a
 * small closed set, because channels hold no strings. */
#define TALECHAIN_CAUSES(X)                                              \
	X(UNKNOWN, 0, "unknown")                                         \
	X(ALLOCATION, 1, "allocation") /* Allocation Failure, G1 Evac */ \
	X(HUMONGOUS, 2, "humongous")   /* G1 Humongous Allocation */     \
	X(METADATA, 3, "metadata")     /* Metadata GC Threshold */       \
	X(EXPLICIT, 4, "explicit")     /* System.gc, jcmd, JVMTI */      \
	X(HEAP_DUMP, 5, "heap_dump")   /* dump or inspection */          \
	X(CONCURRENT, 6, "concurrent") /* a phase of concurrent GC */    \
	X(ALLOCATION_STALL, 7, "allocation_stall") /* ZGC, Shenandoah */ \
	X(ERGONOMICS, 8, "ergonomics")                                   \
	X(NOT_GC, 9, "not_gc") /* a safepoint without GC */              \
	X(OTHER, 10, "other")                                            \
	X(V8, 11, "v8") /* a runtime that gives no reason */             \
	X(CPYTHON, 12, "cpython")                                        \
	X(ORDERED, 13, "ordered") /* Tailor had our agent collect */

enum talechain_cause {
#define TALECHAIN_X(symbol, number, name) TALECHAIN_CAUSE_##symbol = number,
	TALECHAIN_CAUSES(TALECHAIN_X)
#undef TALECHAIN_X
};

/* Quantities of RATE: symbol, number, name, the factor for count / base, and
 * the unit of the product.  A number keeps its meaning for ever. */
#define TALECHAIN_RATES(X)                                             \
	X(IPC, 1, "ipc", 1, "instructions per cycle")                  \
	X(CLOCK, 2, "clock", 1, "of the nominal clock") /* of a CPU */ \
	X(CPU, 3, "cpu", 1, "CPUs")                                    \
	X(PAGE_FAULTS, 4, "page_faults", 1e9, "per second")            \
	X(SWITCHES, 5, "switches", 1e9, "per second")                  \
	X(QUEUE, 6, "queue", 1, "requests")                            \
	X(CLASSES, 7, "classes", 1e9, "per second")                    \
	X(COMPILED, 8, "compiled", 1e9, "per second")                  \
	X(STEAL, 9, "steal", 1, "of the CPU's time") /* to the host */ \
	X(HEAP, 10, "heap", 1.0 / (1 << 20), "MiB of eden")

enum talechain_rate {
#define TALECHAIN_X(symbol, number, name, worth, unit) \
	TALECHAIN_RATE_##symbol = number,
	TALECHAIN_RATES(TALECHAIN_X)
#undef TALECHAIN_X
	    TALECHAIN_RATE_END /* one past the last */
};

/* Widths of "call" and "wait_ns" in the last argument of SCHEDULE, in bits, and
 * its bit "whole", which is between them. */
#define TALECHAIN_CALL_BITS 10
#define TALECHAIN_WAIT_BITS 37
#define TALECHAIN_CALL_SHIFT (TALECHAIN_WAIT_BITS + 1)
#define TALECHAIN_WHOLE (UINT64_C(1) << TALECHAIN_WAIT_BITS)
#define TALECHAIN_OFF_SHIFT 58
#define TALECHAIN_BATCH (UINT64_C(1) << 57)
#define TALECHAIN_TO_BATCH (UINT64_C(1) << 56)

/* In which context a wake-up happened: the "context" of WAKEUP. */
enum talechain_context {
	TALECHAIN_CONTEXT_TASK = 0, /* no interrupt: the task itself did it */
	TALECHAIN_CONTEXT_SOFTIRQ = 1,
	TALECHAIN_CONTEXT_IRQ = 2,
};

/* Why a task left its CPU: "off" of SCHEDULE. */
enum talechain_off {
	TALECHAIN_OFF_PREEMPTED = 0, /* it is still runnable */
	TALECHAIN_OFF_SLEEPING = 1,  /* interruptible, for anything */
	TALECHAIN_OFF_BLOCKED = 2,   /* uninterruptible, as in kernel locks */
	TALECHAIN_OFF_DISK = 3,	     /* uninterruptible, for input or output */
	TALECHAIN_OFF_STOPPED = 4,   /* SIGSTOP, a debugger, the freezer */
	TALECHAIN_OFF_DEAD = 5,
	TALECHAIN_OFF_THROTTLED = 6, /* runnable; its CPU quota is used up */
};

/* Reasons for the since_ns of PEER: its "state". */
enum talechain_peer {
	TALECHAIN_PEER_WATCHED = 0,
	TALECHAIN_PEER_NEW = 1,	    /* it is from now on */
	TALECHAIN_PEER_BUSY = 2,    /* its threads switch too often */
	TALECHAIN_PEER_CROWDED = 3, /* too many others are */
};

/* Stacks: "kind" of STACK. */
enum talechain_stack {
	TALECHAIN_STACK_WAITED = 1, /* the program's, as it went to sleep */
	TALECHAIN_STACK_KERNEL = 2, /* the kernel's, in the same wait */
	TALECHAIN_STACK_RAN = 3,    /* the program's, at an interrupt */
};

/* Why events were lost: "reason" of META_LOST. */
enum talechain_loss {
	TALECHAIN_LOSS_OVERWRITTEN = 1, /* the writer overtook the observer */
	TALECHAIN_LOSS_ABANDONED = 2,	/* left half-written by a dead writer */
	TALECHAIN_LOSS_REJECTED = 3,	/* invalid values */
	/* The kernel did not write them, at some time before. */
	TALECHAIN_LOSS_MISSED = 4,
};

/* How an attempt ended: "outcome" of PROXY_ATTEMPT_END. */
enum talechain_outcome {
	TALECHAIN_OUTCOME_COMPLETE = 0, /* its response was whole */
	TALECHAIN_OUTCOME_FAILED = 1,	/* refused, cut, malformed, late */
	TALECHAIN_OUTCOME_UNSENT = 2,	/* the request was never written */
	TALECHAIN_OUTCOME_CLOSED = 3,	/* whole: the server's close ended it */
};

/* Why sent bytes stayed in the socket: "held" of SOCK_SEND. */
enum talechain_held {
	TALECHAIN_HELD_NOT = 0,
	TALECHAIN_HELD_NAGLE = 1,      /* until sent bytes are acknowledged */
	TALECHAIN_HELD_CORK = 2,       /* TCP_CORK, MSG_MORE */
	TALECHAIN_HELD_CONGESTION = 3, /* the congestion window is full */
	TALECHAIN_HELD_WINDOW = 4,     /* the peer's window is full */
	TALECHAIN_HELD_OTHER = 5,      /* pacing, small queues, no memory */
};

/* Bits of "marks" of EPOCH_REST. */
enum talechain_epoch {
	TALECHAIN_EPOCH_HEIR = 1,  /* begun by a thread that woke this one */
	TALECHAIN_EPOCH_MORE = 2,  /* begins where the last one ended */
	TALECHAIN_EPOCH_OTHER = 4, /* the thread also sent to others */
};

/*
 *  0       8       16      24      32          40      48      56      64
 *  +-------+-------+---+---+-+-+-+---+---------+-------+-------+-------+
 *  | seq   | ts    |tid|pid|T|v|f|cpu| arg[0]  | arg[1]| arg[2]| arg[3]|
 *  | u64   | u64 ns|u32|u32|   |   |u32| u64   | u64   | u64   | u64   |
 *  +-------+-------+---+---+-+-+-+---+---------+-------+-------+-------+
 *   T = type u16, v = version u8, f = flags u8
 *
 * i counts all events ever written to the ring; event i lies in slot
 * i & (slots - 1).  seq is 2*i+1 while event i is being written, and 2*i+2 once
 * it is complete; other values belong to another lap of the ring.  All numbers
 * are in the machine's byte order.
 */
struct talechain_event {
	uint64_t seq;
	uint64_t ts; /* CLOCK_MONOTONIC, ns */
	uint32_t tid, pid;
	uint16_t type; /* enum talechain_type */
	uint8_t version;
	uint8_t flags;
	uint32_t cpu; /* UINT32_MAX: not known, as from user space */
	uint64_t arg[4];
};

/* One channel, in lines of 64 bytes:
 *
 *  line 0   constant: writer, version, sizes
 *  line 1   name, and ready (stored last, with release)
 *  line 2   head: index of the next event; a reader that saw event i
 *           complete sees head > i, and one that saw head > i + 1
 *           sees event i complete                            (writer)
 *  line 3   counters of the writer
 *  line 4   word[0]: the writer's state word              (writer)
 *  line 5   word[1..]: further signal words               (writer)
 *  ...      up to TALECHAIN_HEADER_BYTES, zero
 *  4096     slot[0 .. 1 << slot_log2)
 *
 * A signal word is one aligned u64, written by one store, last value wins. */
#define TALECHAIN_HEADER_BYTES 4096
#define TALECHAIN_WORDS 8

/* Meanings of signal words. */
enum talechain_word {
	TALECHAIN_WORD_STATE = 0,    /* JVM: epoch << 8 | jvm state */
	TALECHAIN_WORD_QUEUE = 1,    /* requests waiting in the server */
	TALECHAIN_WORD_REQUEST = 2,  /* request id being worked on */
	TALECHAIN_WORD_HEAP = 2,     /* JVM, which has no requests: bytes of its
				      * heap in use; 0: not reported */
	TALECHAIN_WORD_CLASSES = 3,  /* classes prepared so far */
	TALECHAIN_WORD_COMPILED = 4, /* methods compiled so far */
	TALECHAIN_WORD_CAUSE = 5,    /* enum talechain_cause of the state */
	TALECHAIN_WORD_SINCE = 6,    /* when the state began, ns; set first */
	TALECHAIN_WORD_ORDERS = 7,   /* JVM: 1 + the number of orders to collect
				    * carried out; 0: it understands none */
};

/* States of a JVM in the low byte of its state word. */
enum talechain_jvm_state {
	TALECHAIN_JVM_UNKNOWN = 0,
	TALECHAIN_JVM_RUNNING = 1,
	TALECHAIN_JVM_GC = 2,
	TALECHAIN_JVM_SAFEPOINT = 3,
	TALECHAIN_JVM_DEAD = 4,
};

/* A bit beside the state, set without a new epoch: the collector marks in
 * steps. */
#define TALECHAIN_STATE_MARKING 0x80
#define TALECHAIN_STATE_MASK 0x7f

enum talechain_kind {
	TALECHAIN_KIND_APP = 1,	  /* a service's own events */
	TALECHAIN_KIND_JVM = 2,	  /* the JVMTI agent */
	TALECHAIN_KIND_PROXY = 3, /* Tailor's proxy thread */
	TALECHAIN_KIND_KERNEL = 4,
};

struct talechain_channel {
	/* line 0 */
	uint32_t magic;
	uint16_t abi_major, abi_minor;
	uint32_t header_bytes, slot_bytes;
	uint32_t slot_log2, kind;
	uint32_t writer_pid, writer_tid;
	uint64_t generation;
	uint64_t start_ns;
	uint32_t clock_id, flags;
	uint64_t reserved0;
	/* line 1 */
	char name[TALECHAIN_NAME_BYTES];
	uint64_t ready;
	uint64_t reserved1[3];
	/* line 2 */
	uint64_t head;
	uint64_t reserved2[7];
	/* line 3 */
	uint64_t dropped; /* events the writer gave up on before a slot */
	uint64_t reserved3[7];
	/* lines 4 and 5 */
	uint64_t state;
	uint64_t reserved4[7];
	uint64_t word[TALECHAIN_WORDS]; /* word[0] unused: see state */
};

#ifdef __cplusplus
#define TALECHAIN_ASSERT(x, why) static_assert(x, why)
#define TALECHAIN_OFFSET(t, m) __builtin_offsetof(t, m)
#else
#define TALECHAIN_ASSERT(x, why) __extension__ _Static_assert(x, why)
#define TALECHAIN_OFFSET(t, m) __builtin_offsetof(t, m)
#endif
TALECHAIN_ASSERT(sizeof(struct talechain_event) == 64, "one cache line");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_event, ts) == 8, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_event, tid) == 16, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_event, type) == 24, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_event, cpu) == 28, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_event, arg) == 32, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_channel, name) == 64, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_channel, ready) == 96, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_channel, head) == 128, "");
TALECHAIN_ASSERT(
    TALECHAIN_OFFSET(struct talechain_channel, dropped) == 192, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_channel, state) == 256, "");
TALECHAIN_ASSERT(TALECHAIN_OFFSET(struct talechain_channel, word) == 320, "");
TALECHAIN_ASSERT(sizeof(struct talechain_channel) == 384, "six lines");

#ifndef __bpf__
/* Bytes of a channel with 1 << slot_log2 slots. */
static inline size_t
talechain_bytes(unsigned slot_log2)
{
	return TALECHAIN_HEADER_BYTES +
	       ((size_t)TALECHAIN_SLOT_BYTES << slot_log2);
}

/* Slot 0 of a channel. */
static inline struct talechain_event *
talechain_slots(struct talechain_channel *channel)
{
	return (struct talechain_event *)(void *)((char *)channel +
						  TALECHAIN_HEADER_BYTES);
}

/* The writer's end of a channel.  All zero = closed, emitting is a no-op. */
struct talechain {
	struct talechain_channel *channel; /* owned mapping, or NULL */
	struct talechain_event *slot;
	uint64_t head, mask;
	size_t bytes;
	uint32_t tid, pid;
	int socket; /* owned; its close shows Tailor that we are gone */
};

/* The present moment, CLOCK_MONOTONIC ns.  Any thread. */
static inline uint64_t
talechain_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Write one event with a timestamp of the caller's (CLOCK_MONOTONIC ns).
 * The owning thread only.  Never blocks, never fails.
 *
 * Order: every earlier event is visible before head (release), head and the
 * busy mark before any field (release fence), every field before the publishing
 * store.  Fields are relaxed atomics so that a concurrent reader is no data
 * race.  On x86 all of this is plain moves, on arm64 one dmb and two stlr. */
static inline void
talechain_emit_at(struct talechain *tc, uint64_t ts, enum talechain_type type,
    uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	struct talechain_event *e;
	uint64_t i;

	if (tc->channel == NULL)
		return;
	i = tc->head++;
	e = &tc->slot[i & tc->mask];
	__atomic_store_n(&tc->channel->head, tc->head, __ATOMIC_RELEASE);
	__atomic_store_n(&e->seq, 2 * i + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&e->ts, ts, __ATOMIC_RELAXED);
	__atomic_store_n(&e->tid, tc->tid, __ATOMIC_RELAXED);
	__atomic_store_n(&e->pid, tc->pid, __ATOMIC_RELAXED);
	__atomic_store_n(&e->type, (uint16_t)type, __ATOMIC_RELAXED);
	__atomic_store_n(&e->version, (uint8_t)1, __ATOMIC_RELAXED);
	__atomic_store_n(&e->flags, (uint8_t)0, __ATOMIC_RELAXED);
	__atomic_store_n(&e->cpu, UINT32_MAX, __ATOMIC_RELAXED);
	__atomic_store_n(&e->arg[0], a0, __ATOMIC_RELAXED);
	__atomic_store_n(&e->arg[1], a1, __ATOMIC_RELAXED);
	__atomic_store_n(&e->arg[2], a2, __ATOMIC_RELAXED);
	__atomic_store_n(&e->arg[3], a3, __ATOMIC_RELAXED);
	__atomic_store_n(&e->seq, 2 * i + 2, __ATOMIC_RELEASE);
}

/* Write one event with the present time; else as talechain_emit_at(). */
static inline void
talechain_emit(struct talechain *tc, enum talechain_type type, uint64_t a0,
    uint64_t a1, uint64_t a2, uint64_t a3)
{
	if (tc->channel != NULL)
		talechain_emit_at(tc, talechain_now(), type, a0, a1, a2, a3);
}

/* Publish a signal word (enum talechain_word).  Each word has one writing
 * thread. */
static inline void
talechain_word_set(
    struct talechain *tc, enum talechain_word word, uint64_t value)
{
	if (tc->channel == NULL)
		return;
	if (word == TALECHAIN_WORD_STATE)
		__atomic_store_n(&tc->channel->state, value, __ATOMIC_RELEASE);
	else
		__atomic_store_n(
		    &tc->channel->word[word], value, __ATOMIC_RELEASE);
}

/* Lay out an all-zero mapping of talechain_bytes(slot_log2) as a channel.  Done
 * by the side that makes the memory: Tailor. */
static inline void
talechain_init(struct talechain_channel *channel, unsigned slot_log2,
    enum talechain_kind kind, const char *name, uint32_t pid, uint32_t tid,
    uint64_t generation)
{
	size_t n = strlen(name);

	if (n > TALECHAIN_NAME_BYTES - 1)
		n = TALECHAIN_NAME_BYTES - 1;
	channel->magic = TALECHAIN_MAGIC;
	channel->abi_major = TALECHAIN_ABI_MAJOR;
	channel->abi_minor = TALECHAIN_ABI_MINOR;
	channel->header_bytes = TALECHAIN_HEADER_BYTES;
	channel->slot_bytes = TALECHAIN_SLOT_BYTES;
	channel->slot_log2 = slot_log2;
	channel->kind = kind;
	channel->writer_pid = pid;
	channel->writer_tid = tid;
	channel->generation = generation;
	channel->start_ns = talechain_now();
	channel->clock_id = CLOCK_MONOTONIC;
	memcpy(channel->name, name, n);
	__atomic_store_n(&channel->ready, UINT64_C(1), __ATOMIC_RELEASE);
}

/* Become the writer of a channel that is already mapped.  The caller keeps the
 * mapping: talechain_close() does not unmap it (bytes stays 0). */
static inline void
talechain_attach(
    struct talechain *tc, struct talechain_channel *channel, unsigned slot_log2)
{
	memset(tc, 0, sizeof(*tc));
	tc->channel = channel;
	tc->slot = talechain_slots(channel);
	tc->mask = (UINT64_C(1) << slot_log2) - 1;
	tc->head = __atomic_load_n(&channel->head, __ATOMIC_RELAXED);
	tc->tid = (uint32_t)syscall(SYS_gettid);
	tc->pid = (uint32_t)getpid();
	tc->socket = -1;
}

/* The descriptor in a control message, or -1; closes all further ones. */
static inline int
talechain_descriptor_(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t i, count;
	int fd = -1, extra;

	if (c == NULL || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_RIGHTS)
		return -1;
	count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (i = 0; i < count; i++) {
		memcpy(&extra, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (i == 0)
			fd = extra;
		else
			close(extra);
	}
	return fd;
}

/* Receive the reply "OK <path> <bytes>\n" and the descriptor with it. */
static inline int
talechain_receive_(int s, size_t *bytes)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char line[256];
	struct iovec iov;
	struct msghdr m;
	ssize_t n;
	int fd;

	memset(&m, 0, sizeof(m));
	memset(&control, 0, sizeof(control));
	iov.iov_base = line;
	iov.iov_len = sizeof(line) - 1;
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = control.space;
	m.msg_controllen = sizeof(control.space);
	do
		n = recvmsg(s, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	line[n] = '\0';
	fd = talechain_descriptor_(&m);
	if (sscanf(line, "OK %*s %zu", bytes) == 1 && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return strncmp(line, "NO ", 3) == 0 ? -EPERM : -EPROTO;
}

/* Connect, and request a channel.  Returns the socket, or a negative errno. */
static inline int
talechain_ask_(
    const char *path, enum talechain_kind kind, const char *name, unsigned log2)
{
	struct sockaddr_un a;
	struct timeval limit = {1, 0};
	char hello[128];
	int s, n, err;

	memset(&a, 0, sizeof(a));
	a.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(a.sun_path))
		return -EINVAL;
	memcpy(a.sun_path, path, strlen(path));
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(s, (struct sockaddr *)(void *)&a, sizeof(a)) < 0) {
		err = -errno;
		close(s);
		return err;
	}
	n = snprintf(hello, sizeof(hello), "TALECHAIN 1 %d %u %ld %.31s\n",
	    (int)kind, log2, (long)syscall(SYS_gettid), name);
	if (send(s, hello, (size_t)n, MSG_NOSIGNAL) != n) {
		close(s);
		return -EPROTO;
	}
	return s;
}

/* Map the memory that Tailor gave us, and check that it is the requested
 * channel.  Returns 0 or a negative errno. */
static inline int
talechain_map_(struct talechain *tc, int fd, size_t bytes, unsigned log2)
{
	struct talechain_channel *c;
	struct stat st;
	void *map;

	if (bytes != talechain_bytes(log2) || fstat(fd, &st) < 0 ||
	    (size_t)st.st_size != bytes)
		return -EPROTO;
	/* Populate: no page fault in the middle of a request. */
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	c = (struct talechain_channel *)map;
	if (__atomic_load_n(&c->ready, __ATOMIC_ACQUIRE) != 1 ||
	    c->magic != TALECHAIN_MAGIC ||
	    c->abi_major != TALECHAIN_ABI_MAJOR ||
	    c->header_bytes != TALECHAIN_HEADER_BYTES ||
	    c->slot_bytes != TALECHAIN_SLOT_BYTES || c->slot_log2 != log2) {
		munmap(map, bytes);
		return -EPROTO;
	}
	talechain_attach(tc, c, log2);
	tc->bytes = bytes;
	return 0;
}

/* True if a name is fit for the one line of the handshake. */
static inline int
talechain_name_ok_(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n >= 1 && n < TALECHAIN_NAME_BYTES && name[n] == '\0';
}

/* Request a channel from the Tailor that listens on a Unix socket, and become
 * its writer.
 *   path       the socket; NULL: $TALECHAIN_SOCKET, or the default path,
 *              where the first of several tailors is
 *   name       shown in timelines: [A-Za-z0-9._-], 1 .. 31 bytes
 *   slot_log2  6 .. 20: ring of 64 .. 1 M events
 * Returns 0, or a negative errno with tc closed (so emitting is a no-op):
 * -ENOENT or -ECONNREFUSED no Tailor there, -EPERM refused (too many
 * channels, another user), -EPROTO not a Tailor we understand, -EAGAIN no
 * response within a second, -EINVAL an argument out of range.  May block for
 * that second.  Call again later to try again. */
static inline int
talechain_open_kind(struct talechain *tc, const char *path,
    enum talechain_kind kind, const char *name, unsigned slot_log2)
{
	size_t bytes = 0;
	int s, fd, err;

	memset(tc, 0, sizeof(*tc));
	tc->socket = -1;
	if (path == NULL)
		path = getenv("TALECHAIN_SOCKET");
	if (path == NULL || *path == '\0')
		path = TALECHAIN_SOCKET_DEFAULT;
	if (!talechain_name_ok_(name) || slot_log2 < TALECHAIN_SLOT_LOG2_MIN ||
	    slot_log2 > TALECHAIN_SLOT_LOG2_MAX)
		return -EINVAL;
	s = talechain_ask_(path, kind, name, slot_log2);
	if (s < 0)
		return s;
	fd = talechain_receive_(s, &bytes);
	if (fd < 0) {
		err = fd;
		goto fail_socket;
	}
	err = talechain_map_(tc, fd, bytes, slot_log2);
	close(fd);
	if (err < 0)
		goto fail_socket;
	tc->socket = s;
	return 0;

fail_socket:
	close(s);
	return err;
}

/* As talechain_open_kind(), for an application's own channel. */
static inline int
talechain_open(struct talechain *tc, const char *path, const char *name,
    unsigned slot_log2)
{
	return talechain_open_kind(
	    tc, path, TALECHAIN_KIND_APP, name, slot_log2);
}

/* Give the channel back; tc is closed afterwards.  The owning thread. */
static inline void
talechain_close(struct talechain *tc)
{
	if (tc->bytes > 0) { /* opened by us, not attached */
		munmap(tc->channel, tc->bytes);
		close(tc->socket);
	}
	memset(tc, 0, sizeof(*tc));
	tc->socket = -1;
}

#endif /* __bpf__ */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#elif defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
