/* epochs.h: counters that take turns, one set each second.
 *
 * A CPU has few counters, so what is asked for is divided into sets, and each
 * epoch of a second counts one set, for all servers alike.  Instructions, by
 * which most are divided, and counters of the kernel, which need no hardware,
 * are in every set.  When all had their turn they are shuffled, so that each
 * pair is counted together in some epochs: whether one includes, or causes, the
 * other can be seen only there.  What was counted goes to counted_epochs.
 *
 * Here is which set is on when, and what the differences mean; epochs_read.h
 * has the kernel's counters.  One thread: the attach thread. */
#pragma once

#include <stdbool.h>

#include "talechain/events/counters.h"

#define EPOCH_NS NS_PER_S
#define EPOCH_SET 3 /* beside instructions: a CPU has four or more */
/* The sources of counts: each counter, and CPU time. */
#define EPOCH_CPU_TIME TALECHAIN_COUNTER_COUNT
#define EPOCH_SOURCES (TALECHAIN_COUNTER_COUNT + 1)
/* Instructions or CPU time below these are too few for a ratio. */
#define EPOCH_INSTRUCTIONS_LEAST 1000000
#define EPOCH_CPU_LEAST_NS NS_PER_MS

/* Counters as they are switched and read; sums only grow while a source is
 * on. */
struct epoch_hardware {
	void *user;
	/* Sources that are on from now on, bit 1 << source. */
	void (*set)(void *user, uint32_t sources);
	/* Of all threads of a server, ever.  False: not known. */
	bool (*read)(
	    void *user, unsigned server, unsigned source, uint64_t *sum);
};

struct epochs {
	uint32_t always; /* sources of each set; 0: nothing counts */
	uint32_t set;	 /* sources of this epoch */
	uint8_t order[TALECHAIN_COUNTER_COUNT]; /* of the others */
	unsigned others, next;
	uint64_t epochs; /* begun */
	struct epoch_hardware hardware;
	struct counted_epochs *out; /* borrowed */
	bool counting;
	struct instant begin;
	unsigned generation[COUNTED_SERVERS]; /* when it began */
	uint32_t known[COUNTED_SERVERS];      /* sources with a first sum */
	uint64_t first[COUNTED_SERVERS][EPOCH_SOURCES];
};

/* Let counters (bit 1 << enum talechain_counter) take turns. */
void epochs_init(struct epochs *e, uint32_t counters,
    const struct epoch_hardware *hardware, struct counted_epochs *out);

/* Number of epochs until each counter has had its turn; 0: nothing counts. */
unsigned epochs_sets(const struct epochs *e);

/* An epoch ends and the next begins, if it is time.
 *   generation  of each server: if it changed in an epoch, its sums are of
 *               other threads, and nothing is known of it
 * Returns the time until the next turn, ns; -1: never. */
int64_t epochs_turn(struct epochs *e, unsigned servers,
    const unsigned *generation, struct instant now);
