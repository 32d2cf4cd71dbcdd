/*
 * exposition.h: metrics as text: Prometheus' format 0.0.4, or OpenMetrics
 * 1.0 for a collector that asks for it.
 *
 * They differ in how a counter's family is called, in exemplars and in the
 * last line; samples are the same.  A family is begun once and all of its
 * samples follow.
 */
#ifndef TAILOR_PROXY_EXPOSITION_H
#define TAILOR_PROXY_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "proxy/distribution.h"

struct evbuffer;

struct exposition {
	struct evbuffer *out; /* borrowed */
	bool openmetrics;
	bool failed; /* no memory: a line is missing */
};

/* One value that fell into a bucket, and whose it was. */
struct exemplar {
	char id[65]; /* "": none yet */
	uint64_t value_ns;
	int64_t wall_ns;
};

/* Begin a family; a counter's name ends in _total. */
void exposition_family(
    struct exposition *e, const char *name, const char *type, const char *help);

/* Any text: samples of the family. */
void exposition_print(struct exposition *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Families of one sample. */
void exposition_gauge(
    struct exposition *e, const char *name, const char *help, double value);
void exposition_counter(
    struct exposition *e, const char *name, const char *help, uint64_t value);

/*
 * exposition_histogram(e, name, labels, d, exemplars):
 * The samples of one histogram, in seconds, without the family's head.
 *   labels     "server=\"a\"" or ""
 *   exemplars  d->edges + 1 of them, or NULL; written in OpenMetrics only
 */
void
exposition_histogram(struct exposition *e, const char *name, const char *labels,
    const struct distribution *d, const struct exemplar *exemplars);

/* A summary of a finer histogram: its quantiles, sum and count, in seconds,
 * with the family's head. */
void exposition_summary(struct exposition *e, const char *name,
    const char *help, const struct histogram *h);

/* The last line, where the format has one. */
void exposition_end(struct exposition *e);

#endif
