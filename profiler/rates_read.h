/*
 * rates_read.h: rates that only the kernel knows; see rates.h.
 *
 * Counters of a server's threads, clocks of the CPUs: sampled by the attach
 * thread, whose system calls hold up nobody.  Everything here
 * belongs to that thread once it runs.
 *
 * Cost: 1 us or so for each counter of each thread, once in a period;
 * reading one of a thread that runs interrupts its CPU.
 */
#ifndef TAILOR_PROFILER_RATES_READ_H
#define TAILOR_PROFILER_RATES_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/observer_command.h"
#include "profiler/profiler.h"
#include "profiler/shim/dte.h"
#include "profiler/running_median.h"

struct counter;

#define RATE_COUNTERS 4	 /* kinds that are counted of a server */
#define RATE_THREADS 128 /* of a server; with more they are off */
#define RATE_CPUS 64	 /* whose clocks are read */
#define RATE_WHY 200
#define RATE_READ_LEAST_NS (5 * NS_PER_MS) /* the kernel is not asked sooner */

/* One kind of these has a base, and so two counters of each thread. */
_Static_assert(PROFILER_RATE_DESCRIPTORS >= (RATE_COUNTERS + 1) * RATE_THREADS,
    "descriptors of a server's counters");

/* A sum of counters over a sum of others, or over time. */
struct rate_pair {
	struct counter *count, *base; /* owned arrays; base NULL: time */
	unsigned counters;
	bool known; /* there was a sample before */
	struct dte_clock clock;
	struct instant at;
	uint64_t last[2];
	struct running_median usual;
};

struct rates_server {
	pid_t pid; /* whose threads are counted, 0: nobody's */
	struct rate_pair pair[RATE_COUNTERS];
	bool off_logged[TALECHAIN_RATE_END]; /* why it is off has been logged */
};

struct rates_reader {
	uint32_t signals;
	int64_t period_ns;
	struct instant due;
	unsigned servers;
	struct rates_server server[PROFILER_SERVERS];
	struct rate_pair clock[RATE_CPUS];
	unsigned clocks; /* CPUs 0 .. clocks - 1 */
	/* any thread reads: relaxed */
	uint64_t dropped; /* periods that were distorted, or had no room */
};

/*
 * rates_open(r, options):
 * Open what is of the whole machine, while there are privileges, and say
 * once what is on and what is not.  Never fails: what cannot be is off.
 */
void rates_open(struct rates_reader *r, const struct profiler_options *options);
void rates_close(struct rates_reader *r);

/* A server is another process now, 0: none.  name: its own, for the log. */
void rates_server(
    struct rates_reader *r, unsigned server, pid_t pid, const char *name);

/*
 * rates_turn(r, commands, now):
 * Sample what is due and order it to be written.  Returns the time until
 * something is due again, ns; -1: never.  The attach thread.
 */
int64_t rates_turn(
    struct rates_reader *r, struct command_ring *commands, struct instant now);

#endif
