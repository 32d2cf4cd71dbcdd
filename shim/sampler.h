/* sampler.h: samples of several signals at one time.
 *
 * A signal is a number in memory that another thread changes, or a counter of
 * the CPU.  Signals that only grow give rates; a tag is a word that says what
 * is going on (a task, a request, a method) and is read outside the measured
 * window: it belongs to the whole period.
 *
 *	begin  signal 0  signal 1 ...  end  tag      pause      begin ...
 *	|<------- measured ------->|              |<------->|
 *
 * The loop of figure 3.2 of the thesis.  It does not allocate, lock or call the
 * kernel, except for counters that need read(2).
 *
 * Reading a word that has changed takes as long as its line travels from the
 * other CPU.  This time varies, and error correction drops periods whose ends
 * differ in it: many, and all periods of a word that changes about once in
 * each.  So if samples are far enough apart, words are also read before the
 * first clock reading: that fetches the line, and the read between the two
 * clock readings is local.  The value is as good: a word whose line we hold
 * cannot change.  At shorter periods reading ahead distorts the rate: the
 * writer is blocked while the line is here, and catches up later.
 *
 * Cost: two clock readings, and one with each signal. */
#pragma once

#include "profiler/counters/counter.h"
#include "profiler/counters/dte.h"

#define SAMPLER_SIGNALS 8
#define SAMPLER_AHEAD 2000 /* least period to read ahead, cycles */

struct signal {
	char name[48];
	const uint64_t *word;	 /* in memory that outlives the sampler */
	struct counter *counter; /* or an array, summed; borrowed */
	unsigned counters;
	struct counter *minus; /* subtracted: our own share; or NULL */
};

struct shim_sample {
	struct dte_clock clock;
	uint64_t value[SAMPLER_SIGNALS];
	uint64_t tag;
};

struct sampler {
	struct signal signal[SAMPLER_SIGNALS];
	unsigned signals;
	const uint64_t *tag; /* NULL: all samples have tag 0 */
	uint64_t period;     /* cycles between samples; 0: none */
	uint64_t unread;     /* counters that could not be read */
};

/* Take one sample.  The thread that opened the counters. */
void sampler_take(struct sampler *s, struct shim_sample *out);

/* Pause until about s->period cycles after from.  The end of the wait is
 * deliberately irregular, because regular samples are biased samples. */
void sampler_wait(const struct sampler *s, uint64_t from);
