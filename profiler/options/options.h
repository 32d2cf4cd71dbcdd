/* options.h: what a profiler observes, and the names of modes and signals. */
#pragma once

#include "base/instant.h"
#include "talechain/talechain.h"

struct counted_epochs;

#define PROFILER_SERVERS 2
#define PROFILER_PROCESSES 256 /* watched processes of a server, at most */

/* Channels open at once: one for each thread of two servers with 200 threads,
 * as Tomcat has.  Each takes a descriptor, which is reserved at the start. */
#define PROFILER_CHANNELS_MAX 512
/* Gaps between two sweeps that are longer are recorded: a shorter one hides no
 * pause that is worth a second copy of a request. */
#define PROFILER_BLIND_NS (1 * NS_PER_MS)

/* Descriptors for a server's counters of rates (rates_read.h), at most. */
#define PROFILER_RATE_DESCRIPTORS 640
/* Descriptors for counters of a server that take turns (epochs.h), at most. */
#define PROFILER_COUNTER_DESCRIPTORS 2176

enum profiler_poll {
	PROFILER_POLL_SPIN,  /* sweep without a pause */
	PROFILER_POLL_RELAX, /* a few pause instructions between sweeps */
	PROFILER_POLL_SLEEP, /* sleep between sweeps */
};

/* Which kernel events are recorded. */
enum profiler_kernel {
	PROFILER_KERNEL_OFF,
	PROFILER_KERNEL_LITE, /* cheap events that explain requests */
	PROFILER_KERNEL_SUMS, /* lite, and sums when events are too many */
	PROFILER_KERNEL_FULL, /* lite, idling and every softirq */
};

/* Groups of kernel events, each on or off as a whole: symbol, name, meaning.
 * A group needs tracepoints that a kernel may lack. */
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
	PROFILER_PROBES_AUTO, /* if nothing better shows collections */
};

/* How a server's JVM is made to collect. */
enum profiler_collect {
	PROFILER_COLLECT_NOT, /* the profiler gives no orders */
	PROFILER_COLLECT_AGENT,
	PROFILER_COLLECT_LOAD, /* the agent, loaded where there is none */
	PROFILER_COLLECT_PERIODIC,
};
/* Argument of profiler_collect: collect the old generation, too. */
#define PROFILER_COLLECT_FULL UINT64_MAX

struct profiler_server {
	char name[32]; /* "": there is none */
	/* Address of the server, to find its process; family 0: do not
	 * search. */
	struct sockaddr_storage address;
	/* Another address where it may listen instead; family 0: none. */
	struct sockaddr_storage other;
	/* The address that it listens on; set even if its process is
	 * assigned.  Family 0: not known. */
	struct sockaddr_storage listens;
	uint16_t port;	 /* TCP port, to identify connections; 0: none */
	bool hsperfdata; /* read the JVM's performance page */
	bool agent;	 /* accept its JVMTI agent's channel */
	enum profiler_collect collect;
	enum profiler_probes probes;
	/* File to probe: a runtime, or a program that contains one or has one
	 * beside it; with AUTO the program that will be started.  NULL: not
	 * known.  Borrowed until profiler_new returns. */
	const char *program;
};

struct profiler_options {
	enum profiler_poll poll;
	int64_t sleep_ns; /* for PROFILER_POLL_SLEEP, > 0 */
	int cpu;	  /* CPU to pin the observer to; -1: none */
	/* channel_socket: its path; NULL: no channels from outside.
	 * channel_link: symbolic link to make to it unless another tailor has
	 * the link, or NULL.  Both borrowed until profiler_start returns. */
	const char *channel_socket, *channel_link;
	unsigned channels_max; /* open at once, 1 .. PROFILER_CHANNELS_MAX */
	int64_t blind_ns;      /* a longer gap between sweeps is recorded */
	enum profiler_kernel kernel; /* events of the kernel */
	bool syscalls;		     /* system calls, too */
	bool stacks;		     /* stacks of waits and of computing */
	unsigned kernel_slot_log2;   /* slots of a CPU's ring: log2, 6 .. 20 */
	unsigned kernel_events;	     /* limit per CPU and s; 0: default */
	const char *proc_stat;	     /* has steal time; NULL: /proc/stat */
	int64_t rest_ns; /* longest rest of an idle observer; 0: 16 ms,
			  * or 1 s where all is quiet */
	uint32_t rates;	 /* signals that are on: bit 1 << enum talechain_rate */
	int64_t rates_period_ns; /* at most one event of each per period */
	uint32_t counters;	 /* set that takes turns: 1 << counter */
	struct counted_epochs *counted; /* borrowed; gets counts; NULL: none */
	unsigned servers;		/* 0 .. PROFILER_SERVERS */
	struct profiler_server server[PROFILER_SERVERS];
};

/* "spin", "relax", "sleep". */
const char *profiler_poll_name(enum profiler_poll poll);
/* The name of a signal, such as "scheduler" or "tcp"; and its meaning. */
const char *profiler_signal_name(enum profiler_signal signal);
const char *profiler_signal_meaning(enum profiler_signal signal);
