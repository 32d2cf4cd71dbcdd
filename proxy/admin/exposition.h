/* exposition.h: metrics as text: Prometheus' format 0.0.4, or OpenMetrics
 * 1.0 for a collector that asks for it.
 *
 * The formats differ in the name of a counter's family, in exemplars and in the
 * last line; samples are the same.  A family is begun once and all of its
 * samples follow.  Numbers are written from integers, seconds from nanoseconds:
 * a thousand doubles through snprintf would delay the proxy for the time of
 * several requests. */
#pragma once

#include "base/text.h"
#include "proxy/stats/distribution.h"

struct exposition {
	struct text text; /* text_add() here only if no function below fits */
	bool openmetrics;
	const char *name;   /* name of the family that was begun; static */
	const char *family; /* that family's line in metrics.txt; static */
};

/* A sample's label; values hold no quotes, backslashes or line ends. */
struct label {
	const char *name, *value;
};
/* An array of labels, for parameters that also take NULL for no labels. */
#define LABELS(...) ((const struct label[]){__VA_ARGS__, {NULL, NULL}})

/* Begin an empty text, in OpenMetrics or Prometheus' format; fini frees the
 * text. */
void exposition_init(struct exposition *e, bool openmetrics);
void exposition_fini(struct exposition *e);

/* Write seconds in the form of both formats, "0.001" or "1.0", to
 * out[EXPOSITION_SECONDS], terminated; returns the length. */
#define EXPOSITION_SECONDS 32
size_t exposition_seconds(uint64_t ns, char *out);

/* Begin a family, whose type and meaning are in metrics.txt; a counter's name
 * ends in _total. */
void exposition_family(struct exposition *e, const char *name);

/* Write a sample of the family.
 *   suffix    appended to the family's name: "", "_bucket", ...
 *   value     a whole number
 *   value_ns  nanoseconds, written as seconds */
void exposition_part(struct exposition *e, const char *suffix,
    const struct label *labels, uint64_t value);
void exposition_part_ns(struct exposition *e, const char *suffix,
    const struct label *labels, uint64_t value_ns);
#define exposition_sample(e, ...) exposition_part(e, "", __VA_ARGS__)
#define exposition_sample_ns(e, ...) exposition_part_ns(e, "", __VA_ARGS__)

/* Write a family of one sample. */
void exposition_gauge(struct exposition *e, const char *name, double value);
void exposition_counter(struct exposition *e, const char *name, uint64_t value);

/* Write the samples of one histogram, in seconds, without the family's head.
 *   labels     two at most, or NULL
 *   exemplars  d->edges + 1 of them, or NULL; written in OpenMetrics only */
void exposition_histogram(struct exposition *e, const struct label *labels,
    const struct distribution *d, const struct exemplar *exemplars);

/* Write a family of one histogram, without labels or exemplars. */
void exposition_distribution(
    struct exposition *e, const char *name, const struct distribution *d);

/* Write the last line, if the format has one. */
void exposition_end(struct exposition *e);
