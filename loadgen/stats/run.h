/* run.h: a finished run, read back from run.json and requests.ndjson.
 *
 * All pages and comparisons are made from these files, also right after the
 * run, so `report` and `compare` say the same later.  The files are not
 * trusted: every value is checked, texts are escaped where they are written,
 * and a file name is taken only if tailor-load could have written it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loadgen/stats/percentiles.h"

struct cJSON;

struct run_iteration {
	unsigned index;
	double seed;  /* for comparison with another run's only */
	bool partial; /* in no median */
	bool any;     /* a request succeeded: there are latencies */
	size_t sent;
	size_t ok;
	double rate_per_s;
	int64_t at_ns[PERCENTILES_MAX]; /* latency, as run.percentiles */
	int64_t mean_ns;
	int64_t max_ns;
	int64_t server_p99_ns; /* -1: not reported */
	int64_t lag_p99_ns;    /* -1: not known */
};

struct run_slow {
	unsigned iteration;
	uint32_t number;
	int64_t latency_ns;
	int64_t lag_ns;
	int64_t server_ns;   /* -1: not reported */
	const char *id;	     /* borrowed from the tree, as the next ones */
	const char *verdict; /* "" if it was not explained */
	const char *text;
	const char *page; /* "slow/01-0412.html" or "" */
};

struct run_median {
	int64_t median_ns; /* -1: there is none */
	bool bounded;
	int64_t low_ns;
	int64_t high_ns;
};

struct run {
	struct cJSON *tree; /* owned */
	const char *url;    /* borrowed from it, as all text here */
	const char *started;
	const char *arrivals;
	const char *verdict; /* of the generator */
	double rate_per_s;   /* planned; 0: a closed loop */
	double seed;
	size_t requests; /* per iteration */
	struct percentiles percentiles;
	struct run_iteration *iterations; /* owned */
	size_t count;
	struct run_slow *slow; /* owned; of every iteration, in order */
	size_t slow_count;
	struct run_median p50;
	struct run_median p99;
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

/* One request that was measured. */
struct point {
	unsigned iteration;
	uint32_t number;
	int64_t scheduled_ns; /* after the run's epoch */
	int64_t latency_ns;   /* -1: it failed */
};

struct points {
	struct point *all; /* owned */
	size_t count;
	size_t capacity;
};

/* Read a requests.ndjson.  Returns 0, -EPROTO (a line is none) or another
 * negative errno. */
int points_read(struct points *p, const char *path, char *why, size_t why_size);
void points_close(struct points *p);
