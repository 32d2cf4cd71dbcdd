/* report.h: what is known of a run, and the forms in which it is reported.
 *
 * Owns struct report, the files it goes to (output.h), report.html (page.h)
 * and the progress line.  experiment.c fills it in; ab.c and finish.c write it.
 *
 *   text     a table for a person
 *   JSON     tailor.load.run/1: all of it, for a program
 *   NDJSON   one line per request, written after each iteration
 *
 * All are made from the same summary and say the same.  A key whose value was
 * not measured is left out. */
#pragma once

#include "loadgen/report/output.h"
#include "loadgen/send/request.h"
#include "loadgen/stats/environment.h"
#include "loadgen/stats/findings.h"

/* All text is borrowed from argv; a path "-" is stdout. */
struct output_options {
	const char *out_dir;
	const char *json_path;
	const char *ndjson_path;
	bool on_stdout; /* one of these is "-" */
	bool quiet;
};

/* A measured request that was sent, for pictures. */
struct point {
	unsigned iteration;
	int64_t scheduled_ns; /* after the run's epoch */
	int64_t latency_ns;   /* -1: it failed */
};

struct points {
	struct point *all; /* owned */
	size_t count;
	size_t capacity;
};

struct report {
	const struct output_options *options; /* borrowed */
	struct target target;
	struct request_texts texts;
	struct iteration iteration; /* the current one */
	struct summary summary;
	struct verdict verdict;
	struct findings findings;
	struct host host;
	struct environment environment;
	cpu_set_t sender_cpus; /* empty: not pinned */
	int64_t started_ns;    /* wall clock */
	struct instant epoch;  /* the same moment */
	bool interrupted;
	struct points points; /* with out_dir */
	struct report_output json;
	struct report_output requests;
};

/* The table and what follows it, in colours if out shows them. */
void report_text(FILE *out, struct report *r);

/* Of the table: the slowest requests, and why they were slow if known. */
void report_text_slow(FILE *out, const struct report *r);

/* All of run.json. */
void report_json(struct report *r, struct json *j);

/* Of run.json: "slowest", a list of requests and what is known of why. */
void report_json_slowest(
    struct json *j, const struct report *r, const struct slow_list *l);

/* Of run.json: "verdicts" (causes) and "talechain" (how many were analyzed). */
void report_json_causes(struct json *j, const struct report *r);

/* Write r->iteration's requests, if wanted, and keep their points, if there
 * will be a page.  0 or -ENOMEM. */
int report_requests(struct report *r);
