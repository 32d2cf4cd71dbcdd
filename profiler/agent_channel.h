/*
 * agent_channel.h: the state word and the counters of a JVM agent's channel.
 *
 * The state word is epoch << 8 | state; each change of state is one epoch, so
 * collections that began and ended between two looks are counted, not missed.
 * The exact stamps come with the events of the channel's ring, which follow;
 * a hazard does not wait for them.
 */
#ifndef TAILOR_PROFILER_AGENT_CHANNEL_H
#define TAILOR_PROFILER_AGENT_CHANNEL_H

#include "profiler/channel.h"
#include "profiler/hazard_state.h"

/* Look at the state word and post what changed.  The observer only. */
void agent_channel_sweep(
    struct channel *c, struct hazard_state *hazards, struct instant now);

/* Look at the counters if it is time, and emit JVM_RATES. */
void
agent_channel_rates(struct channel *c, struct output *o, struct instant now);

/* Its writer is gone: it vouches for no server any more. */
void agent_channel_leave(
    struct channel *c, struct hazard_state *hazards, struct instant now);

#endif
