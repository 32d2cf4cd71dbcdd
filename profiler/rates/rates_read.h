/* rates_read.h: rates from counters that need system calls; see rates.h.
 *
 * Counters of a server's threads and clocks of the CPUs, sampled by the attach
 * thread, which may block.  Everything here belongs to that thread once it
 * runs.
 *
 * Cost: about 1 us for each counter of each thread, once in a period; reading
 * one of a running thread interrupts its CPU. */
#pragma once

#include "profiler/channels/command.h"
#include "profiler/options/options.h"
#include "profiler/counters/dte.h"
#include "profiler/rates/counter_set.h"

#define MEDIAN_OCTAVES 24 /* values from 1 to 2^24 - 1 */
#define MEDIAN_STEPS 16	  /* buckets of an octave */
#define MEDIAN_LEAST 64	  /* values needed for a median */
#define MEDIAN_MOST 4096

/* Median of the values added so far; old ones count less and less
 * (running_median.c). */
struct running_median {
	uint32_t count;
	uint16_t bucket[MEDIAN_OCTAVES * MEDIAN_STEPS];
};

/* Add a value; 0 and values out of range are ignored. */
void running_median_add(struct running_median *u, uint64_t value);

/* The median, within 1/32 of it; 0 with fewer than MEDIAN_LEAST values. */
uint64_t running_median_value(const struct running_median *u);

#define RATE_COUNTERS 4 /* kinds counted for a server */
#define RATE_CPUS 64	/* CPUs whose clocks are read */
#define RATE_READ_LEAST_NS \
	(5 * NS_PER_MS) /* shortest period with system calls */

/* One of the kinds has a base, so it needs two counters of each thread. */
_Static_assert(PROFILER_RATE_DESCRIPTORS >= (RATE_COUNTERS + 1) * RATE_THREADS,
    "descriptors of a server's counters");

/* A rate: a sum of counters over a sum of other counters, or over time. */
struct rate_pair {
	struct counter_set set; /* counters, then those of the base, if any */
	bool known;		/* last is valid */
	struct dte_clock clock;
	struct instant at;
	uint64_t last[2];
	struct running_median usual;
};

struct rates_server {
	unsigned searched; /* value whose processes are counted */
	struct rate_pair pair[RATE_COUNTERS];
	bool off_logged[TALECHAIN_RATE_END]; /* why it is off is logged */
};

struct rates_reader {
	uint32_t signals;
	int64_t period_ns;
	struct instant due;
	unsigned servers;
	struct rates_server server[PROFILER_SERVERS];
	struct rate_pair clock[RATE_CPUS];
	unsigned clocks; /* CPUs 0 .. clocks - 1; offline ones have none */
	/* any thread reads: relaxed */
	uint64_t dropped; /* periods distorted, or lost to a full ring */
};

/* Open the counters of the whole machine while there are privileges, and log
 * once what is on and what is not.  Never fails: what cannot be opened is
 * off. */
void rates_open(struct rates_reader *r, const struct profiler_options *options);
void rates_close(struct rates_reader *r);

/* Count the processes of a family, and those that they fork.
 *   searched  a number that changes when the family has got processes that no
 *             other of its processes forked; if unchanged, nothing is done
 *   name      the server's, for the log */
void rates_server(struct rates_reader *r, unsigned server,
    const struct family *family, unsigned searched, const char *name);

/* Sample what is due and send the rates to the observer.  Returns the time
 * until something is due, ns; -1: never.  The attach thread. */
int64_t rates_turn(
    struct rates_reader *r, struct command_ring *commands, struct instant now);
