/* rows.h: accounts from CSV, as GET /accounts and `tailorctl blame --accounts`
 * print them, into a struct blame_set for each route. */
#pragma once

#include "blame/blame.h"

#define BLAME_ROUTES 64
#define BLAME_ROUTE 48
#define BLAME_SERVERS 17 /* the last one: others */

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
	uint8_t needs[BLAME_CAUSES]; /* enum tale_needs, of each */
	unsigned causes;
	struct blame_value value[BLAME_VALUES]; /* that the table has */
	const char *unit[BLAME_VALUES];		/* static; NULL: a number */
	unsigned values;
	struct blame_route route[BLAME_ROUTES]; /* most requests first */
	unsigned routes;
	struct blame_set
	    *all; /* owned: totals of each, of all routes; or NULL */
	char server[BLAME_SERVERS][32]; /* by blame_account's number */
	unsigned servers;
	char error[128]; /* why it could not be read */
	char **line; /* owned; a line's id: blame_account's id is its number */
	size_t lines, room;
	int64_t oldest_ns, newest_ns; /* of all lines; 0: there is none */
};

/*
 * blame_rows_read(r, text, from_ns, to_ns):
 * Read a table.
 *   text  terminated; modified, and must outlive r, which borrows names
 *   from_ns, to_ns  only what ended between them, wall clock; 0: no limit
 * Returns 0, -EINVAL or -ENOMEM; r->error says why, and names the line.  Free
 * with blame_rows_fini either way.
 */
int blame_rows_read(
    struct blame_rows *r, char *text, int64_t from_ns, int64_t to_ns);
void blame_rows_fini(struct blame_rows *r);

/* A name from outside: printable ASCII, cut to fit ("..."). */
void blame_rows_name(char *out, size_t size, const char *text);

/* The cause with that code, or -1. */
int blame_rows_cause(const struct blame_rows *r, const char *code, size_t n);

/* Whether the kernel's events are needed to see a cause. */
bool blame_rows_needs_kernel(const struct blame_rows *r, unsigned cause);
