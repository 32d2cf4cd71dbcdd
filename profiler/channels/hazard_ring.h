/* hazard_ring.h: hazards on their way from the observer to the proxy thread.
 *
 * One writer (the observer), one reader (the proxy thread).  The reader arms
 * the ring when it finds it empty; the writer that fills an armed ring disarms
 * it and writes the eventfd.  So a burst costs the observer at most one system
 * call, and none while the reader keeps up.
 *
 * A full ring loses records, never states.  A word per server has a bit for
 * each hazard now in force; after losses the reader compares it with what was
 * delivered and gets the differences.
 *
 * Cost: about 5 ns to find it empty.  256 records of 32 bytes. */
#pragma once

#include "profiler/options/options.h"
#include "talechain/events/hazard.h"

#define HAZARD_RING_SLOTS 256

struct hazard_ring {
	/* the observer writes */
	uint64_t tail __attribute__((aligned(64)));
	uint64_t wakes; /* writes of the eventfd, done or imminent */
	uint64_t lost;
	uint32_t level[PROFILER_SERVERS]; /* bit per kind: in force now */
	uint64_t since_ns[PROFILER_SERVERS][HAZARD_KIND_COUNT];
	/* the proxy thread writes */
	uint64_t head __attribute__((aligned(64)));
	uint64_t drained;   /* wakes already read from the eventfd */
	uint64_t lost_seen; /* value of lost that level was compared for */
	uint32_t delivered[PROFILER_SERVERS]; /* bit per kind: taken as begun */
	/* both */
	uint32_t armed __attribute__((aligned(64)));
	int fd; /* owned eventfd */
	struct hazard slot[HAZARD_RING_SLOTS] __attribute__((aligned(64)));
};

/* Initialize, empty and armed.  Returns 0 or a negative errno of eventfd. */
int hazard_ring_init(struct hazard_ring *r);
void hazard_ring_fini(struct hazard_ring *r);

/* Post a hazard.  False if the ring was full and only the level was set. */
bool hazard_ring_post(struct hazard_ring *r, const struct hazard *h);

/* Take the oldest hazard.  False: there is none; the ring is armed. */
bool hazard_ring_take(struct hazard_ring *r, struct hazard *out);
