/* distribution.h: how often values fell between fixed edges, as a Prometheus
 * histogram wants it.
 *
 * Smaller and coarser than base/histogram.h, which is for quantiles: it is
 * written out without counting anything.  Proxy thread only. */
#pragma once

#include <stdint.h>

#define DISTRIBUTION_EDGES 20

struct distribution {
	const uint64_t *edge; /* borrowed: upper edges, ns, ascending */
	unsigned edges;
	uint64_t count[DISTRIBUTION_EDGES + 1]; /* the last: above all edges */
	uint64_t total, sum, max;
};

/* Of durations of requests: 0.1 ms to 10 s; of reactions: 1 us to 100 ms;
 * of servers' lives: 1 ms to 10 min. */
void distribution_init_requests(struct distribution *d);
void distribution_init_reactions(struct distribution *d);
void distribution_init_uptimes(struct distribution *d);

/* Count one value, ns; below 0 is 0.  Returns the place that it fell in,
 * 0 .. edges. */
unsigned distribution_record(struct distribution *d, int64_t ns);

/* One value that fell into a bucket, and whose it was. */
struct exemplar {
	char id[65];	   /* "": none yet */
	char trace_id[33]; /* of its traceparent; "": it had none */
	uint64_t value_ns;
	int64_t wall_ns;
};
