/* analyzer.h: a client of the Tailor that explains slow requests.
 *
 * Two steps, because Tailor drops old events and because analyzing disturbs the
 * measurement.  While an iteration runs, a request that is among the slowest so
 * far is pinned at once, so that Tailor keeps its events.  In the pause after
 * the iteration each slow request is analyzed, with the client's own stamps, so
 * that time lost outside of the server is found too; its timeline is written
 * beside the report.
 *
 * Requests are sent only if responses show that the target is a Tailor (a
 * metric "tailor" in Server-Timing).  Main thread only, never the sender's;
 * each request blocks it, for 5 s at most. */
#pragma once

#include "loadgen/options.h"

#define TOKEN_MAX 256 /* characters, as the Tailor takes them */

struct analyzer {
	const struct load_options *options; /* borrowed, as the next two */
	const struct request_ids *ids;
	const struct target *target; /* the Tailor */
	struct target own;	     /* of --analyze URL; else zero */
	char boot_id[40];
	char token[TOKEN_MAX + 2]; /* of --token-file, or "" */
	bool off;		   /* not configured, or given up */
	size_t looked;		   /* successes of this iteration checked */
	struct slow_list slow;	   /* of this iteration, so far */
	struct findings *findings; /* borrowed from the report */
};

/* Prepare to add to r->findings; sends nothing yet.  o and r must outlive *a.
 * Returns 0, -EINVAL with why set (--analyze is no URL, --token-file has no
 * token) or -ENOMEM. */
int analyzer_open(struct analyzer *a, const struct load_options *o,
    struct report *r, char *why, size_t why_size);
void analyzer_close(struct analyzer *a);

/* Before an iteration: forget the slow requests of the last one. */
void analyzer_begin(struct analyzer *a);

/* During an iteration: have the Tailor keep the events of requests that have
 * become slow since the last call. */
void analyzer_pin(struct analyzer *a, const struct iteration *it);

/* After an iteration: have its slow requests explained, adding to the findings,
 * and write their timelines below the output directory.  Returns 0 or -ENOMEM;
 * faults of the other side are counted, not returned. */
int analyzer_explain(struct analyzer *a, const struct iteration *it,
    const struct slow_list *slow);
