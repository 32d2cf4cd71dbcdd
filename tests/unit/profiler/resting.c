/* resting.c: see the header. */
#include "resting.h"

#include <stdlib.h>
#include <string.h>

struct rest_rig *
rest_rig_new(enum profiler_poll poll)
{
	struct rest_rig *r = aligned_alloc(64, (sizeof(*r) + 63) / 64 * 64);

	assert_non_null(r);
	memset(r, 0, sizeof(*r));
	assert_int_equal(timeline_new(&r->timeline, NULL, 12), 0);
	assert_int_equal(observer_rest_init(&r->o.rest), 0);
	assert_int_equal(hazard_ring_init(&r->hazards), 0);
	r->o.poll = poll;
	r->o.sleep_ns = 50 * NS_PER_US;
	r->o.rest_ns = r->o.quiet_ns = FOREVER_NS;
	r->o.blind_ns = NS_PER_S;
	r->o.cpu = -1;
	r->o.servers = 1;
	r->o.output.timeline = r->timeline;
	r->o.output.hazards = &r->hazards;
	r->o.hazards[0].output = &r->o.output;
	r->o.commands = &r->commands;
	r->o.released = &r->released;
	return r;
}

void
rest_rig_free(struct rest_rig *r)
{
	observer_stop(&r->o);
	hazard_ring_fini(&r->hazards);
	observer_rest_fini(&r->o.rest);
	timeline_free(&r->timeline);
	free(r);
}

bool
rest_rig_rests(void *arg)
{
	struct rest_rig *r = arg;

	return __atomic_load_n(&r->o.rest.state, __ATOMIC_RELAXED) ==
	       OBSERVER_RESTS;
}

bool
rest_rig_has_hazard(void *arg)
{
	struct rest_rig *r = arg;
	struct hazard h;

	return hazard_ring_take(&r->hazards, &h);
}
