/* stats.h: what a profiler reports of itself and of the servers. */
#pragma once

#include "profiler/options/options.h"

/* Counters of the heap in a JVM's performance page: symbol, name.  Sizes of
 * generations are in bytes; YOUNG and FULL are numbers of collections so far,
 * and may include one in progress. */
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
	bool concurrent; /* no pause of its collector is worth a swap */
	bool mixes;	 /* G1: after marking, it collects in small edens */
	bool ordered;	 /* the JVM can carry out profiler_collect */
	enum talechain_cause cause;	       /* last collection's cause */
	uint64_t word[PROFILER_HEAP_COUNTERS]; /* bytes, or collections */
};

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
	uint64_t timed;			      /* timed sweeps: one in 1024 */
	uint64_t cycles[PROFILER_PART_COUNT]; /* sums of these sweeps */
	/* [i]: sweeps that began at least 2^(i-1) and less than 2^i ns after
	 * the sweep before. */
	uint64_t period[PROFILER_PERIODS];
	uint64_t periods_ns; /* sum of the periods between sweeps */
};

/* Signals of a server that are not seen, as logged: why, and the command or key
 * that changes it ("": nothing does). */
#define PROFILER_MISSES 2

struct profiler_miss {
	const char *what; /* static */
	char why[250], fix[250];
};

/* A copy of the counters; each is exact, together not a snapshot. */
struct profiler_stats {
	uint64_t sweeps;       /* turns of the observer's loop */
	uint64_t attach_turns; /* of the attach thread's */
	uint64_t events;       /* copied into the stream */
	uint64_t lost;	       /* overwritten before they were read */
	uint64_t torn;	    /* read again because the writer overwrote them */
	uint64_t abandoned; /* left half-written by a dead writer */
	uint64_t rejected;  /* events with values out of range */
	uint64_t hazards;   /* posted */
	uint64_t hazards_lost; /* hazard ring full: must stay 0 */
	uint64_t blind;	       /* intervals longer than blind_ns */
	uint64_t blind_ns;     /* sum of these intervals */
	uint64_t blind_max_ns;
	struct profiler_cost cost;
	uint64_t cpu_ns; /* CPU time of the observer thread; 0: unknown */
	bool resting;	 /* the observer rests now */
	uint64_t rests;	 /* rests so far */
	uint64_t wakes;	 /* rests that a wake-up ended */
	uint64_t rates;	 /* RATE events */
	uint64_t rates_dropped; /* periods distorted, or ring full */
	uint64_t stolen_ns;	/* CPU time that the host took, whole ticks */
	unsigned channels;	/* open now */
	uint64_t channels_opened, channels_refused;
	uint64_t kernel_unsampled_ns; /* pauses, to their planned ends */
	uint64_t kernel_missed;	      /* events not written: the program was
				  * running, or no ring for the CPU */
	uint64_t kernel_stackless;    /* stacks left out as too many */
	uint64_t kernel_unsummed;     /* epochs whose sums were left out */
	uint64_t kernel_crowded;      /* threads without room in the table */
	uint64_t kernel_unseen;	      /* switches the kernel did not report */
	/* Maps of compiled code that JVMs wrote on demand, or did not. */
	uint64_t code_maps, code_maps_failed;
	/* Servers' processes that are not watched, for lack of room. */
	uint64_t processes_refused;
	struct {
		pid_t pid;	    /* main process; 0: not found */
		unsigned processes; /* main and forked ones */
		unsigned left_out;  /* those beyond PROFILER_PROCESSES */
		char program[16];   /* name of the main one */
		bool reported;	    /* line server_observed is logged */
		enum profiler_source source;
		char
		    detail[120]; /* "hsperfdata of OpenJDK 17, G1" or why not */
		unsigned misses; /* once they are logged */
		struct profiler_miss miss[PROFILER_MISSES];
	} server[PROFILER_SERVERS];
};

/* "pages" and so on. */
const char *profiler_part_name(enum profiler_part part);
/* "none", "pidfd", "hsperfdata", "probes", "agent". */
const char *profiler_source_name(enum profiler_source source);
