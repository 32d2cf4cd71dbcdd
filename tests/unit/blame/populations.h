/* populations.h: accounts whose truth is known, for tests and the bench.
 *
 * Requests arrive at random; sources add time to them.  The truth of a kind is
 * the same figure over millions of its requests, kept in the table;
 * `make populations` prints it anew. */
#pragma once

#include "blame/blame.h"

enum {
	P_WORK,
	P_GC,
	P_DISK,
	P_LOCK,
	P_RUNQ,
	P_FAULT,
	P_QUEUE,
	P_UNKNOWN,
	P_CAUSES
};
extern const struct blame_cause population_cause[P_CAUSES];

enum source_kind {
	SOURCE_NONE,
	SOURCE_EACH,  /* a request has it with a probability */
	SOURCE_PAUSE, /* all that arrive within it wait for its end */
	SOURCE_BURST, /* times in which requests have it, with a probability */
	SOURCE_DRIFT, /* pauses that become three times as long */
};

struct source {
	enum source_kind kind;
	unsigned cause;
	double every_s;	    /* mean time between pauses, or bursts */
	double burst_s;	    /* length of a burst */
	double probability; /* of a request */
	double length_ms;
};

/* ms */
struct population_truth {
	double q, excess, without;
};

struct population {
	const char *name;
	double p;
	double work_sigma;    /* of its logarithm; the median is 1 ms */
	double report;	      /* share of requests that compute 40 ms */
	double blind;	      /* share of time in which nothing is observed */
	double sampled;	      /* share of the requests below 10 ms; 0: all */
	double fault_with_gc; /* half of the pauses have so much more */
	unsigned watch;	      /* the cause that is looked at */
	struct source source[3];
	struct population_truth truth;
};
#define POPULATIONS 12
extern const struct population population[POPULATIONS];

#define POPULATION_PER_S 200.0

/* n requests of a kind; everything: whether or not it samples.  The caller
 * frees it. */
struct blame_set *population_make(
    const struct population *p, size_t n, uint64_t seed, bool everything);

/* Its figures, from several large ones. */
struct population_truth population_measure(const struct population *p);

/* How often, of tries populations of n requests, the intervals of q and of the
 * excess of the watched cause held the truth, and that of q without it what
 * another population of that size has. */
struct population_held {
	unsigned q, excess, without;
};
struct population_held population_hold(const struct population *p, size_t n,
    unsigned tries, unsigned resamples, bool single);

/* 0 <= x < 1 */
double population_random(uint64_t *seed);
