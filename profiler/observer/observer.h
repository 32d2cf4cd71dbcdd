/* observer.h: the polling thread.
 *
 * One sweep: commands from the attach thread, every hsperfdata page, every
 * agent's state word, then a batch of events from the rings in turn.  The
 * sources of hazards are read in every sweep; rings share a budget of 64 events
 * and 8 checks per sweep, so no busy ring can delay a hazard.
 *
 * While no request is in flight, or nothing but rings is to be read, the
 * observer rests between sweeps, unless its poll mode is to spin; see
 * observer_rest.h.
 *
 * After observer_start everything here belongs to that thread, except what is
 * marked otherwise. */
#pragma once

#include <pthread.h>

#include "profiler/kernel/kernel.h"
#include "profiler/observer/rates.h"
#include "profiler/channels/stall.h"
#include "profiler/options/stats.h"
#include "profiler/observer/observer_rest.h"

/* Channels from outside, our own, and the kernel's. */
#define OBSERVER_CHANNELS (1024 + 16 + KERNEL_CPUS)
#define OBSERVER_BATCH 64
#define OBSERVER_LOOKS 8

#define OBSERVER_COST_EVERY 1024

/* The cost of sweeps, by source.  One sweep in OBSERVER_COST_EVERY is timed
 * piece by piece with the CPU's clock; the others pay one branch for each
 * piece.  Periods are counted in buckets of powers of two.  The times include
 * the timing itself: one reading of the clock, 20 to 40 cycles, for each piece
 * and each ring. */
struct observer_cost {
	bool timing; /* the present sweep is timed */
	uint32_t sweep;
	uint64_t mark;
	struct profiler_cost seen; /* relaxed atomics: any thread reads */
};

struct observer {
	/* constant while it runs */
	enum profiler_poll poll;
	int64_t sleep_ns;
	int64_t rest_ns;  /* the longest rest */
	int64_t quiet_ns; /* longest rest if all is quiet; >= rest_ns */
	int64_t blind_ns;
	int cpu;
	unsigned servers;
	struct kernel *kernel; /* borrowed; NULL: none */
	const int *attach;     /* borrowed eventfd of that thread; NULL: none */
	/* the observer thread's own */
	struct observer_output output;
	struct hazard_state hazards[PROFILER_SERVERS];
	struct stalls stalls;
	struct hsperf_page *page[PROFILER_SERVERS];
	struct hsperf_heap heap[PROFILER_SERVERS]; /* any thread reads */
	struct channel *agent[OBSERVER_CHANNELS];  /* those of kind JVM */
	unsigned agents;
	struct channel *channel[OBSERVER_CHANNELS];
	unsigned channels;
	unsigned apps;		  /* channels of services among them */
	unsigned turn;		  /* the ring to check next */
	unsigned looked;	  /* rings checked since the last rest */
	unsigned read;		  /* events read since the last rest */
	bool behind;		  /* more is waiting: no time to pause */
	uint64_t missed_reported; /* losses of the kernel, as reported */
	struct instant calibrated;
	uint64_t calibrated_cycles;
	struct instant swept; /* when the last sweep began */
	struct instant alert; /* until then its sleeps are short */
	struct pause_edges edges;
	struct rates_watch rates;
	struct observer_cost cost; /* seen: any thread reads */
	/* shared: rings with one writer and one reader each */
	struct command_ring *commands; /* attach thread -> observer */
	struct command_ring *released; /* observer -> attach thread */
	struct observer_rest rest;     /* the proxy thread's, too */
	/* shared: relaxed, or as stated where used */
	uint32_t stop;
	/* the thread that started it */
	pthread_t thread;
	bool running;
};

/* Set where events go, and report the channels that exist.  Call it before
 * observer_start. */
void observer_set_timeline(
    struct observer *o, struct timeline *timeline, struct instant now);

/* Start the thread.  Returns 0 or a negative errno.  Called by the thread that
 * made the profiler. */
int observer_start(struct observer *o);

/* Stop it after a last drain of every ring. */
void observer_stop(struct observer *o);

/* One sweep, for observer_start's loop and for tests. */
void observer_sweep(struct observer *o, struct instant now);

/* How long the next rest may be at most without requests in flight.  The
 * observer thread. */
int64_t observer_longest_ns(const struct observer *o);

/* Do the part of a sweep that finds hazards, if the observer rests.  False: it
 * does not rest.  The proxy thread. */
bool observer_look(struct observer *o);

/* Add a source.  The observer thread, or before it starts.  False: there is no
 * room. */
bool
observer_add_channel(struct observer *o, struct channel *c, struct instant now);

/* --- agent_channel.c, for the observer --- */

/* Read the state word and post changes.  The observer only. */
void agent_channel_sweep(
    struct channel *c, struct hazard_state *hazards, struct instant now);

/* Read the counters when due, and emit JVM_RATES. */
void agent_channel_rates(
    struct channel *c, struct observer_output *o, struct instant now);

/* Remove a channel whose writer is gone from its server's hazard state. */
void agent_channel_leave(
    struct channel *c, struct hazard_state *hazards, struct instant now);
