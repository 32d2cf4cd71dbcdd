/* report.h: what is found of routes, as text, as JSON and as a page.
 *
 * The same for tailorctl and for the admin listener.  Nothing is read, and
 * nothing written but a stream: the given one, or standard output for text.
 * One thread at a time. */
#pragma once

#include <stdio.h>

#include "base/json.h"
#include "blame/report/exact.h"
#include "blame/report/rows.h"

/* A question to accounts, and the accounts. */
struct blame_view {
	struct blame_rows rows, then; /* owned by the caller; then: compared
				       * with, or empty */
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

/* The next route that is asked for, from *at on, which is moved on; NULL: there
 * is no other. */
const struct blame_route *
blame_view_route(const struct blame_view *v, unsigned *at);

/* The route of that time with the same name, or NULL. */
const struct blame_route *
blame_view_then(const struct blame_view *v, const struct blame_route *route);

/* True if there is another time to compare with. */
bool blame_view_compares(const struct blame_view *v);

/* True if a line of the report is worth printing: 1 % of q(p) - q(0.5). */
bool blame_view_shows(const struct blame_report *r, unsigned line);
/* Causes of which examples are printed, and requests of each. */
#define BLAME_EXAMPLES_SHOWN 3

/* The options for blame_analyze. */
struct blame_options blame_view_options(const struct blame_view *v);

#define BLAME_CODES 640
/* The next sentence on what was not observed, from *at (0 at first) on: without
 * kernel events, what a sleeping server waits for, what occurs in no account.
 * False: there is no other. */
bool blame_view_note(const struct blame_view *v, const struct blame_report *r,
    unsigned *at, char out[BLAME_CODES]);

/* A sentence, if q(p) of all requests is outside the interval of the accounts'
 * own, of which causes are found.  False: it is not. */
#define BLAME_APART 160
bool blame_view_apart(const struct blame_view *v, const struct blame_latency *l,
    const struct blame_report *r, char out[BLAME_APART]);

/* Where the tail is: the value of a field that most of it has. */
struct blame_spot {
	const char *field; /* static: "server" */
	char value[BLAME_ROUTE];
	struct blame_place place;
};

#define BLAME_SPOTS 4

/*
 * blame_spots(v, route, beyond, out):
 * The fields of which one value has clearly more of the requests slower than
 * q(p) than of all requests: at least a tenth of all, and a quarter of its own
 * part, more, and its interval is above that part.
 *   beyond  accounts of the route that are slower; fewer than BLAME_BEYOND are
 *           too few to say
 *   out     BLAME_SPOTS of them at most
 * Returns how many; 0 too if memory ran out.
 */
unsigned blame_spots(const struct blame_view *v,
    const struct blame_route *route, size_t beyond, struct blame_spot *out);

/* The route that has clearly more of the tail of all requests; false: there is
 * none.  *q_ns receives the q(p) of all. */
bool
blame_all(const struct blame_view *v, int64_t *q_ns, struct blame_spot *out);

/* Schema tailor.blame/1: all routes that are asked for, of none an empty array.
 * 0, or what blame_analyze returns; j is incomplete then. */
int blame_json(const struct blame_view *v, struct json *j);

/* The head of a document, into an object that is open: schema and p. */
void blame_json_head(const struct blame_view *v, struct json *j);

/* Print the same to standard output, as wide as that is.  0, or what
 * blame_analyze returns. */
int blame_text(const struct blame_view *v);

/* One HTML file: works without scripts, loads nothing.
 *   links  examples are links to timelines of the admin listener
 * 0, -ENODATA (a whole page says that there is no account), or what
 * blame_analyze returns. */
int blame_page(const struct blame_view *v, bool links, FILE *out);
