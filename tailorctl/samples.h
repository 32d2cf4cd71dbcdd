/* samples.h: the samples of Prometheus' text format 0.0.4.
 *
 * One pass, in order, over text from outside.  Not a full parser: anything but
 * "name{labels} number" is skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct metric_sample {
	const char *name; /* with its labels; borrowed, not terminated */
	size_t length;
	double value;
};

/* Read the next sample from *at on, and move *at behind it.  False at the end.
 * Lines may end in LF or CRLF, labels may contain any quoted text. */
bool samples_next(const char **at, const char *end, struct metric_sample *out);

/* True if a sample is part of a histogram: _bucket, _sum or _count. */
bool sample_is_part(const struct metric_sample *s);

/* True if it only grows while a process lives: a part of a histogram, or a
 * counter, _total. */
bool sample_is_sum(const struct metric_sample *s);
