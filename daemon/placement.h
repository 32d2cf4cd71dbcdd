/* placement.h: which CPUs the proxy and the observer run on, and how the
 * observer polls: as the topology proposes, unless the configuration says
 * otherwise. */
#pragma once

struct profiler_options;
struct proxy;

/* Read the machine's topology, apply the configuration, log the decision. */
void placement_plan(struct proxy *p);

/* Set the observer's CPU, poll mode and period in *out. */
void placement_observer(struct proxy *p, struct profiler_options *out);

/* Pin the calling thread, which is the proxy's.  A refusal is logged. */
void placement_proxy(struct proxy *p);
