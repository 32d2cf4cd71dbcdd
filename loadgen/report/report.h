/* report.h: the results of a run, and the forms in which they are reported.
 *
 * Owns struct report, the output files, report.html and the progress line.
 * experiment.c fills in a report and writes it.
 *
 *   text     a table for a person
 *   JSON     tailor.load.run/1: all of it, for a program
 *   NDJSON   one line per request, written after each iteration
 *
 * All are made from the same summary and say the same.  A key whose value was
 * not measured is left out. */
#pragma once

#include "base/json.h"
#include "loadgen/send/iteration.h"
#include "loadgen/send/request.h"
#include "loadgen/stats/environment.h"
#include "loadgen/stats/findings.h"

/* An output file.  It is opened before the run, so that a missing directory is
 * reported at once, and truncated when the first result is written. */
struct report_output {
	FILE *file;	 /* owned; NULL: no output; stdout is not closed */
	bool made;	 /* true if the file is new */
	bool written;	 /* true if something was written */
	char path[4096]; /* set even if the file could not be opened */
};

/* Open path ("-": stdout), or if path is NULL dir/name; if dir is also NULL,
 * open nothing.  Returns 0 or a negative errno. */
int output_open(struct report_output *o, const char *path, const char *dir,
    const char *name);

/* True if the output goes to a file or stdout. */
static inline bool
output_is_wanted(const struct report_output *o)
{
	return o->file != NULL;
}

/* Write a finished document and a newline; j is empty afterwards.  0 or
 * -ENOMEM. */
int output_json(struct report_output *o, struct json *j);

/* Flush and close.  Returns 0, or -EIO if output was lost. */
int output_close(struct report_output *o);

/* Close without a result, if still open.  A file to which nothing was written
 * stays as it was; a new one is removed. */
void output_abandon(struct report_output *o);

/* All text is borrowed from argv; a path "-" is stdout. */
struct output_options {
	const char *out_dir;
	const char *json_path;
	const char *ndjson_path;
	bool on_stdout; /* one of the paths is "-" */
	bool quiet;
	bool all; /* the whole text, not only its first screen */
};

/* A measured request that succeeded or failed, for pictures. */
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
	struct instant epoch;  /* the same moment as started_ns */
	bool interrupted;
	struct points points; /* only with out_dir */
	struct report_output json;
	struct report_output requests;
};

/* Print the report for a person: the result, a screen of it; then, with the
 * option all, iterations, bounds and the slowest requests.  In colours if out
 * shows them. */
void report_text(FILE *out, struct report *r);

/* Write the document run.json. */
void report_json(struct report *r, struct json *j);

/* Write the requests of r->iteration, if there is such an output, and keep
 * their points, if there will be a page.  0 or -ENOMEM. */
int report_requests(struct report *r);

/* Draw the requests of an iteration (0: of all) as points: due time, latency.
 * Slow requests with a timeline are links.  If there is nothing to draw, a
 * sentence (HTML) says so.  Returns 0 or -ENOMEM. */
int picture_scatter(FILE *out, const struct report *r, unsigned iteration);

/* Draw the distribution of latency, on an axis that stretches the tail.
 * Otherwise as picture_scatter(). */
void picture_tail(FILE *out, const struct summary *s);

/* Write the page of a finished report.  Returns 0, or -EIO or -ENOMEM. */
int page_write(FILE *out, struct report *r);

/* Rewrite the progress line on stderr.  Not the sender thread. */
void progress_show(const struct iteration *it, uint64_t iterations);

/* Remove the progress line. */
void progress_clear(void);
