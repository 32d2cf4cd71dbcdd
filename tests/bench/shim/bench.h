/* bench.h: the accuracy and cost of sampling on this machine.
 *
 * The experiments of chapter 3 of the thesis that need no particular hardware,
 * on two CPUs, each a function of our own workload: the same curves, with the
 * thesis's figures beside them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/histogram.h"

#define BENCH_POINTS 24
#define BENCH_LINES 3
#define BENCH_PIECES 40 /* pieces of a run, about */

struct bench_options {
	int producer_cpu, observer_cpu; /* must differ */
	int64_t piece_ns; /* of each point of each curve, 1 ms .. 1 h */
};

/* Cost for the observed thread at one sampling period (figure 3.9). */
struct bench_cost {
	unsigned work, pause;  /* as set: additions; cycles between samples */
	double produce_cycles; /* between two changes, unobserved */
	double observe_cycles; /* between two samples, measured */
	double fresh_cycles;   /* between two new values */
	double overhead;       /* 0.02 = the producer took 2 % longer */
	double low, high;      /* quartiles of that over the pairs */
	unsigned pairs;	       /* of windows; 0: no result */
	unsigned dropped;      /* dropped: a thread was preempted */
};

/* Words that samples are taken of. */
enum bench_word {
	BENCH_FAST,  /* written every few cycles */
	BENCH_SLOW,  /* every few thousand */
	BENCH_STILL, /* never */
	BENCH_WORDS
};

/* Raw and filtered samples at one period (figure 3.4); all but kept is for the
 * fast word. */
struct bench_fidelity {
	double period_cycles;
	double kept[BENCH_WORDS]; /* part, 0 .. 1 */
	double truth;		  /* changes per cycle, by the producer */
	double measured;	  /* the same by the kept samples, mean */
	double raw_max, kept_max;
	double cpc_max;
	uint64_t samples;	 /* 0: no result */
	uint64_t impossible_raw; /* over 1.5 times the fastest alone */
	uint64_t impossible_kept;
};

/* Two loops distinguished by a tag (figure 3.1). */
struct bench_tags {
	double every_ns; /* between samples; 0: all */
	double truth[2],
	    measured[2]; /* changes per cycle by tag; 0 never seen */
	uint64_t samples;
};

struct bench_result {
	double hz;	   /* of the clock */
	double clock_step; /* what its readings are multiples of */
	/* travel time of a line between the CPUs: before, between, after */
	double line_cycles[BENCH_LINES];
	bool siblings; /* the two CPUs are lanes of one core */
	struct bench_cost cost[BENCH_POINTS];
	struct bench_cost counted; /* with three counters read as well */
	bool has_pmu;
	char counters[160];	/* names, and how they are read; "": none */
	char counters_why[320]; /* why these, if there is no PMU */
	struct bench_fidelity fidelity[BENCH_POINTS];
	struct bench_tags tags[3];
	unsigned costs, fidelities;
	double quiet_cycles; /* shortest period of a constant word */
	double fastest;	     /* changes per cycle, undisturbed (figure 3.4) */
	/* as fast as possible (figures 3.4 and 3.5) */
	struct histogram period, gap, rate_raw, rate_kept, cpc;
	uint64_t pushed; /* preemptions of the observer or workload */
	uint64_t windows,
	    windows_dropped; /* of rates; dropped for preemption */
	double took_s;
};

/* Run everything, about options->piece_ns * BENCH_PIECES.
 *   progress  called with what is measured now and 0 .. 100; may be NULL
 * Returns 0, -EINVAL (piece_ns), or a negative errno of threads or pinning.
 * Blocks; the calling thread is the observer and stays pinned. */
int bench_run(struct bench_result *out, const struct bench_options *options,
    void (*progress)(const char *what, unsigned percent));

/* Print text of 80 columns. */
void bench_print(const struct bench_result *r);

/* Write the curves as SVG files into an existing directory, over those of an
 * earlier run.  Returns 0, or a negative errno and in why (size bytes) the
 * file. */
int bench_plots(const struct bench_result *r, const char *directory, char *why,
    size_t size);
