/* profiler.h: the observer.
 *
 * One thread polls memory: channels of the servers, of their JVMs' agents and
 * of the proxy, and the hsperfdata pages of unmodified JVMs.  It copies every
 * new event into the timeline stream and posts each server's hazards to the
 * proxy through a ring and an eventfd.  That loop never allocates, locks, logs
 * or waits while requests are in flight (its only system calls are the sleep
 * between sweeps and the write that wakes the proxy for a hazard).  A second
 * thread does everything that may block: it accepts channels, finds and
 * watches processes, maps hsperfdata, and hands finished sources to the
 * observer through a ring.
 *
 * The profiler knows servers and processes, never HTTP. */
#pragma once

#include "talechain/events/counters.h"
#include "talechain/events/hazard.h"
#include "talechain/talechain.h"
#include "talechain/timeline/timeline.h"

#define PROFILER_SERVERS 2
#define PROFILER_PROCESSES 256 /* of a server; more are not watched */

/* Channels open at once: one for each thread of two servers with 200 threads,
 * as Tomcat has.  A sweep looks at those that are open; each has a descriptor,
 * and as many are kept back for them. */
#define PROFILER_CHANNELS_MAX 512
/* A longer gap between two sweeps is recorded: shorter ones hide no pause that
 * is worth a second copy. */
#define PROFILER_BLIND_NS (1 * NS_PER_MS)

enum profiler_poll {
	PROFILER_POLL_SPIN,  /* sweep without a pause */
	PROFILER_POLL_RELAX, /* a few pause instructions between sweeps */
	PROFILER_POLL_SLEEP, /* sleep between sweeps */
};

/* Which kernel events are recorded. */
enum profiler_kernel {
	PROFILER_KERNEL_OFF,
	PROFILER_KERNEL_LITE, /* cheap events that explain requests */
	PROFILER_KERNEL_SUMS, /* and sums of each, where these are too many */
	PROFILER_KERNEL_FULL, /* also idling and every softirq */
};

/* Kinds of kernel events that are on or off together: symbol, name, and what
 * they are.  Each needs tracepoints that a kernel may lack. */
#define PROFILER_KERNEL_SIGNALS(X)                                       \
	X(SCHEDULER, "scheduler", "wakeups, run queues, thread names")   \
	X(PROCESS, "process", "programs started, processes ended")       \
	X(SOFTIRQ, "softirq", "softirqs, and wakeups out of them")       \
	X(INTERRUPT, "interrupt", "time in interrupts")                  \
	X(TCP, "tcp", "segments in and out, acknowledgements")           \
	X(SOCKET, "socket", "bytes sent, received and held back")        \
	X(PAGEFAULT, "pagefault", "page faults, and how long they took") \
	X(RECLAIM, "reclaim", "memory freed or compacted by a thread")   \
	X(IDLE, "idle", "how long and how deep a CPU slept")             \
	X(SYSCALL, "syscall", "system calls")                            \
	X(SUMS, "sums", "what threads did with each request, as sums")

enum profiler_signal {
#define PROFILER_X(symbol, name, meaning) PROFILER_SIGNAL_##symbol,
	PROFILER_KERNEL_SIGNALS(PROFILER_X)
#undef PROFILER_X
	    PROFILER_SIGNALS
};

struct profiler_signal_state {
	bool on;
	char why[160]; /* why it is off: what is missing */
};

/* Probes in a language runtime (runtimes/table.h). */
enum profiler_probes {
	PROFILER_PROBES_OFF,
	PROFILER_PROBES_ON,
	PROFILER_PROBES_AUTO, /* where nothing better shows its collections */
};

/* How a server's JVM is made to collect. */
enum profiler_collect {
	PROFILER_COLLECT_NOT, /* not by the profiler */
	PROFILER_COLLECT_AGENT,
	PROFILER_COLLECT_LOAD, /* the agent, loaded where there is none */
	PROFILER_COLLECT_PERIODIC,
};

struct profiler_server {
	char name[32]; /* "": there is none */
	/* Its address, to find its process; family 0: do not search. */
	struct sockaddr_storage address;
	/* Where it may listen instead; family 0: nowhere. */
	struct sockaddr_storage other;
	/* The address that it listens on, also if its process is assigned;
	 * family 0: not known. */
	struct sockaddr_storage listens;
	uint16_t port; /* its TCP port, to identify its connections; 0: none */
	bool hsperfdata; /* read the JVM's performance page */
	bool agent;	 /* accept its JVMTI agent's channel */
	enum profiler_collect collect;
	enum profiler_probes probes;
	/* What the probes are of: a runtime's file, or a program that has one
	 * or is beside it; with AUTO the program that will be started.  NULL:
	 * not known.  Borrowed for profiler_new. */
	const char *program;
};

struct profiler_options {
	enum profiler_poll poll;
	int64_t sleep_ns; /* for PROFILER_POLL_SLEEP, > 0 */
	int cpu;	  /* pin the observer; -1: do not */
	/* Path, or NULL: no channels from outside; and a symbolic link to make
	 * to it, if no other tailor has it, or NULL.  Both borrowed until
	 * profiler_start has returned. */
	const char *channel_socket, *channel_link;
	unsigned channels_max; /* open at once, 1 .. PROFILER_CHANNELS_MAX */
	int64_t blind_ns;      /* a longer gap between sweeps is recorded */
	enum profiler_kernel kernel; /* events of the kernel */
	bool syscalls;		     /* system calls, too */
	bool stacks;		     /* of waits and computing */
	unsigned kernel_slot_log2;   /* ring of each CPU, 6 .. 20 */
	unsigned kernel_events;	     /* each CPU's per second; 0: default */
	const char *proc_stat;	     /* to read steal time; NULL: /proc/stat */
	int64_t rest_ns; /* longest rest of an idle observer; 0: 16 ms,
			  * or 100 ms where nothing is polled */
	uint32_t rates;	 /* which signals: bit 1 << enum talechain_rate */
	int64_t rates_period_ns; /* at most one event of each per period */
	uint32_t counters;	 /* that take turns: bit 1 << counter */
	struct counted_epochs *counted; /* borrowed; or NULL: none do */
	unsigned servers;		/* 0 .. PROFILER_SERVERS */
	struct profiler_server server[PROFILER_SERVERS];
};

struct profiler;

/* Make a profiler that does not run yet; options are copied.  Kernel sources
 * are opened: the one part that needs root's rights.  Returns 0, -EINVAL,
 * -ENOMEM or a negative errno of eventfd.  Free with profiler_free. */
int profiler_new(struct profiler **out, const struct profiler_options *options);

/* Stop both threads and release everything.  The thread that made it. */
void profiler_free(struct profiler **pp);

/* Make a channel inside this process and become its writer (tc), for the proxy
 * thread.  Before profiler_start.  Returns 0, -EINVAL, -ENOMEM, -ENOSPC.  The
 * profiler owns the memory: do not emit after profiler_free. */
int profiler_channel(struct profiler *p, const char *name,
    enum talechain_kind kind, unsigned slot_log2, struct talechain *tc);

/* Listen for channels and start the threads; the observer writes to timeline
 * (borrowed).  Returns 0 or a negative errno.  -EADDRINUSE: another tailor has
 * the channel socket, which is logged.  Any other failure to bind it is not
 * fatal: there are no channels from outside then, which is logged with advice.
 * Failing to pin the observer is not fatal: it is logged once and the thread
 * runs unpinned. */
int profiler_start(struct profiler *p, struct timeline *timeline);

/* Set a server's process to pid (a supervisor's child), or 0 when it is known
 * to be gone.  Processes of servers with an address are also found without
 * this.  Any thread; never blocks. */
void profiler_server_process(struct profiler *p, unsigned server, pid_t pid);

/* Watch another server in a place, or none; its process is then searched anew.
 * .program is not looked at, and probes that need privileges that were dropped
 * are not made.  The proxy thread; never blocks for long. */
void profiler_server_set(
    struct profiler *p, unsigned server, const struct profiler_server *is);

/* Record kernel events of all connections of this TCP port of ours (host
 * order), and of those to it from this machine.  Servers' ports are always
 * watched.  Any thread; a plain store. */
void profiler_watch_port(struct profiler *p, uint16_t port);

/* Copy the state of each enum profiler_signal.  Returns whether any is on.  Any
 * thread. */
bool profiler_signals(const struct profiler *p,
    struct profiler_signal_state out[PROFILER_SIGNALS]);

/* The states that they would have here with everything enabled: attaches the
 * kernel's programs and detaches them.  Some tenths of a second; any one
 * thread. */
void profiler_signals_here(struct profiler_signal_state out[PROFILER_SIGNALS]);

/* Whether counters of servers' threads will be opened for new processes, which
 * needs CAP_PERFMON. */
bool profiler_counts(const struct profiler *p);
/* Descriptors that the counters of one server may take. */
#define PROFILER_RATE_DESCRIPTORS 640
/* And with counters that take turns. */
#define PROFILER_COUNTER_DESCRIPTORS 2176

/* Drop permanently the capabilities that only attaching needed, and all others
 * that serving does not need.  launches: servers are started by us; then root
 * keeps everything, because its children may need it.  counts: as
 * profiler_counts says; then CAP_PERFMON is kept, too.  Call it before threads
 * are made: they inherit the rest.  Logs the result. */
void profiler_privileges_drop(bool launches, bool counts);

/* Readable when hazards wait.  Proxy thread; remains the profiler's. */
int profiler_hazard_fd(const struct profiler *p);

/* Take the oldest waiting hazard.  False when there is none; then the eventfd
 * has been emptied.  The proxy thread only.  About 5 ns when empty. */
bool profiler_hazard_take(struct profiler *p, struct hazard *out);

/* Whether requests are in flight.  While none is, the observer rests, unless
 * it spins; until the first call it polls.  With the first one this thread
 * looks at the sources of hazards itself (estimated: 100 ns), so that what has
 * begun by now is there to be taken, and wakes the observer, one system call.
 * Free if nothing has changed; never waits.  The proxy thread. */
void profiler_in_flight(struct profiler *p, bool any);

/* Have the observer read what there is, if it rests: something is about to ask
 * for it.  Proxy thread. */
void profiler_wake(struct profiler *p);

/* The heap of a server's JVM, as its performance page has it: symbol, counter.
 * Its generations' sizes in bytes, and how many young and full collections
 * there have been; one in progress may be counted. */
#define PROFILER_HEAP(X)                                         \
	X(EDEN_USED, "sun.gc.generation.0.space.0.used")         \
	X(EDEN_CAPACITY, "sun.gc.generation.0.space.0.capacity") \
	X(OLD_USED, "sun.gc.generation.1.space.0.used")          \
	X(OLD_CAPACITY, "sun.gc.generation.1.maxCapacity")       \
	X(YOUNG, "sun.gc.collector.0.invocations")               \
	X(FULL, "sun.gc.collector.1.invocations")

enum profiler_heap_word {
#define PROFILER_X(symbol, counter) PROFILER_HEAP_##symbol,
	PROFILER_HEAP(PROFILER_X)
#undef PROFILER_X
	    PROFILER_HEAP_COUNTERS
};

struct profiler_heap {
	bool known;
	bool concurrent; /* it has no pauses that are worth a swap */
	bool exact;	 /* it collects when eden is full, not before */
	bool ordered;	 /* it can carry out profiler_collect */
	enum talechain_cause cause;	       /* of the last collection */
	uint64_t word[PROFILER_HEAP_COUNTERS]; /* bytes, or collections */
};

/* profiler_heap(p, server, out):
 * Copy what the observer saw at most 2 ms ago (16 ms while it rests).  Each
 * word is exact, together they are no snapshot.  The proxy thread; never
 * blocks. */
void profiler_heap(
    const struct profiler *p, unsigned server, struct profiler_heap *out);

#define PROFILER_COLLECT_FULL UINT64_MAX

/* profiler_collect(p, server, bytes):
 * Have a server's JVM collect its young generation now, by filling it with at
 * most so many bytes; PROFILER_COLLECT_FULL: its old one, too; 0: stop that.
 * Whether it does shows in profiler_heap.  Only if that said ordered.  The
 * proxy thread; never blocks, a system call.
 *
 * profiler_load_agents(p, on):
 * Whether our agent may be loaded into JVMs that run without it.  Any
 * thread. */
void profiler_collect(struct profiler *p, unsigned server, uint64_t bytes);
void profiler_load_agents(struct profiler *p, bool on);

/* Source of a server's hazards. */
enum profiler_source {
	PROFILER_SOURCE_NONE,
	PROFILER_SOURCE_PIDFD,
	PROFILER_SOURCE_HSPERFDATA,
	PROFILER_SOURCE_PROBES,
	PROFILER_SOURCE_AGENT,
};

/* Parts of a sweep of the observer: symbol, name, meaning. */
#define PROFILER_PARTS(X)                                           \
	X(ORDERS, "orders", "commands of the attach thread")        \
	X(PAGES, "pages", "performance pages of JVMs")              \
	X(AGENTS, "agents", "words of JVMs' agents")                \
	X(CHANNELS, "channels", "rings of applications and Tailor") \
	X(KERNEL, "kernel", "rings of the kernel")                  \
	X(RATES, "rates", "sampling of rates")                      \
	X(OWN, "own", "its own calibration and accounts")

enum profiler_part {
#define PROFILER_X(symbol, name, meaning) PROFILER_PART_##symbol,
	PROFILER_PARTS(PROFILER_X)
#undef PROFILER_X
	    PROFILER_PART_COUNT
};

#define PROFILER_PERIODS 36 /* the last one holds all from 17 s on */

/* Cost of the observer. */
struct profiler_cost {
	uint64_t timed;			      /* sweeps: one in 1024 */
	uint64_t cycles[PROFILER_PART_COUNT]; /* of all of these */
	/* Sweeps that began less than 2^i ns after the last one, and not less
	 * than half of that. */
	uint64_t period[PROFILER_PERIODS];
	uint64_t periods_ns; /* their sum */
};

/* A copy of the counters; each is exact, together not a snapshot. */
struct profiler_stats {
	uint64_t sweeps;    /* turns of the loop */
	uint64_t events;    /* copied into the stream */
	uint64_t lost;	    /* overwritten before they were read */
	uint64_t torn;	    /* read again because the writer overwrote them */
	uint64_t abandoned; /* left half-written by a dead writer */
	uint64_t rejected;  /* values out of range in a channel */
	uint64_t hazards;   /* posted */
	uint64_t hazards_lost; /* hazard ring full: must stay 0 */
	uint64_t blind;	       /* intervals longer than blind_ns */
	uint64_t blind_ns;     /* their sum */
	uint64_t blind_max_ns;
	struct profiler_cost cost;
	uint64_t cpu_ns; /* CPU time of the observer thread; 0: unknown */
	bool resting;	 /* the observer rests now */
	uint64_t rests;	 /* so far */
	uint64_t wakes;	 /* of these ended by a wake-up */
	uint64_t rates;	 /* RATE events */
	uint64_t rates_dropped; /* periods that were distorted */
	uint64_t stolen_ns;	/* of all CPUs by the host, in ticks */
	unsigned channels;	/* open now */
	uint64_t channels_opened, channels_refused;
	uint64_t kernel_unsampled_ns; /* pauses, sampling.h; planned ones too */
	uint64_t kernel_missed;	      /* events not written: the program was
				  * running, or no ring for the CPU */
	uint64_t kernel_stackless;    /* waits and samples: too many stacks */
	uint64_t kernel_unsummed;     /* epochs whose sums were left out */
	uint64_t kernel_crowded;      /* threads without room in its table */
	uint64_t kernel_unseen;	      /* switches that it did not report */
	/* Processes of servers that are not watched: without room. */
	uint64_t processes_refused;
	struct {
		pid_t pid;	    /* its main process; 0: not found */
		unsigned processes; /* with those it forked */
		unsigned left_out;  /* found beyond PROFILER_PROCESSES */
		char program[16];   /* name of the main one */
		bool reported;	    /* what is observed of it is in the log */
		enum profiler_source source;
		char
		    detail[120]; /* "hsperfdata of OpenJDK 17, G1" or why not */
	} server[PROFILER_SERVERS];
};
void profiler_stats(struct profiler *p, struct profiler_stats *out);

/* "pages" and so on. */
const char *profiler_part_name(enum profiler_part part);
/* "spin", "relax", "sleep". */
const char *profiler_poll_name(enum profiler_poll poll);
/* "scheduler", "tcp" and so on; its meaning. */
const char *profiler_signal_name(enum profiler_signal signal);
const char *profiler_signal_meaning(enum profiler_signal signal);
/* "none", "pidfd", "hsperfdata", "probes", "agent". */
const char *profiler_source_name(enum profiler_source source);
