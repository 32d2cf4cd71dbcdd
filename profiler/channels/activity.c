/* activity.c: when a JVM loads classes and compiles methods, out of two
 * counters that only grow.
 *
 * One JVM_RATES event for each interval in which classes were loaded, so a
 * timeline shows within two milliseconds (the first time within four) when a
 * JVM was busy with them.
 * Compiled methods without classes, which occur all the time, are reported at
 * most every 50 ms.  A counter that decreases is ignored.
 *
 * Cost: one comparison a sweep, and two loads each 2 ms. */
#include "profiler/channels/output.h"

/* The growth of a counter; 0 if it decreased. */
static uint64_t
grown(uint64_t *last, uint64_t value)
{
	uint64_t more = value - *last;

	*last = value;
	return more < UINT32_MAX ? more : 0;
}

void
activity_sample(struct activity *a, uint64_t classes, uint64_t compiled,
    int server, struct observer_output *o, struct instant now)
{
	struct instant begin = a->sampled;
	uint64_t more = grown(&a->classes, classes);
	struct observer_event n = {.type = TALECHAIN_JVM_RATES,
	    .server = server,
	    .at = now,
	    .seen = now};

	a->unreported += grown(&a->compiled, compiled);
	a->sampled = now;
	if (more > 0)
		a->loaded = now;
	/* The first sample only sets the starting point. */
	if (!instant_is_set(begin)) {
		a->unreported = 0;
		a->reported = now;
		return;
	}
	if (more == 0 &&
	    (a->unreported == 0 ||
		instant_since(now, a->reported) < ACTIVITY_COMPILE_PERIOD_NS))
		return;
	n.arg[0] = more;
	n.arg[1] = a->unreported;
	n.arg[2] = (uint64_t)instant_since(now, more > 0 ? begin : a->reported);
	a->unreported = 0;
	a->reported = now;
	output_emit(o, &n);
}
