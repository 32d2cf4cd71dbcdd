/* counter_set.h: some counters of each thread of a server, added up.
 *
 * Counters belong to threads, not processes: each thread found gets one counter
 * for each source; threads that it starts inherit them.  The attach thread
 * only. */
#pragma once

#include "profiler/counters/counter.h"
#include "profiler/processes/finder.h"

#define RATE_THREADS 128 /* of a server; with more, it has no counters */
#define RATE_WHY 200

struct counter_set {
	struct counter *counter; /* owned: all sources, thread by thread */
	unsigned threads, sources;
};

/* Open counters of all threads of some processes; a thread that has ended is no
 * failure.
 *   event  each source's name; NULL: the source is not counted and has no sum
 * Returns 0, or a negative errno with why (RATE_WHY) and nothing open. */
int counter_set_open(struct counter_set *s, const struct family *family,
    const char *const *event, unsigned sources, char *why);
void counter_set_close(struct counter_set *s);

/* The sum of a source over all threads.  False: a counter cannot be read, or
 * there are no threads. */
bool
counter_set_sum(const struct counter_set *s, unsigned source, uint64_t *sum);

/* Switch a source on or off in all threads. */
void counter_set_switch(const struct counter_set *s, unsigned source, bool on);
