/* series.h: rates over time, and their output.
 *
 * One row per interval, in memory allocated before the first sample; intervals
 * beyond it are counted, not stored. */
#pragma once

#include "base/json.h"
#include "shim/scope.h"

struct series_row {
	uint64_t at_ns; /* end of the interval, since the beginning */
	uint64_t samples, kept;
	double rate[SAMPLER_SIGNALS]; /* per cycle, of joined periods */
};

struct shim_series {
	const struct sampler *sampler; /* borrowed: names */
	struct series_row *row;	       /* owned */
	size_t rows, room;
	uint64_t missed; /* intervals without a place */
	/* the running interval */
	struct join join;
	uint64_t samples, kept, cycles;
	uint64_t count[SAMPLER_SIGNALS];
};

/* Allocate room for so many intervals, 1 or more.  0 or -ENOMEM. */
int series_init(
    struct shim_series *s, const struct sampler *sampler, size_t intervals);
void series_fini(struct shim_series *s);

/* Add a sample, and whether its period was kept, to the interval. */
void
series_add(struct shim_series *s, const struct shim_sample *now, bool kept);

/* End the running interval. */
void series_close(struct shim_series *s, uint64_t at_ns);

/* Write the rows as CSV with a head line, or as counters of a Chrome trace. */
void series_csv(const struct shim_series *s, FILE *out);
void series_chrome(const struct shim_series *s, struct json *out);
