/* iteration.h: one iteration's plan and its raw record.
 *
 * Made before the iteration by the main thread, filled in by the sender
 * thread, read by the main thread after it has joined the sender.  While the
 * sender runs the main thread may look at `progress` only. */
#pragma once

#include <stdatomic.h>

#include "loadgen/send/plan.h"
#include "loadgen/send/sample.h"

/* Written by the sender, read by any thread, any time. */
struct progress {
	_Atomic size_t sent;	 /* measured requests */
	_Atomic size_t finished; /* of those, successes and failures */
	/* [0 .. ok) of the arrays are final: stored before ok, with release. */
	_Atomic size_t ok;
	int64_t *latency_ns; /* owned */
	uint32_t *number;    /* owned; of the same requests, from 1 */
};

/* Longest time in which the sender's CPU did something else. */
struct hiccups {
	int64_t spin_max_ns;  /* between two clock reads of a spinning loop */
	int64_t pause_max_ns; /* a 1 ms timer's lateness between iterations */
};

struct iteration {
	unsigned index; /* from 1 */
	uint64_t seed;
	size_t warmup;	    /* how many samples, the first, do not count */
	size_t requests;    /* samples after them */
	int64_t *offset_ns; /* owned; due times, warm-up and measured */
	struct request_sample *samples; /* owned; warmup + requests of them */

	/* filled in by the sender */
	struct instant begin;  /* the schedule's zero */
	struct instant origin; /* zero of the measured requests' schedule */
	size_t max_in_flight;
	uint32_t opened;      /* connections, those in advance included */
	uint32_t unsolicited; /* idle connections on which bytes came */
	bool interrupted;
	bool clock_stepped;  /* so the kernel's stamps were thrown away */
	_Atomic bool tailor; /* a response came through a Tailor */
	struct hiccups hiccups;
	int64_t cpu_ns;	 /* CPU time of the sender thread */
	int64_t wall_ns; /* from begin to the last response */
	long involuntary_switches;
	struct progress progress;
};

/* Allocate the arrays.  Returns 0 or -ENOMEM. */
int iteration_init(struct iteration *it, const struct plan *plan);
void iteration_fini(struct iteration *it);

/* Make it the given iteration, unsent; computes its schedule. */
void
iteration_plan(struct iteration *it, const struct plan *plan, unsigned index);

/* The measured samples, it->requests of them. */
static inline struct request_sample *
iteration_measured(const struct iteration *it)
{
	return it->samples + it->warmup;
}
