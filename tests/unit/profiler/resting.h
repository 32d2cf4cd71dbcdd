/*
 * resting.h: an observer of one server, with rings and a timeline, for tests of
 * when it rests.
 */
#pragma once

#include "fixture.h"

#include "profiler/observer/observer.h"

#define FOREVER_NS (3600 * NS_PER_S)

struct rest_rig {
	struct observer o;
	struct command_ring commands, released;
	struct hazard_ring hazards;
	struct timeline *timeline;
};

/* It is not started; rest_rig_free() stops it. */
struct rest_rig *rest_rig_new(enum profiler_poll poll);
void rest_rig_free(struct rest_rig *r);

/* For eventually(): it rests; a hazard came, and is taken. */
bool rest_rig_rests(void *rest_rig);
bool rest_rig_has_hazard(void *rest_rig);
