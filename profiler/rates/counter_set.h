/* counter_set.h: some counters of each thread of a server, added up.
 *
 * Counters belong to threads, not processes: each thread found gets one of each
 * source, which threads it starts inherit.  The attach thread only. */
#pragma once

#include "profiler/counters/counter.h"
#include "profiler/processes/finder.h"

#define RATE_THREADS 128 /* of a server; with more, counters are off */
#define RATE_WHY 200

struct counter_set {
	struct counter *counter; /* owned: of each thread all sources */
	unsigned threads, sources;
};

/* Open counters of all threads of some processes; a thread that has ended is no
 * failure.
 *   event  the name of each source; NULL: it has none, and no sum
 * Returns 0, or a negative errno with why (RATE_WHY) and nothing open. */
int counter_set_open(struct counter_set *s, const struct family *family,
    const char *const *event, unsigned sources, char *why);
void counter_set_close(struct counter_set *s);

/* The sum of a source over all threads.  False: one of them cannot be read, or
 * there is none. */
bool
counter_set_sum(const struct counter_set *s, unsigned source, uint64_t *sum);

/* Stop a source counting, or let it go on. */
void counter_set_switch(const struct counter_set *s, unsigned source, bool on);
