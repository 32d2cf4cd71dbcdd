/*
 * sampler.h: one sample of several signals at one moment, as often as wanted.
 *
 * A signal is a number in memory that somebody else changes, or a counter of
 * the CPU.  Signals that only grow give rates; a tag is a word that says what
 * is going on (a task, a request, a method) and is read outside the measured
 * window: it belongs to the whole period.
 *
 *	begin  signal 0  signal 1 ...  end  tag      pause      begin ...
 *	|<------- measured ------->|              |<------->|
 *
 * The loop of figure 3.2 of the thesis.  It does not allocate, lock or call
 * the kernel, but for counters that can only be read with read(2).
 *
 * Cost: two clock readings, and one with each signal.
 */
#ifndef TAILOR_PROFILER_SHIM_SAMPLER_H
#define TAILOR_PROFILER_SHIM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/shim/counter.h"
#include "profiler/shim/dte.h"

#define SAMPLER_SIGNALS 8

struct signal {
	char name[48];
	const uint64_t *word;	 /* in memory that outlives the sampler */
	struct counter *counter; /* or a counter; borrowed */
	struct counter *minus;	 /* less this one: our own share; or NULL */
};

struct sample {
	struct dte_clock clock;
	uint64_t value[SAMPLER_SIGNALS];
	uint64_t tag;
};

struct sampler {
	struct signal signal[SAMPLER_SIGNALS];
	unsigned signals;
	const uint64_t *tag; /* NULL: all samples have tag 0 */
	uint64_t unread;     /* counters that could not be read */
};

/* Take one sample.  The thread that opened the counters. */
void sampler_take(struct sampler *s, struct sample *out);

/*
 * sampler_wait(from, period):
 * Pause until period cycles after from, roughly: the way the wait ends is
 * not made regular, because regular samples are biased samples.  0: at once.
 */
void sampler_wait(uint64_t from, uint64_t period);

#endif
