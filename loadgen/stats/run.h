/* run.h: what of a finished run is compared, read from its run.json.
 *
 * Comparisons are made from it also right after the run, so `compare` says the
 * same later.  The file is not trusted: every value is checked, and texts are
 * escaped where they are written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loadgen/stats/percentiles.h"

struct cJSON;

struct run_iteration {
	double seed;  /* for comparison with another run's only */
	bool partial; /* in no median */
	bool any;     /* a request succeeded: there are latencies */
	int64_t at_ns[PERCENTILES_MAX]; /* latency, as run.percentiles */
	int64_t mean_ns;
	int64_t max_ns;
};

struct run {
	struct cJSON *tree; /* owned */
	const char *url;    /* borrowed from it, as all text here */
	const char *started;
	const char *arrivals;
	const char *verdict; /* of the generator */
	double rate_per_s;   /* planned; 0: a closed loop */
	size_t requests;     /* per iteration */
	struct percentiles percentiles;
	struct run_iteration *iterations; /* owned */
	size_t count;
};

/* Read a run.json.  *text may be freed afterwards.  Returns 0, -EPROTO (it is
 * none; why says in what way) or -ENOMEM. */
int run_parse(
    struct run *r, const char *text, size_t length, char *why, size_t why_size);

/* The same of a file. */
int run_read(struct run *r, const char *path, char *why, size_t why_size);
void run_close(struct run *r);

/* A member of an object in the tree: a text, or "". */
const char *run_text(const struct cJSON *object, const char *key);

/* A number, 0 .. 9e15, or otherwise. */
double
run_number(const struct cJSON *object, const char *key, double otherwise);
