/* report_hgrm.c: the percentile table that HdrHistogram's tools read.
 *
 * Columns are value in ms, percentile, how many samples are not above the
 * value, and 1/(1 - percentile).  Steps get finer towards the tail: five per
 * halving of what is left above.  The values are those of real samples, not
 * of buckets. */
#include "loadgen/report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STEPS_PER_HALVING 5

static void
write_rows(FILE *f, const int64_t *sorted, size_t n)
{
	double level = 0;

	for (;;) {
		size_t rank = level <= 0 ? 1 : quantile_rank(level * 100, n);
		int64_t value_ns = sorted[rank - 1];
		while (rank < n && sorted[rank] == value_ns)
			rank++;
		if (rank == n)
			break;
		fprintf(f, "%12.6f %14.12f %10zu %14.2f\n",
		    (double)value_ns / 1e6, level, rank, 1 / (1 - level));
		double halvings = floor(log2(1 / (1 - level))) + 1;
		level += 1 / (STEPS_PER_HALVING * exp2(halvings));
	}
	fprintf(f, "%12.6f %14.12f %10zu %14s\n", (double)sorted[n - 1] / 1e6,
	    1.0, n, "inf");
}

static void
write_footer(FILE *f, const int64_t *sorted, size_t n)
{
	double sum = 0;
	double squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)sorted[i];
	double mean = n > 0 ? sum / (double)n : 0;
	for (size_t i = 0; i < n; i++) {
		double d = (double)sorted[i] - mean;
		squares += d * d;
	}
	double deviation = n > 0 ? sqrt(squares / (double)n) : 0;
	fprintf(f,
	    "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n"
	    "#[Max     = %12.6f, Total count    = %12zu]\n"
	    "#[Buckets = %12d, SubBuckets     = %12d]\n",
	    mean / 1e6, deviation / 1e6,
	    n > 0 ? (double)sorted[n - 1] / 1e6 : 0.0, n, 0, 0);
}

int
report_hgrm(struct report *r)
{
	const struct series *s = &r->summary.pool[SERIES_LATENCY];
	char *text = NULL;
	size_t length = 0;
	FILE *f;

	if (!output_is_wanted(&r->hgrm))
		return 0;
	f = open_memstream(&text, &length);
	if (f == NULL)
		return -ENOMEM;
	fprintf(f, "%12s %14s %10s %14s\n\n", "Value", "Percentile",
	    "TotalCount", "1/(1-Percentile)");
	if (s->count > 0)
		write_rows(f, s->values, s->count);
	write_footer(f, s->values, s->count);
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	output_write(&r->hgrm, text, length);
	free(text);
	return 0;
}
