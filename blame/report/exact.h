/* exact.h: latencies of all requests of each route, from CSV as GET /latencies
 * prints it.
 *
 * Percentiles of accounts are estimates: accounts are a sample.  These are of
 * all requests: a percentile is the upper edge of the bucket that it is in, at
 * most BLAME_RESOLUTION above the true one.  A table from outside is checked:
 * its counts add up to a number, its names are printable. */
#pragma once

#include "base/histogram.h"
#include "blame/report/rows.h"

#define BLAME_RESOLUTION (1.0 / (1 << HISTOGRAM_SUB_BITS))

struct blame_latency {
	char name[BLAME_ROUTE + 4];
	int64_t from_ns, to_ns; /* when counting began and ended */
	uint64_t unnamed; /* of them: of routes without a place of their own */
	struct histogram latency;
};

struct blame_exact {
	struct blame_latency *route; /* owned, BLAME_ROUTES */
	unsigned routes;
	uint64_t left_out; /* requests of more routes than that */
};

/* The route with that name, for the caller to count its requests; new if there
 * is room.  NULL: there is none, or no memory.  e is zero at first; free with
 * blame_exact_fini. */
struct blame_latency *
blame_exact_route(struct blame_exact *e, const char *name);

/* text is modified.  0, -EINVAL (not such a table: nothing is in e then) or
 * -ENOMEM.  Free with blame_exact_fini either way. */
int blame_exact_read(struct blame_exact *e, char *text);
void blame_exact_fini(struct blame_exact *e);

/* The latencies of a route's requests, or NULL. */
const struct blame_latency *
blame_exact_of(const struct blame_exact *e, const char *name);

/* The nearest-rank q(p), 0 < p <= 1. */
int64_t blame_exact_quantile(const struct blame_latency *l, double p);
