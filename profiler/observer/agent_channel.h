/* agent_channel.h: the state word and the counters of a JVM agent's channel.
 *
 * The state word is epoch << 8 | state.  Each change of state is one epoch, so
 * collections that begin and end between two sweeps are counted, not missed.
 * The hazard is posted from the state word; the exact times follow with the
 * events in the channel's ring. */
#pragma once

#include "profiler/channels/channel.h"
#include "profiler/channels/hazard_state.h"

/* Read the state word and post changes.  The observer only. */
void agent_channel_sweep(
    struct channel *c, struct hazard_state *hazards, struct instant now);

/* Read the counters when due, and emit JVM_RATES. */
void agent_channel_rates(
    struct channel *c, struct observer_output *o, struct instant now);

/* Its writer is gone: remove it from its server's hazard state. */
void agent_channel_leave(
    struct channel *c, struct hazard_state *hazards, struct instant now);
