/*
 * abi.h: what the BPF programs and their loader share.
 *
 * Three pieces of memory, each a map of its own:
 *
 *   config    read only, set before loading: what is compiled out
 *   watch     we write, the programs read: processes and ports of ours;
 *             mapped, so following a restarted server is a plain store
 *   tally     the programs write, we read: losses
 *
 * The events themselves are in channels (talechain.h), one for each CPU.
 * Both sides are built together, so there is no version here.
 */
#ifndef TAILOR_PROFILER_KERNEL_ABI_H
#define TAILOR_PROFILER_KERNEL_ABI_H

#include <stdint.h>

#define KERNEL_CPUS 512	     /* CPUs with a number below this are seen */
#define KERNEL_SERVERS 2     /* as PROFILER_SERVERS */
#define KERNEL_THREADS 16384 /* threads of watched processes, all together */
#define KERNEL_FLOWS 4096    /* connections known by cookie */
#define KERNEL_NAMES 4096    /* tasks named recently; a power of two */
#define KERNEL_SLOW_NS 50000 /* a softirq this long is always reported */
#define KERNEL_SOFTIRQS 10   /* softirq numbers are below this */
#define KERNEL_NET_TX 2	     /* softirq numbers of the kernel */
#define KERNEL_NET_RX 3

#define KERNEL_STOLEN_NS 20000 /* less time stolen from a run is left out */

/*
 * A server may be a script and its JVM, so each has two places.
 */
enum kernel_process {
	KERNEL_PROCESS_SELF,
	KERNEL_PROCESS_SERVER, /* first of a pair for each server */
	KERNEL_PROCESSES = KERNEL_PROCESS_SERVER + 2 * KERNEL_SERVERS,
};

struct kernel_config {
	uint64_t slot_mask;   /* slots of a channel - 1 */
	uint64_t page_bytes;  /* of a small page */
	uint32_t huge_order;  /* of a huge page; 0: there is none */
	uint32_t full;	      /* profile full, not lite */
	uint32_t state_given; /* sched_switch has the state (5.18) */
	uint32_t pad;
};

/*
 * seen is a filter: bit tgid % 64 is set for each process, so most other tasks
 * are rejected by one load and one test.  port has a bit for each watched TCP
 * port.  The observer thread is not reported: it sleeps twenty thousand times a
 * second and would fill the stream with its own switches.
 */
struct kernel_watch {
	uint64_t seen;
	uint32_t tgid[KERNEL_PROCESSES]; /* 0: none */
	uint32_t ignored; /* our thread that sleeps too often to report */
	uint64_t port[65536 / 64];
};

struct kernel_tally {
	uint64_t ringless; /* events on a CPU without a channel */
	uint64_t crowded;  /* threads without room in the table */
};

_Static_assert(sizeof(struct kernel_config) == 32, "same on both sides");
_Static_assert(
    sizeof(struct kernel_watch) == 32 + 65536 / 8, "same on both sides");
_Static_assert((KERNEL_NAMES & (KERNEL_NAMES - 1)) == 0, "a mask");

#endif
