/* observe.h: one observation, from its options to its result. */
#pragma once

#include "shim/series.h"
#include "shim/source.h"

struct observe_options {
	struct shim_target target;
	const char *signal[SAMPLER_SIGNALS];
	unsigned signals; /* 0: the default */
	const char *tag;  /* NULL: none */
	int on;		  /* our CPU; -1: any but the target's */
	uint64_t period;  /* cycles; 0 as fast as possible */
	int64_t length_ns;
	int64_t interval_ns; /* of the series */
	unsigned top;	     /* rows shown */
	bool live, json;
	const char *csv, *chrome; /* files, or NULL */
};

struct observation {
	const struct observe_options *options; /* borrowed */
	struct sources sources;
	struct shim_scope *scope; /* owned */
	struct shim_series series;
	struct shim_sample first, last;
	double hz;
	uint64_t taken_ns;     /* actual duration */
	int cpu;	       /* our CPU */
	char note[SOURCE_WHY]; /* caveat on what is observed, or "" */
	const char *ended;     /* why it ended early, else NULL */
};

/* Observe.  Returns 0, or a negative errno with a sentence in why (SOURCE_WHY
 * bytes).  Free with observe_fini in either case. */
int observe_run(
    struct observation *out, const struct observe_options *options, char *why);
void observe_fini(struct observation *o);

/* Print the result as text; if live, overwrite the previous result. */
void observe_print(const struct observation *o, bool live);
void observe_json(const struct observation *o, struct json *out);

/* --- what its report and the bench's share ----------------------------- */

/* Print lead, a space, text and a full stop in lines of at most 80 columns,
 * all but the first indented by two.  The text is ours, without a full stop. */
void sentence_print(const char *lead, const char *text);

/* A histogram as key and object: count, p1 .. p999 and max, each value divided
 * by scale; 0 if it is empty. */
void quantiles_json(
    struct json *j, const char *key, const struct histogram *h, double scale);
