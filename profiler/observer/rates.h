/* rates.h: rates as RATE events in the stream.
 *
 * Words in memory (a channel's queue, the classes a JVM has loaded) are sampled
 * here: by the observer, within its sweep, without a system call.  Signals that
 * need a system call are sampled by the attach thread (rates_read.h), which
 * sends each rate to the observer as a command.  Both emit at most one event
 * for each signal and period, and only of periods that were not distorted
 * (counters/dte.h); the others are counted.
 *
 * Not here: what a rate means for a request (talechain/), and sampling at the
 * highest rate (shim/).
 *
 * Cost: one comparison in a sweep; once in a period some loads for each channel
 * of a server. */
#pragma once

#include "profiler/channels/channel.h"
#include "profiler/jvm/hsperf_page.h"
#include "profiler/channels/command.h"
#include "profiler/counters/dte.h"

/* Append a rate to the stream.  The observer only. */
void rate_note(struct observer_output *o, const struct rate *r,
    struct instant at, struct instant seen);

#define RATES_IN_MEMORY                                              \
	(1U << TALECHAIN_RATE_QUEUE | 1U << TALECHAIN_RATE_CLASSES | \
	    1U << TALECHAIN_RATE_COMPILED | 1U << TALECHAIN_RATE_HEAP)
#define RATE_WORDS 4   /* queue, classes, compiled, heap */
#define RATE_LOOKS 256 /* channels that are read at most */

/* The words of one server at the last sample. */
struct rate_words {
	bool known;
	struct dte_clock clock;
	struct instant at;
	bool has[RATE_WORDS];
	uint64_t value[RATE_WORDS];
};

struct rates_watch {
	uint32_t signals; /* bit 1 << enum talechain_rate */
	int64_t period_ns;
	struct instant due;
	struct rate_words server[PROFILER_SERVERS];
};

/* The observer's sources of words. */
struct rates_sources {
	struct channel *const *channel;
	unsigned channels;
	struct hsperf_page *const *page; /* one per server, NULL: none */
	const struct hsperf_heap *heap;	 /* one per server */
	unsigned servers;
};

/* Sample the words when due.  The observer only. */
void rates_sweep(struct rates_watch *w, const struct rates_sources *s,
    struct observer_output *o, struct instant now);
