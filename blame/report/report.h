/* report.h: the findings on routes as text, as JSON and as a page.
 *
 * tailorctl and the admin listener share it.  It reads no files and writes only
 * to a stream: the given one, or standard output for text.
 * One thread at a time. */
#pragma once

#include <stdio.h>

#include "base/json.h"
#include "blame/report/exact.h"
#include "blame/report/rows.h"

/* A query, and the accounts that it is about. */
struct blame_view {
	struct blame_rows rows, then; /* owned by the caller; then: the other
				       * time to compare with, or empty */
	struct blame_exact exact;     /* owned by the caller; may be empty */
	double p;
	char name[16];	    /* "p99" */
	unsigned resamples; /* as blame_options */
	const char *route;  /* borrowed; NULL: those with most requests */
};

#define BLAME_ROUTES_SHOWN 3

/* Read "99.9" (NULL: 99) into p and name.  0, or -EINVAL: not above 50 and
 * below 100. */
int blame_view_percentile(struct blame_view *v, const char *text);

/* The next route to report, from index *at on; advances *at.  NULL: no more. */
const struct blame_route *
blame_view_route(const struct blame_view *v, unsigned *at);

/* The route with the same name in v->then, or NULL. */
const struct blame_route *
blame_view_then(const struct blame_view *v, const struct blame_route *route);

/* True if there is another time to compare with. */
bool blame_view_compares(const struct blame_view *v);

/* True if a percentile without a cause is certain enough to be printed: its
 * interval is no wider than the effect, q_ns - without_ns.  An interval of
 * zeros is none: true. */
bool
blame_view_certain(int64_t q_ns, int64_t without_ns, struct blame_interval i);
#define BLAME_UNCERTAIN "too uncertain" /* and then the interval */

/* True if a line's excess is worth printing: at least 1 % of q(p) - q(0.5). */
bool blame_view_shows(const struct blame_report *r, unsigned line);
/* Most causes with examples, and most examples of one cause. */
#define BLAME_EXAMPLES_SHOWN 3

/* The options for blame_analyze. */
struct blame_options blame_view_options(const struct blame_view *v);

#define BLAME_CODES 640
/* Write the next sentence on what is not known: an interval that is wider than
 * BLAME_WIDE of q(p), slower requests without accounts, kernel events that were
 * off, what a sleeping server waited for, causes that occur in no account.  *at
 * is 0 at first and advances.  False: no more sentences. */
bool blame_view_note(const struct blame_view *v, const struct blame_report *r,
    unsigned *at, char out[BLAME_CODES]);

/* How much longer accounts must be made, with as many requests as now, until
 * the interval of q(p) is BLAME_WIDE of it; 0: it is.  The width is taken to be
 * in proportion to one over the root of the time. */
#define BLAME_WIDE 0.2
int64_t blame_view_wait_ns(const struct blame_report *r);

/* If q(p) of all requests is outside the interval of the accounts' q(p), which
 * is the one divided among causes, write a sentence on that and return true. */
#define BLAME_APART 160
bool blame_view_apart(const struct blame_view *v, const struct blame_latency *l,
    const struct blame_report *r, char out[BLAME_APART]);

/* If a route has too few requests for the percentile, write a sentence on how
 * many more it needs and return true: other figures would mean nothing. */
#define BLAME_FEW 200
bool blame_view_few(const struct blame_view *v, const struct blame_route *route,
    const struct blame_report *r, char out[BLAME_FEW]);

/* A value of a field that is overrepresented in the tail. */
struct blame_spot {
	const char *field; /* static: "server" */
	char value[BLAME_ROUTE];
	struct blame_place place;
};

#define BLAME_SPOTS 4

/*
 * blame_spots(v, route, beyond, out):
 * Find fields with a value whose share of the tail (requests slower than q(p))
 * clearly exceeds its share of all requests: by 0.1 or more, by a quarter or
 * more, and with an interval that is above the latter share.
 *   beyond  accounts of the route that are slower; fewer than BLAME_BEYOND are
 *           too few to say
 *   out     BLAME_SPOTS of them at most
 * Returns how many; 0 too if memory ran out.
 */
unsigned blame_spots(const struct blame_view *v,
    const struct blame_route *route, size_t beyond, struct blame_spot *out);

/* Find a route that is overrepresented in the tail of all requests, as
 * blame_spots does; false: there is none.  *q_ns receives q(p) of all
 * requests. */
bool
blame_all(const struct blame_view *v, int64_t *q_ns, struct blame_spot *out);

/* Write all routes to report, in schema tailor.blame/1; an empty array if there
 * is none.  Returns 0, or an error of blame_analyze, which leaves j
 * incomplete. */
int blame_json(const struct blame_view *v, struct json *j);

/* Write schema and p, the head of a document, into its open object. */
void blame_json_head(const struct blame_view *v, struct json *j);

/* Print the report to standard output, as wide as its terminal.  Returns 0, or
 * an error of blame_analyze. */
int blame_text(const struct blame_view *v);

/* One HTML file: works without scripts, loads nothing.
 *   links  examples are links to timelines of the admin listener
 * Returns 0, -ENODATA (the page is complete and says that there is no account),
 * or another error of blame_analyze. */
int blame_page(const struct blame_view *v, bool links, FILE *out);
