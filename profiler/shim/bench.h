/*
 * bench.h: how good the microscope is on this machine.
 *
 * The experiments of chapter 3 of the thesis that need no particular
 * hardware, on two CPUs, each a pure function of a workload of ours: the same
 * curves, with the thesis's figures beside them.
 */
#ifndef TAILOR_PROFILER_SHIM_BENCH_H
#define TAILOR_PROFILER_SHIM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"

#define BENCH_POINTS 16

struct bench_options {
	int producer_cpu, observer_cpu; /* different ones */
	int64_t slice_ns;		/* of one measurement, 1 ms .. 10 s */
	unsigned rounds; /* pairs per point, 1 .. 1000; medians are told */
};

/* One observed period against the cost for the observed (figure 3.9). */
struct bench_cost {
	double produce_cycles; /* between two changes, undisturbed */
	double observe_cycles; /* between two looks, measured */
	double overhead;       /* 0.02 = the producer took 2 % longer */
	double low, high;      /* quartiles over the rounds */
};

/* Raw against filtered samples at one period (figure 3.4). */
struct bench_fidelity {
	double period_cycles;
	double kept;  /* part, 0 .. 1 */
	double truth; /* changes per cycle, by the producer */
	double raw_max, kept_max;
	double cpc_max;
	uint64_t samples;
	uint64_t impossible_raw; /* over 1.5 times the fastest alone */
	uint64_t impossible_kept;
};

/* Two loops told apart, or not (figure 3.1). */
struct bench_tags {
	double every_ns;	  /* between samples: 0 all */
	double truth[2], told[2]; /* changes per cycle by tag; 0 never seen */
	uint64_t samples;
};

struct bench_result {
	double hz;	     /* of the clock */
	double coherence_ns; /* a line from one CPU to the other */
	struct bench_cost cost[BENCH_POINTS];
	struct bench_fidelity fidelity[BENCH_POINTS];
	struct bench_tags tags[3];
	unsigned costs, fidelities;
	double finest_cycles;	    /* shortest period reached for one signal */
	double finest_quiet_cycles; /* the same where nobody writes it */
	struct histogram period, gap; /* as fast as possible (figure 3.5) */
	uint64_t pushed; /* times that others pushed one of us off its CPU */
	double took_s;
};

/*
 * bench_run(out, options, progress):
 * Run everything, about options->slice_ns * rounds * 40.
 *   progress  called with what is measured now and 0 .. 100; may be NULL
 * Returns 0, or a negative errno of threads or pinning.  Blocks; the calling
 * thread is the observer and stays pinned.
 */
int bench_run(struct bench_result *out, const struct bench_options *options,
    void (*progress)(const char *what, unsigned percent));

/* Text of 80 columns, or JSON (schema tailor.shim-bench/1), to a stream. */
struct json;
void bench_print(const struct bench_result *r);
void bench_json(const struct bench_result *r, struct json *out);

#endif
