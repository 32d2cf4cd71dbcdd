/* distribution.h: counts of values between fixed edges, for a Prometheus
 * histogram.
 *
 * Smaller and coarser than base/histogram.h, which is for quantiles; its counts
 * are written out as they are.  Proxy thread only. */
#pragma once

#include <stdint.h>

#define DISTRIBUTION_EDGES 20

struct distribution {
	const uint64_t *edge; /* borrowed: upper edges, ns, ascending */
	unsigned edges;
	uint64_t count[DISTRIBUTION_EDGES + 1]; /* last: above all edges */
	uint64_t total, sum, max;
};

/* Begin with edges for durations of requests, 0.1 ms to 10 s; of reactions,
 * 1 us to 100 ms; or of uptimes and hazards, 1 ms to 10 min. */
void distribution_init_requests(struct distribution *d);
void distribution_init_reactions(struct distribution *d);
void distribution_init_uptimes(struct distribution *d);

/* Count one value, ns; below 0 counts as 0.  Returns its index in count, 0 ..
 * edges. */
unsigned distribution_record(struct distribution *d, int64_t ns);

/* One value of a bucket, and the request that had it. */
struct exemplar {
	char id[65];	   /* "": none yet */
	char trace_id[33]; /* of the request's traceparent; "": none */
	uint64_t value_ns;
	int64_t wall_ns;
};
