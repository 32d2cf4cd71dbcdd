/* workload.h: a workload with known rates.
 *
 * A thread on a CPU of its own that changes a signal at a known rate: the
 * producer of figure 3.8 of the thesis, or two loops in turn with a tag that
 * says which.  It counts how often it really changed the signal in how many
 * cycles, by tag. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#define WORKLOAD_LOOPS 2

/* One loop: changes the signal, then does this much other work. */
struct workload_loop {
	unsigned work; /* additions in a row, about a cycle each */
};

/* True counts of a loop. */
struct workload_truth {
	uint64_t changes;
	uint64_t cycles;
};

struct workload {
	/* read by others: each in cache lines of its own */
	_Alignas(128) uint64_t signal; /* grows by one */
	_Alignas(128) uint64_t tag;    /* 1 + the running loop */
	_Alignas(128) uint32_t stop;
	/* constant while it runs */
	_Alignas(128) struct workload_loop loop[WORKLOAD_LOOPS];
	unsigned loops;	      /* 1 or 2 */
	uint64_t turn_cycles; /* how long each of two runs at a time */
	int cpu;
	pthread_barrier_t ready;
	pthread_t thread;
	_Alignas(128) struct workload_truth truth[WORKLOAD_LOOPS];
	/* after the end */
	uint64_t pushed; /* preemptions over all runs */
};

/* Run it; loop, loops and turn_cycles are set before.  Returns when the thread
 * runs on its CPU: 0, or a negative errno. */
int workload_start(struct workload *w, int cpu);

/* End it; the counts are complete then. */
void workload_stop(struct workload *w);

/* Counts of loop i up to its last complete turn; also while it runs. */
struct workload_truth workload_truth(const struct workload *w, unsigned i);

/* How often the calling thread was preempted so far. */
uint64_t workload_pushed(void);

/* n additions in a row: work that needs no memory, about a cycle each. */
static inline void
workload_work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__asm__ volatile("" ::"r"(i));
}

/* Put the calling thread on a CPU.  0 or a negative errno. */
int workload_pin(int cpu);
