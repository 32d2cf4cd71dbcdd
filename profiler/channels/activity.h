/* activity.h: when a JVM loads classes and compiles methods, out of two
 * counters that only grow.
 *
 * One JVM_RATES event for each interval in which classes were loaded, so a
 * timeline shows within two milliseconds when a JVM was busy with them.
 * Compiled methods without classes, which occur all the time, are reported at
 * most every 50 ms.  A counter that decreases is ignored.
 *
 * Cost: one comparison a sweep, and two loads each 2 ms. */
#pragma once

#include "base/instant.h"

struct observer_output;

#define ACTIVITY_PERIOD_NS (2 * NS_PER_MS)
#define ACTIVITY_COMPILE_PERIOD_NS (50 * NS_PER_MS)

struct activity {
	uint64_t classes, compiled; /* as last sampled at */
	uint64_t unreported;	    /* methods compiled, not yet reported */
	struct instant sampled, reported;
};

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
