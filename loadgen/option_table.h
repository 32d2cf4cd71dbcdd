/* option_table.h: the one table of command line options, for options.c. */
#pragma once

#include "loadgen/options.h"

#define OPTION_ROWS_MAX 80

struct option_row {
	const char *group; /* heading printed before this row, or NULL */
	const char *name;
	char letter;	      /* 0: none */
	const char *argument; /* NULL: takes none */
	const char *help;     /* NULL: an alias or explained, not shown */
	/* "--rate: "x" is not <wants>"; or of set_explained() what to do. */
	const char *wants;
	/* Which commands have it: x run, a ab, k check. */
	const char *verbs;
	/* Store the argument; 0 or negative.  NULL: --help, --version. */
	int (*set)(struct options *o, const struct option_row *row,
	    const char *argument);

	/* For setters that several options share; offsets in struct options. */
	size_t at;    /* of what is set */
	size_t given; /* of a flag that it was set; 0: none */
	uint64_t low, high;
	const char *const *choices; /* ends with NULL */
};

extern const struct option_row option_rows[];
extern const unsigned option_row_count;
