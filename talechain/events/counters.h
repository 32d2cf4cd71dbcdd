/* counters.h: counters of the CPU and the kernel that take turns, and what they
 * counted.
 *
 * A CPU counts a few kinds of events at once.  So time is divided into epochs
 * of a second, and in each one set of counters is on, the same for all servers
 * (VarMRI's way).  What a server's threads did in an epoch is kept for the
 * latest epochs, to be found by the time of a request.  A value is of a server
 * in an epoch, not of a request.
 *
 * One thread adds, any thread reads; a lock is held for a few loads. */
#pragma once

#include "base/instant.h"

#include <pthread.h>

/* The divisor of a count. */
enum talechain_per {
	TALECHAIN_PER_SECOND,	    /* millions per second */
	TALECHAIN_PER_CPU_SECOND,   /* per second of the server's CPU time */
	TALECHAIN_PER_INSTRUCTIONS, /* per 1000 instructions */
};

/* Groups in order of cause: an earlier one may cause a later one. */
enum talechain_counter_group {
	TALECHAIN_GROUP_NONE,
	TALECHAIN_GROUP_INST,
	TALECHAIN_GROUP_CACHE,
	TALECHAIN_GROUP_CYCLE,
};

/* Columns: symbol, code, the event's name (libpfm4), divisor, group, and
 * parent: the counter that includes this one.  The kernel's own have group
 * NONE. */
#define TALECHAIN_COUNTERS(X)                                                  \
	X(INSTRUCTIONS, "instructions", "instructions", SECOND, INST, NONE)    \
	X(BRANCHES, "branches", "branches", INSTRUCTIONS, INST, NONE)          \
	X(BRANCH_MISSES, "branch_misses", "branch-misses", INSTRUCTIONS, INST, \
	    BRANCHES)                                                          \
	X(CACHE_REFERENCES, "cache_references", "cache-references",            \
	    INSTRUCTIONS, CACHE, NONE)                                         \
	X(CACHE_MISSES, "cache_misses", "cache-misses", INSTRUCTIONS, CACHE,   \
	    CACHE_REFERENCES)                                                  \
	X(L1D_MISSES, "l1d_misses", "L1-dcache-load-misses", INSTRUCTIONS,     \
	    CACHE, NONE)                                                       \
	X(L1I_MISSES, "l1i_misses", "L1-icache-load-misses", INSTRUCTIONS,     \
	    CACHE, NONE)                                                       \
	X(LLC_MISSES, "llc_misses", "LLC-load-misses", INSTRUCTIONS, CACHE,    \
	    CACHE_MISSES)                                                      \
	X(DTLB_MISSES, "dtlb_misses", "dTLB-load-misses", INSTRUCTIONS, CACHE, \
	    NONE)                                                              \
	X(ITLB_MISSES, "itlb_misses", "iTLB-load-misses", INSTRUCTIONS, CACHE, \
	    NONE)                                                              \
	X(CYCLES, "cycles", "cycles", INSTRUCTIONS, CYCLE, NONE)               \
	X(STALLS_FRONTEND, "stalls_frontend", "stalled-cycles-frontend",       \
	    INSTRUCTIONS, CYCLE, CYCLES)                                       \
	X(STALLS_BACKEND, "stalls_backend", "stalled-cycles-backend",          \
	    INSTRUCTIONS, CYCLE, CYCLES)                                       \
	X(FAULTS, "faults", "page-faults", CPU_SECOND, NONE, NONE)             \
	X(MAJOR_FAULTS, "major_faults", "major-faults", CPU_SECOND, NONE,      \
	    FAULTS)                                                            \
	X(MIGRATIONS, "migrations", "cpu-migrations", CPU_SECOND, NONE, NONE)

enum talechain_counter {
#define TALECHAIN_X(symbol, code, event, per, group, parent) \
	TALECHAIN_COUNTER_##symbol,
	TALECHAIN_COUNTERS(TALECHAIN_X)
#undef TALECHAIN_X
	    TALECHAIN_COUNTER_COUNT,
	TALECHAIN_COUNTER_NONE = -1,
};

/* A row of TALECHAIN_COUNTERS.  Static text. */
struct talechain_counter_kind {
	const char *code, *event; /* "dtlb_misses", "dTLB-load-misses" */
	enum talechain_per per;
	enum talechain_counter_group group;
	int parent; /* enum talechain_counter */
};
const struct talechain_counter_kind *talechain_counter_kind(unsigned counter);

/* "per 1000 instructions".  Static text. */
const char *talechain_counter_unit(unsigned counter);

/* The counter with a code, or TALECHAIN_COUNTER_NONE. */
int talechain_counter_find(const char *code);

#define COUNTED_SERVERS 2
#define COUNTED_EPOCHS 64 /* kept: about a minute */

/* Counts of one server in one epoch, in thousandths of the unit. */
struct counted {
	uint32_t counters; /* bit 1 << counter: it was counted */
	uint64_t milli[TALECHAIN_COUNTER_COUNT];
};

struct counted_epoch {
	struct instant begin, end;
	struct counted server[COUNTED_SERVERS];
};

/* The latest epochs, in order of time. */
struct counted_epochs {
	pthread_mutex_t lock;
	uint32_t on;	/* counters that are ever counted here; 0: none */
	uint64_t added; /* ever */
	struct counted_epoch epoch[COUNTED_EPOCHS];
};

/* Set up without any epochs; release.  No other thread may use *e then. */
void counted_init(struct counted_epochs *e);
void counted_fini(struct counted_epochs *e);

/* Set which counters take turns: bits 1 << counter. */
void counted_on(struct counted_epochs *e, uint32_t counters);

/* Add an epoch, later than all others. */
void counted_add(struct counted_epochs *e, const struct counted_epoch *epoch);

/* Copy the counts of a server in the epoch of an instant; none if they are not
 * known.  False: the epoch may not be over, so try again later. */
bool counted_find(struct counted_epochs *e, struct instant at, int server,
    struct counted *out);
