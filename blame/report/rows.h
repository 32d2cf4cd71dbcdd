/* rows.h: collect accounts in one struct blame_set per route.  The daemon adds
 * its own one by one; others come from CSV, as GET /accounts and `tailorctl
 * blame --accounts` print it. */
#pragma once

#include "base/busiest.h"
#include "blame/blame.h"
#include "talechain/events/counters.h"

#define BLAME_ROUTES 64
#define BLAME_ROUTE 48
#define BLAME_ROUTES_SEEN 512 /* candidates for the busiest */
#define BLAME_ID 65	      /* bytes of a request's id; longer ones are cut */
#define BLAME_SERVERS 17      /* the last one: others */

/* blame_account's flags: attempts, and whether the connection was new. */
#define BLAME_ATTEMPTS 0xffu
#define BLAME_NEW 0x100u

struct blame_route {
	char name[BLAME_ROUTE + 4]; /* printable ASCII; cut: "..." */
	struct blame_set *set;	    /* owned */
	unsigned number;	    /* blame_account's route */
	double weight;
};

struct blame_rows {
	struct blame_cause cause[BLAME_CAUSES];
	char code[BLAME_CAUSES][BLAME_ROUTE]; /* of causes not known here */
	uint8_t needs[BLAME_CAUSES];	      /* enum tale_needs, of each */
	uint64_t kernel; /* bits of causes that need the kernel's events */
	unsigned causes;
	struct blame_value value[BLAME_VALUES]; /* those of the table */
	const char *unit[BLAME_VALUES];		/* static; NULL: a number */
	unsigned values;
	int place[TALECHAIN_COUNTER_COUNT];	/* a counter's value, or -1 */
	struct blame_route route[BLAME_ROUTES]; /* most requests first */
	unsigned routes;
	struct blame_set *all; /* owned: totals of all accounts; or NULL */
	char server[BLAME_SERVERS][32]; /* by blame_account's server */
	unsigned servers;
	char error[128];      /* why it could not be read */
	char (*id)[BLAME_ID]; /* owned; by blame_account's id */
	size_t lines, room;
	int64_t oldest_ns, newest_ns; /* of all rows; 0: there is none */

	/* Private: routes that were offered; those that are kept are first. */
	struct busiest busiest[BLAME_ROUTES_SEEN];
	bool chosen, others; /* routes are; "other" is one of them */
};

/* One account on its way into rows.  Negative numbers: not known. */
struct blame_row {
	const char *id, *route, *server; /* borrowed; from outside */
	int64_t end_ns, total_ns;	 /* wall clock; as blame_account */
	double weight;
	int64_t in_flight; /* on its arrival, itself included; 0: not known */
	int64_t attempts, new_connection;
	bool kernel;			/* the kernel's events were on */
	int64_t cause_ns[BLAME_CAUSES]; /* by blame_rows' cause */
	/* By blame_rows' value; NaN: not counted.  blame_rows_add fills in the
	 * first three from the members above. */
	double value[BLAME_VALUES];
};

/* Begin rows with the causes that this program knows, in the order of enum
 * tale_cause.
 *   counters  bits 1 << enum talechain_counter: those that some row has
 * Returns 0 or -ENOMEM; free with blame_rows_fini either way. */
int blame_rows_begin(struct blame_rows *r, uint32_t counters);

/* Announce, before the first row, a row of this route (n bytes) and weight.
 * The BLAME_ROUTES - 1 routes with most requests keep their names; the rest is
 * "other". */
void blame_rows_offer(
    struct blame_rows *r, const char *route, size_t n, double weight);

/* Add a copy of a row.  Returns 0, -ENOMEM, or -EINVAL as blame_add does. */
int blame_rows_add(struct blame_rows *r, struct blame_row *row);

/* After the last row: bring the routes into their order. */
void blame_rows_end(struct blame_rows *r);

/*
 * blame_rows_read(r, text, length_ns, until_ns):
 * Begin, add and end rows with the lines of a table in CSV.
 *   text  terminated; modified, not kept
 *   length_ns, until_ns  only what ended in the time of length_ns (0: any) that
 *                        was over until_ns before the latest line
 * Returns 0 or -EINVAL; r->error says why, and names the line.  Free with
 * blame_rows_fini either way.
 */
int blame_rows_read(
    struct blame_rows *r, char *text, int64_t length_ns, int64_t until_ns);
void blame_rows_fini(struct blame_rows *r);

/* A name from outside: printable ASCII, cut to fit ("..."). */
void blame_rows_name(char *out, size_t size, const char *text);

/* The cause with that code, or -1. */
int blame_rows_cause(const struct blame_rows *r, const char *code, size_t n);

/* True if the kernel's events are needed to see a cause. */
bool blame_rows_needs_kernel(const struct blame_rows *r, unsigned cause);
