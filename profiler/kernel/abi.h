/* abi.h: what the BPF programs and their loader share.
 *
 * Four pieces of memory, each a map of its own:
 *
 *   config     read only, set before loading: what is compiled out
 *   watch      the servers' processes and our ports; mapped, so following a
 *              restarted server is a plain store
 *   processes  a byte for each process number: whose it is; mapped, too.  Both
 *              sides write it and watch: the programs as processes fork and end
 *   tally      the programs write, we read: losses
 *
 * The events themselves are in channels (talechain.h), one for each CPU.
 * Both sides are built together, so there is no version here. */
#pragma once

#include "profiler/channels/owner.h"

#define KERNEL_THREADS 16384 /* threads of watched processes, all together */
#define KERNEL_PAGE 4096     /* bytes of the table of processes in a value */
#define KERNEL_FLOWS 4096    /* connections known by cookie */
#define KERNEL_NAMES 4096    /* tasks named recently; a power of two */
#define KERNEL_SLOW_NS 50000 /* a softirq this long is always reported */
#define KERNEL_SOFTIRQS 10   /* softirq numbers are below this */
#define KERNEL_NET_TX 2	     /* softirq numbers of the kernel */
#define KERNEL_NET_RX 3

#define KERNEL_STACK_NS 1000000 /* shorter waits and runs have no stack */
#define KERNEL_STACK_FRAMES 12	/* of a stack; a multiple of 3 */
#define KERNEL_STACKS 100	/* written per CPU and 2^30 ns */
#define KERNEL_STACK_LOOKS 1000 /* taken per CPU and 2^30 ns */

#define KERNEL_TAKEN_NS 20000 /* least time taken of a run for an event */

#define KERNEL_PEERS 64		  /* places; a power of two */
#define KERNEL_PEER_TRIES 8	  /* places that a process may have */
#define KERNEL_PEER_SWITCHES 2500 /* to peers, per CPU and 2^30 ns */

#define KERNEL_SUMS_LEAST 2500 /* sums per CPU and s that are always allowed */
#define KERNEL_SUM_LONG 4      /* long epochs exceed the mean by this factor */

struct kernel_config {
	uint64_t slot_mask;   /* slots of a channel - 1 */
	uint64_t page_bytes;  /* bytes of a small page */
	uint32_t huge_order;  /* order of a huge page; 0: there is none */
	uint32_t full;	      /* profile full, not lite */
	uint32_t state_given; /* sched_switch has the state (5.18) */
	uint32_t stacks;      /* record stacks of waits and computing */
	/* EPOCH_SUM events that may be written per CPU and 2^30 ns; half as
	 * many again for long epochs.  0: no sums. */
	uint32_t sums;
	uint32_t pad;
};

enum kernel_peer_state {
	KERNEL_PEER_WATCHED, /* since since_ns, 0: not yet */
	KERNEL_PEER_BUSY,    /* not: its threads switched too often */
	KERNEL_PEER_LEFT,    /* not: no server waited for it lately */
};

/* A process that is no server's, but sent to a server's thread or woke one: its
 * switches and wake-ups are reported from then on.  The programs take places,
 * the loader gives them back. */
struct kernel_peer {
	uint32_t pid; /* 0: a free place */
	uint32_t state;
	uint32_t used; /* 1: a server waited for it since this was set to 0 */
	uint32_t pad;
	uint64_t since_ns;
};

/* member lists the processes of each server, in any order: a place is taken and
 * given back by compare and exchange.  port has a bit for each watched TCP
 * port.  The observer thread is not reported: it sleeps twenty thousand times a
 * second and would fill the stream with its own switches. */
struct kernel_watch {
	uint32_t member[KERNEL_SERVERS][KERNEL_PROCESSES]; /* 0: free */
	uint32_t ignored; /* our thread that sleeps too often to report */
	uint32_t pad;
	uint64_t port[65536 / 64];
	/* A process has one of KERNEL_PEER_TRIES places from its number
	 * on. */
	struct kernel_peer peer[KERNEL_PEERS];
};

/* While paused is not 0, the programs of tasks, segments and faults write
 * nothing (sampling.h).  State that they stored about a task before resumed_ns
 * may be out of date, and is not used.  Nor is that of before unwatched_ns: a
 * task that was unwatched then may be watched again. */
struct kernel_gate {
	uint64_t resumed_ns;   /* when paused became 0, CLOCK_MONOTONIC */
	uint64_t unwatched_ns; /* when living processes were unwatched */
	uint32_t paused;
	uint32_t pad;
};

struct kernel_tally {
	uint64_t ringless;  /* events on a CPU without a channel */
	uint64_t crowded;   /* threads without room in the table */
	uint64_t refused;   /* forked processes without a place */
	uint64_t unseen;    /* switches at which no program was called */
	uint64_t stackless; /* stacks left out as too many */
	uint64_t unsummed;  /* epochs left out: too many, or too long */
	uint64_t strangers; /* waits for a process without a place */
	uint64_t restless;  /* peers that switched too often */
};

_Static_assert(sizeof(struct kernel_gate) == 24, "same on both sides");
_Static_assert(sizeof(struct kernel_config) == 40, "same on both sides");
_Static_assert(
    sizeof(struct kernel_watch) == 4 * KERNEL_SERVERS * KERNEL_PROCESSES + 8 +
				       65536 / 8 + 24 * KERNEL_PEERS,
    "same on both sides");
_Static_assert(KERNEL_MARK_PEER <= KERNEL_MARK_WHOSE, "fits");
_Static_assert((KERNEL_PEERS & (KERNEL_PEERS - 1)) == 0, "a mask");
_Static_assert((KERNEL_NAMES & (KERNEL_NAMES - 1)) == 0, "a mask");
