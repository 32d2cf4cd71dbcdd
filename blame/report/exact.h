/* exact.h: latencies of all requests of each route, from CSV as GET /latencies
 * prints it.
 *
 * Percentiles of accounts are estimates: accounts are a sample.  The
 * percentiles here are of all requests: each is the upper edge of its bucket,
 * at most BLAME_RESOLUTION above the true value.  A table from outside is
 * checked: sums of its counts cannot overflow, and names are made printable. */
#pragma once

#include "base/histogram.h"
#include "blame/report/rows.h"

#define BLAME_RESOLUTION (1.0 / (1 << HISTOGRAM_SUB_BITS))

struct blame_latency {
	char name[BLAME_ROUTE + 4];
	int64_t from_ns, to_ns; /* when counting began and ended */
	uint64_t unnamed;	/* requests of routes that had no place */
	struct histogram latency;
};

struct blame_exact {
	struct blame_latency *route; /* owned, BLAME_ROUTES */
	unsigned routes;
	uint64_t left_out; /* requests of routes beyond BLAME_ROUTES */
};

/* Find or add the route of this name, for the caller to count its requests.
 * NULL: no room or no memory.  *e must be zero before the first call; free with
 * blame_exact_fini. */
struct blame_latency *
blame_exact_route(struct blame_exact *e, const char *name);

/* Read a table; text is modified.  0, -EINVAL (not such a table: e is then
 * empty) or -ENOMEM.  Free with blame_exact_fini either way. */
int blame_exact_read(struct blame_exact *e, char *text);
void blame_exact_fini(struct blame_exact *e);

/* The latencies of a route's requests, or NULL. */
const struct blame_latency *
blame_exact_of(const struct blame_exact *e, const char *name);

/* The nearest-rank q(p), 0 < p <= 1. */
int64_t blame_exact_quantile(const struct blame_latency *l, double p);
