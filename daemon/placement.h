/* placement.h: carrying the topology's proposal and the configuration's wishes
 * out: which CPU the proxy and the observer run on, and how the observer
 * polls. */
#pragma once

struct profiler_options;
struct proxy;

/* Read the machine, merge the configuration in, say what was decided. */
void placement_plan(struct proxy *p);

/* The observer's part: CPU, poll mode and period. */
void placement_observer(struct proxy *p, struct profiler_options *out);

/* Pin the calling thread, the proxy's.  Refused: said once, goes on. */
void placement_proxy(struct proxy *p);
