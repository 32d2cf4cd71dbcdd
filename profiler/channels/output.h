/* output.h: what the observer writes: events of its own, and counters.
 *
 * The observer is channel 0 of the stream.  Its counters are plain words with
 * one writer that any thread may read: relaxed atomics, each exact, together
 * not a consistent snapshot. */
#pragma once

#include "profiler/channels/hazard_ring.h"
#include "talechain/timeline/timeline.h"

#define OUTPUT_CHANNEL 0 /* the observer's own number in the stream */

struct counters {
	uint64_t sweeps, events;
	uint64_t lost, torn, abandoned, rejected, missed;
	uint64_t hazards, hazards_lost;
	uint64_t rates, rates_dropped;
	uint64_t blind, blind_ns, blind_max_ns;
	uint64_t unsampled_ns;
};

/* Add to a counter.  Its writer only. */
static inline void
count_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* The value of a counter.  Any thread. */
static inline uint64_t
count_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

struct observer_output {
	struct timeline *timeline;   /* borrowed */
	struct hazard_ring *hazards; /* borrowed */
	struct counters counters;
	uint64_t sequence; /* events of our own so far */
	uint32_t pid, tid;
};

/* One event of the observer's own. */
struct observer_event {
	enum talechain_type type;
	int server; /* -1: none */
	struct instant at;
	struct instant seen;
	uint64_t arg[4];
};

/* Append an event of the observer's own to the stream.  The observer only. */
void output_emit(struct observer_output *o, const struct observer_event *n);

/* The same for an event of one CPU; -1: of no CPU. */
void output_emit_on(
    struct observer_output *o, const struct observer_event *n, int cpu);

/* Append an event taken from a channel.  The observer only. */
void output_event(struct observer_output *o, const struct talechain_event *e,
    uint32_t channel, int server, struct instant seen);

/* Events of a channel that were lost. */
struct output_gap {
	uint32_t channel;
	int cpu; /* all are of this CPU; -1: not of one */
	uint64_t events;
	enum talechain_loss why;
	/* No lost event lies outside; no begin: that is not known. */
	struct instant begin, end;
};

/* Count lost events and emit META_LOST, which lasts from begin until end. */
void output_lost(
    struct observer_output *o, const struct output_gap *g, struct instant seen);

/* Post a hazard to the proxy and append it to the stream. */
void output_hazard(
    struct observer_output *o, const struct hazard *h, int64_t latency_ns);

/* --- activity.c: classes and methods of a JVM --- */

#define ACTIVITY_PERIOD_NS (2 * NS_PER_MS)
#define ACTIVITY_COMPILE_PERIOD_NS (50 * NS_PER_MS)

struct activity {
	uint64_t classes, compiled; /* values of the last sample */
	uint64_t unreported;	    /* methods compiled, not yet reported */
	struct instant sampled, reported;
	struct instant loaded; /* when classes were last seen to be loaded */
};

/* True if classes were loaded in the last second.  The observer only. */
static inline bool
activity_is_high(const struct activity *a, struct instant now)
{
	return instant_is_set(a->loaded) &&
	       instant_since(now, a->loaded) < NS_PER_S;
}

/* True when a sample is due.  The observer only. */
static inline bool
activity_due(const struct activity *a, struct instant now)
{
	return instant_since(now, a->sampled) >= ACTIVITY_PERIOD_NS;
}

/* Sample the counters of a server (-1: unknown) and emit events that are
 * due. */
void activity_sample(struct activity *a, uint64_t classes, uint64_t compiled,
    int server, struct observer_output *o, struct instant now);
