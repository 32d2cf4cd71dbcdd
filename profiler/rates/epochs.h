/* epochs.h: counters that take turns, one set each second.
 *
 * A CPU has few counters, so the configured ones are divided into sets, and
 * each epoch of a second counts one set, for all servers alike.  Instructions,
 * by which most counts are divided, and the kernel's counters, which need no
 * hardware, are in every set.  When all sets had their turn, the counters are
 * shuffled, so that each pair is counted together in some epochs: only those
 * show whether one counter includes, or causes, another.  Counts go to
 * counted_epochs.
 *
 * This part chooses the set and turns sums into counts; epochs_read.h reads the
 * sums from the kernel.  One thread: the attach thread. */
#pragma once

#include <stdbool.h>

#include "talechain/events/counters.h"

#define EPOCH_NS NS_PER_S
#define EPOCH_SET 3 /* counters, beside instructions: a CPU has 4 or more */
/* The sources of counts: each counter, and CPU time. */
#define EPOCH_CPU_TIME TALECHAIN_COUNTER_COUNT
#define EPOCH_SOURCES (TALECHAIN_COUNTER_COUNT + 1)
/* Instructions or CPU time below these are too few for a ratio. */
#define EPOCH_INSTRUCTIONS_LEAST 1000000
#define EPOCH_CPU_LEAST_NS NS_PER_MS

/* Functions that switch and read counters.  A sum only grows while its source
 * is on. */
struct epoch_hardware {
	void *user;
	/* Switch these sources (bit 1 << source) on, and all others off. */
	void (*set)(void *user, uint32_t sources);
	/* Get a source's sum over all threads of a server, ever.  False: not
	 * known. */
	bool (*read)(
	    void *user, unsigned server, unsigned source, uint64_t *sum);
};

struct epochs {
	uint32_t always; /* sources of each set; 0: nothing counts */
	uint32_t set;	 /* sources of this epoch */
	uint8_t order[TALECHAIN_COUNTER_COUNT]; /* counters not in always */
	unsigned others, next;
	uint64_t epochs; /* number of epochs begun */
	struct epoch_hardware hardware;
	struct counted_epochs *out; /* borrowed */
	bool counting;
	struct instant begin;
	unsigned generation[COUNTED_SERVERS]; /* at the begin of the epoch */
	uint32_t known[COUNTED_SERVERS];      /* sources with a valid first */
	uint64_t first[COUNTED_SERVERS][EPOCH_SOURCES];
};

/* Let counters (bit 1 << enum talechain_counter) take turns. */
void epochs_init(struct epochs *e, uint32_t counters,
    const struct epoch_hardware *hardware, struct counted_epochs *out);

/* Number of epochs until each counter has had its turn; 0: nothing counts. */
unsigned epochs_sets(const struct epochs *e);

/* End the epoch and begin the next one, if it is time.
 *   generation  a number for each server: if it changes during an epoch, the
 *               sums are of other threads, and the server gets no counts
 * Returns the time until the next turn, ns; -1: never. */
int64_t epochs_turn(struct epochs *e, unsigned servers,
    const unsigned *generation, struct instant now);
