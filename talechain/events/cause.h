/* cause.h: why a piece of a request's time passed: one row for each cause.
 *
 * Names, sentences, advice, how it is drawn, what blame does with it, the
 * manual's list (tailor-timeline(5)) and the schema follow from its row. */
#pragma once

#include "talechain/events/hazard.h"

/* Columns: symbol; code, stable because it is stored and searched for; label;
 * how it is drawn (enum kind, render/kind.h); enum tale_nature; what blame may
 * do about it (enum blame_kind); the signals that show it (enum tale_needs);
 * the function say_* that makes its sentence (words/verdict.c; note: the
 * claim's note, or the label).
 *
 * Last, its meaning, for the manual, and at most two lines of advice: what to
 * change first, and what to try if that cannot be changed.  NULL: no advice. */
#define TALE_CAUSES(X)                                                         \
	X(UNKNOWN, "unknown", "not explained", UNSEEN, BLIND, UNEXPLAINED,     \
	    NOTHING, unknown, "no event covers it",                            \
	    "run `tailorctl probe` to see which signals are missing here, "    \
	    "and what each needs",                                             \
	    "link the server with talechain.h or TaleChain.java, so that it "  \
	    "reports when it begins and ends a request")                       \
	X(CLIENT_SEND, "client_send", "client sending", CLIENT, DELAY, BASE,   \
	    NOTHING, note, "the client sent late, or in pieces",               \
	    "look at the client: it sent late or slowly")                      \
	X(CLIENT_LATE, "client_late", "client read late", CLIENT, DELAY,       \
	    HAZARD, NOTHING, note,                                             \
	    "the response was in the client's socket, unread",                 \
	    "give the client's reading thread a CPU of its own, or more "      \
	    "threads")                                                         \
	X(CLIENT_NETWORK, "client_network", "the client's network", TCP,       \
	    DELAY, HAZARD, NOTHING, client_network,                            \
	    "the client was connecting, or the response was on its way, and "  \
	    "the kernel sent parts of that again",                             \
	    "look for loss between this machine and the client: ip -s link, "  \
	    "ss -ti, mtr")                                                     \
	X(ACCEPT_QUEUE, "accept_queue", "waiting to be accepted", QUEUE,       \
	    DELAY, QUEUE, NOTHING, note,                                       \
	    "the request had arrived, and Tailor had not accepted its "        \
	    "connection: no server was ready, no descriptor was left, or its " \
	    "thread had no CPU",                                               \
	    "see in Tailor's log why no server was ready, or raise the "       \
	    "limit on open files",                                             \
	    "if its queue was full (tailor_connections_dropped_total), raise " \
	    "net.core.somaxconn")                                              \
	X(PROXY, "proxy", "Tailor working", WORK, WORK, BASE, NOTHING, note,   \
	    "Tailor read, chose a server, wrote, or had not yet read",         \
	    "give Tailor's proxy thread a CPU of its own (proxy.cpu)")         \
	X(PROXY_QUEUE, "proxy_queue", "Tailor's queue", QUEUE, DELAY, QUEUE,   \
	    NOTHING, queue, "no server had a free slot, or none was ready",    \
	    "allow more requests at once to each server, or add capacity",     \
	    "if no server was ready, see why in Tailor's log")                 \
	X(NETWORK, "network", "TCP stack", TRANSIT, WORK, BASE, NOTHING, note, \
	    "between two sockets",                                             \
	    "look at the load of the CPUs that handle the network's softirqs") \
	X(BACKEND_QUEUE, "backend_queue", "server's queue", QUEUE, DELAY,      \
	    QUEUE, NOTHING, server,                                            \
	    "in the server's socket while its thread did other things, or "    \
	    "in the server's own queue",                                       \
	    "give the server more worker threads, or send it fewer requests "  \
	    "at once")                                                         \
	X(WORK, "work", "server computing", WORK, WORK, BASE, NOTHING, server, \
	    "a server's thread ran, or its application reports so",            \
	    "profile the server for this request")                             \
	X(LOW_IPC, "low_ipc", "computing at low IPC", WORK, WORK, BASE, RATES, \
	    server,                                                            \
	    "the server's threads ran, at under half of their usual "          \
	    "instructions per cycle",                                          \
	    "look at what else ran then: on the core's other hyperthread, or " \
	    "with the same caches and memory",                                 \
	    "pin the server to cores of its own (cpuset, nosmt)")              \
	X(SLOW_CLOCK, "slow_clock", "computing on a slow clock", WORK, WORK,   \
	    BASE, RATES, server,                                               \
	    "a thread ran on a CPU whose clock was under half of its "         \
	    "nominal rate",                                                    \
	    "set the governor to performance (cpupower frequency-set), look "  \
	    "for thermal limits")                                              \
	X(RUNQ, "runq", "waiting for a CPU", CPU, DELAY, CPU, KERNEL, thread,  \
	    "a thread was ready; its CPU ran another",                         \
	    "pin the server to CPUs of its own, or isolate them from the "     \
	    "named program (cpuset, isolcpus)",                                \
	    "give the server a higher priority (nice, SCHED_FIFO)")            \
	X(PREEMPTED, "preempted", "preempted", CPU, DELAY, CPU, KERNEL,        \
	    thread, "a thread was preempted on its CPU",                       \
	    "pin the server to CPUs of its own, or isolate them from the "     \
	    "named program (cpuset, isolcpus)",                                \
	    "give the server a higher priority (nice, SCHED_FIFO)")            \
	X(BORROWED_LANE, "borrowed_lane", "waiting for a lent CPU", CPU,       \
	    DELAY, CPU, KERNEL, thread,                                        \
	    "a thread was ready; its CPU ran work of policy SCHED_IDLE, as "   \
	    "that of `tailor borrow`",                                         \
	    "hold the named work (tailorctl borrow hold), or run it with "     \
	    "`tailor borrow`, which also gives it a group of its own that "    \
	    "others preempt",                                                  \
	    "lend only CPUs that the server does not use (--cpus)")            \
	X(QUOTA, "quota", "CPU quota used up", CPU, DELAY, HAZARD, KERNEL,     \
	    thread, "the CPU quota of a thread's cgroup was used up",          \
	    "raise or drop the CPU limit of the server's cgroup (cpu.max, "    \
	    "Kubernetes: limits.cpu)",                                         \
	    "run fewer threads at once than the limit has CPUs")               \
	X(STEAL, "steal", "CPU taken by the host", CPU, DELAY, HAZARD, KERNEL, \
	    thread,                                                            \
	    "a thread was on a virtual CPU, but the host ran something else "  \
	    "on it",                                                           \
	    "move this virtual machine to a host with free CPUs, or to "       \
	    "dedicated ones (mpstat shows %steal)")                            \
	X(IRQ, "irq", "handling interrupts", CPU, DELAY, HAZARD, KERNEL,       \
	    thread,                                                            \
	    "a thread was on a CPU that handled interrupts or softirqs",       \
	    "see which interrupts: /proc/interrupts, /proc/softirqs",          \
	    "move the interrupts (/proc/irq/*/smp_affinity) or the server to " \
	    "other CPUs")                                                      \
	X(STOPPED, "stopped", "stopped or frozen", STOP, DELAY, HAZARD,        \
	    NOTHING, thread, "SIGSTOP, a debugger, the freezer of its cgroup", \
	    "find what sent SIGSTOP, attached a debugger or froze its cgroup") \
	X(LOCK, "lock", "waiting for another thread", LOCK, DELAY, HAZARD,     \
	    KERNEL, thread,                                                    \
	    "a thread waited for another one of its process, or for a lock "   \
	    "in the kernel",                                                   \
	    "look at what the named thread does while others wait; if it "     \
	    "holds a lock, split that, or hold it for less time")              \
	X(SLEEP, "sleep", "server sleeping", SLEEP, DELAY, HAZARD, KERNEL,     \
	    thread,                                                            \
	    "a thread waited for something else: a timer, another service",    \
	    "look at what the server waits for: a timer, another service, a "  \
	    "pool")                                                            \
	X(PAGE_FAULT, "page_fault", "page fault", MEMORY, DELAY, HAZARD,       \
	    KERNEL, thread, "page faults were handled",                        \
	    "touch memory before it is needed: -XX:+AlwaysPreTouch, "          \
	    "MAP_POPULATE, mlockall",                                          \
	    "switch transparent huge pages off, or to madvise: zeroing 2 "     \
	    "MiB at once takes long")                                          \
	X(RECLAIM, "reclaim", "freeing memory", MEMORY, DELAY, HAZARD, KERNEL, \
	    thread,                                                            \
	    "a thread freed or compacted memory before it got some, because "  \
	    "of its cgroup's limit or because the machine had too little; "    \
	    "mostly within page faults and reads",                             \
	    "give the server's cgroup, or the machine, more memory "           \
	    "(memory.max, Kubernetes: limits.memory)",                         \
	    "see memory.pressure and memory.stat of the server's cgroup; "     \
	    "page cache that the server fills counts, too")                    \
	X(DISK, "disk", "waiting for disk", MEMORY, DELAY, HAZARD, KERNEL,     \
	    thread, "input or output",                                         \
	    "keep what is read in memory (warm the page cache, mlock), or "    \
	    "read it ahead")                                                   \
	X(SOFTIRQ, "softirq", "softirq", CPU, DELAY, HAZARD, KERNEL, thread,   \
	    "a softirq ran on the thread's CPU",                               \
	    "move the network's interrupts to other CPUs (irq affinity, RPS)", \
	    "on a virtual machine its host may have had the CPU meanwhile: "   \
	    "mpstat shows %steal, but not all hosts report it")                \
	X(IDLE_WAKEUP, "idle_wakeup", "CPU leaving idle", CPU, DELAY, HAZARD,  \
	    KERNEL, thread, "the CPU had to leave idle first",                 \
	    "limit the depth of idle states: /dev/cpu_dma_latency, or "        \
	    "intel_idle.max_cstate",                                           \
	    "on a virtual machine, also dedicate host CPUs to it: the host "   \
	    "may have run something else first")                               \
	X(GC, "gc", "garbage collection", PAUSE, DELAY, HAZARD, RUNTIME,       \
	    pause, "a stop-the-world collection",                              \
	    "let Tailor move requests to the other server (servers[].jvm, "    \
	    "hedging.mode), or tune the collector and heap")                   \
	X(SAFEPOINT, "safepoint", "JVM safepoint", PAUSE, DELAY, HAZARD,       \
	    RUNTIME, pause,                                                    \
	    "all threads of the JVM were stopped; without the JVM's own "      \
	    "signals, a wait that the VM Thread ended",                        \
	    "find the operation in the JVM's safepoint log: -Xlog:safepoint")  \
	X(CLASS_LOADING, "class_loading", "class loading and JIT", PAUSE,      \
	    DELAY, HAZARD, RUNTIME, server, "class loading and JIT",           \
	    "send warm-up requests before real ones",                          \
	    "use class data sharing: -XX:SharedArchiveFile")                   \
	X(EXIT, "exit", "server not running", STOP, DELAY, HAZARD, NOTHING,    \
	    pause, "the process had ended",                                    \
	    "find out why the server ended, in its own log")                   \
	X(DELAYED_ACK, "tcp_delayed_ack", "waiting for an ACK", TCP, DELAY,    \
	    HAZARD, KERNEL, tcp, "Nagle: held until the peer acknowledged",    \
	    "set TCP_NODELAY on the sending socket",                           \
	    "or write head and body in one call")                              \
	X(RETRANSMIT, "tcp_retransmit", "waiting for retransmission", TCP,     \
	    DELAY, HAZARD, KERNEL, tcp, "lost, and sent again",                \
	    "look for loss on the way: ip -s link, nstat TcpRetransSegs")      \
	X(WINDOW, "tcp_window", "receiver not reading", TCP, DELAY, HAZARD,    \
	    KERNEL, tcp, "the receiver did not read",                          \
	    "let the receiver read faster, or give it a larger buffer "        \
	    "(SO_RCVBUF)")                                                     \
	X(CONGESTION, "tcp_congestion", "congestion window full", TCP, DELAY,  \
	    HAZARD, KERNEL, tcp, "the congestion window was full",             \
	    "keep connections open and warm (tcp_slow_start_after_idle=0)")    \
	X(CORK, "tcp_cork", "corked by the sender", TCP, DELAY, HAZARD,        \
	    KERNEL, tcp, "TCP_CORK or MSG_MORE",                               \
	    "uncork (TCP_CORK, MSG_MORE) as soon as the response is whole")    \
	X(HELD, "tcp_held", "held back by TCP", TCP, DELAY, HAZARD, KERNEL,    \
	    tcp, "pacing, small queues, no memory", NULL)                      \
	X(SWITCHED, "switched", "until re-sent by Tailor", SWITCHED, DELAY,    \
	    HAZARD, NOTHING, server,                                           \
	    "spent at the first server before Tailor sent the request again",  \
	    "a shorter timer, or more hazard signals, would re-send sooner")   \
	X(BLIND, "blind", "observer not running", UNSEEN, BLIND, UNEXPLAINED,  \
	    NOTHING, note, "the observer did not read",                        \
	    "give the observer a CPU of its own (profiler.cpu, "               \
	    "profiler.poll)")                                                  \
	X(LOST, "lost", "events lost", UNSEEN, BLIND, UNEXPLAINED, NOTHING,    \
	    note, "the kernel's events were overwritten",                      \
	    "make the rings larger, or poll them more often")                  \
	X(NOT_OBSERVED, "not_observed", "not observed", UNSEEN, BLIND,         \
	    UNEXPLAINED, NOTHING, not_observed,                                \
	    "a thread that is not watched; a thread kept off an idle CPU; "    \
	    "events that contradict each other; a wait in futex whose end "    \
	    "is in no event",                                                  \
	    "link the server with talechain.h or TaleChain.java, so that it "  \
	    "reports when it begins and ends a request",                       \
	    "look at the server's cpu.stat (nr_throttled) and its worker "     \
	    "processes")

enum tale_cause {
#define TALE_X(symbol, ...) TALE_CAUSE_##symbol,
	TALE_CAUSES(TALE_X)
#undef TALE_X
	    TALE_CAUSE_COUNT
};

enum tale_nature {
	TALE_NATURE_WORK,  /* work on the request */
	TALE_NATURE_DELAY, /* a delay of the request */
	TALE_NATURE_BLIND, /* no event shows what the time was spent on */
};

/* Signals that show a cause. */
enum tale_needs {
	TALE_NEEDS_NOTHING, /* what Tailor always has */
	TALE_NEEDS_KERNEL,  /* the kernel's events */
	TALE_NEEDS_RATES,   /* the kernel's events and CPU counters */
	TALE_NEEDS_RUNTIME, /* what the JVM, or another runtime, reports */
};

#define TALE_ADVICE 2 /* lines */

extern const struct tale_cause_row {
	const char *code, *label; /* "gc", "garbage collection" */
	uint8_t nature;		  /* enum tale_nature */
	uint8_t needs;		  /* enum tale_needs */
	const char *advice[TALE_ADVICE];
} tale_causes[TALE_CAUSE_COUNT];

/* Code and label of a cause; static text. */
const char *tale_cause_code(enum tale_cause cause);
const char *tale_cause_label(enum tale_cause cause);
/* The cause with a code, or -1. */
int tale_cause_find(const char *code);
/* The cause of the time that requests spend in a server's hazard; UNKNOWN:
 * none. */
enum tale_cause tale_cause_of_hazard(enum hazard_kind kind);
