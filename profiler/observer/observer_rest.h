/* observer_rest.h: the observer's wait while it has nothing to poll.
 *
 * The proxy thread says whether requests are in flight.  While none is, the
 * observer rests in the kernel (ppoll) between sweeps, each time longer, up
 * to OBSERVER_REST_NS, or OBSERVER_REST_QUIET_NS.  observer_rest_wake ends a
 * rest: every wake-up is followed by a whole sweep.  A rest longer than
 * OBSERVER_REST_NS is deep: nothing else ends it, and the first request always
 * does.
 *
 * The observer is calm if no source must be polled: all are rings, which keep
 * what is written, or sources that make a descriptor readable when there is
 * something to read, which ends a rest.  A calm observer rests with requests in
 * flight, too, each time for a few milliseconds at most; the first request ends
 * a rest only if more than that is left of it.  After a rest in which a request
 * began it plans no longer one, so requests that follow each other closely end
 * none.
 *
 * While the observer rests, the proxy thread may borrow the observer's
 * structures and read the sources of hazards itself, because the first request
 * cannot wait for a wake-up.  The proxy thread never waits for the observer; an
 * observer whose rest ends meanwhile waits for the return.
 *
 * While requests are in flight and it polls, nothing here is written. */
#pragma once

#include "base/instant.h"
#include "profiler/options/options.h"

/* The first rest, and the longest one by default.  The rings must hold what a
 * busy machine writes in that time. */
#define OBSERVER_REST_FIRST_NS (1 * NS_PER_MS)
#define OBSERVER_REST_NS (16 * NS_PER_MS)
/* The longest rest without requests in flight, if no pause is in force or about
 * to be, at most OBSERVER_QUIET_EVENTS events were read since the rest before,
 * and no ring is a service's own, which may be small.  Sources that have to be
 * polled are no reason for a shorter one: the first request reads them. */
#define OBSERVER_REST_QUIET_NS (1 * NS_PER_S)
#define OBSERVER_QUIET_EVENTS 2048
/* The longest rest with requests in flight: while a stall is in force, whose
 * end the kernel's events show; if a JVM loads classes, for their counts;
 * otherwise. */
#define OBSERVER_CALM_NS (1 * NS_PER_MS)
#define OBSERVER_CALM_PAGE_NS (2 * NS_PER_MS)
#define OBSERVER_CALM_RINGS_NS (4 * NS_PER_MS)

/* The thread that may touch the observer's structures. */
enum observer_rest_state {
	OBSERVER_SWEEPS, /* the observer */
	OBSERVER_RESTS,	 /* no thread: it may be borrowed, or woken */
	OBSERVER_LENT,	 /* the proxy thread */
};

struct observer_rest {
	/* the proxy thread writes */
	uint32_t idle __attribute__((aligned(64)));
	uint64_t busy_ns; /* when idle last became 0 */
	/* shared */
	uint32_t state; /* enum observer_rest_state */
	uint32_t wakes; /* wake-ups so far */
	int event;	/* owned: an eventfd, readable after a wake-up */
	/* the observer's */
	int64_t wait_ns __attribute__((aligned(64))); /* last rest; 0: none */
	struct instant from, until; /* begin of the rest, and planned end */
	/* A first request from this time on need not end the rest.  The proxy
	 * thread reads it. */
	uint64_t soon_ns;
	uint32_t deep;	       /* 1 during a deep rest; any thread reads */
	uint64_t rests, woken; /* counters, any thread reads */
	uint32_t seen;	       /* wakes when the last rest ended */
	/* Descriptors that end a calm rest, borrowed; -1: none.  stall: of all
	 * servers. */
	int source[PROFILER_SERVERS], stall;
	bool stirred; /* a source of a server ended the last rest */
};

/* Initialize, without a source.  Returns 0 or a negative errno. */
int observer_rest_init(struct observer_rest *r);
void observer_rest_fini(struct observer_rest *r);

/* True while no request is in flight.  Any thread. */
static inline bool
observer_rest_idle(const struct observer_rest *r)
{
	return __atomic_load_n(&r->idle, __ATOMIC_RELAXED) != 0;
}

/* True while Tailor has been idle for some time.  Any thread. */
static inline bool
observer_rest_deep(const struct observer_rest *r)
{
	return __atomic_load_n(&r->deep, __ATOMIC_RELAXED) != 0;
}

/* Set whether requests are in flight.  The proxy thread. */
void
observer_rest_set(struct observer_rest *r, bool in_flight, struct instant now);

/* End the rest, or have the next one end at once.  What the caller wrote
 * before is seen by a whole sweep.  Any thread; one system call if it rests. */
void observer_rest_wake(struct observer_rest *r);

/* Rest, at most longest_ns; with requests in flight at most calm_ns, 0 if the
 * observer is not calm.  True if a wake-up ended a deep rest.  The observer. */
bool
observer_rest(struct observer_rest *r, int64_t longest_ns, int64_t calm_ns);

/* Borrow the observer's structures; false if it does not rest.  Never waits.
 * The proxy thread. */
bool observer_rest_borrow(struct observer_rest *r);
void observer_rest_return(struct observer_rest *r);
