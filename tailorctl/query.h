/* query.h: a small language to select events or requests.
 *
 * 	query      = both { "or" both }
 * 	both       = one { "and" one }
 * 	one        = "not" one | "(" query ")" | FIELD [ comparison ]
 * 	comparison = ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) value
 * 	           | ( "~" | "!~" ) text
 * 	value  = number [ "ns" ... "h" | "k" | "M" | "G" ] | text
 * 	text  = '"' ... '"' | "'" ... "'" | WORD
 *
 * A number with a unit of time is nanoseconds, like all times here; k is 1024,
 * M 1024 k.  "~" is "contains".  A field alone is true if it is present and
 * neither 0 nor "".  A comparison with a missing field is false.  Texts have no
 * escapes: use the other quotes.
 *
 * Pure functions; the caller provides the values of fields. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUERY_TEXT_MAX 4096 /* bytes of a query */
#define QUERY_DEPTH_MAX 32
#define QUERY_WORD 64 /* of a field's name */

/* The first error of a query. */
struct query_error {
	unsigned column; /* from 1 */
	char text[160];
};

/* The value of a field: a number, a text, or missing.  QUERY_UNKNOWN: no such
 * field exists; text names what lacks the field, for the error. */
struct query_value {
	enum query_kind {
		QUERY_MISSING,
		QUERY_NUMBER,
		QUERY_TEXT,
		QUERY_UNKNOWN
	} kind;
	uint64_t number;
	const char *text; /* borrowed until the lookup's next call */
	bool time;	  /* in ns: a number beside it needs its unit */
};

/* Look up a field of the event or request. */
typedef struct query_value query_lookup(const char *field, void *user);

/* Parse a query and evaluate it in one pass, calling lookup for each field in
 * it.  Returns 1 if the event or request matches, 0 if not, or -EINVAL with
 * *error filled in.  Time linear in the query's length. */
int query_match(const char *text, query_lookup *lookup, void *user,
    struct query_error *error);
