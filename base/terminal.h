/*
 * terminal.h: how wide an output is, and whether it shows colours.
 *
 * Files and pipes have 80 columns and no colours whatever the environment, so
 * that a script reads the same text on every machine.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define TERMINAL_COLUMNS 80	 /* of what is not a terminal */
#define TERMINAL_COLUMNS_MIN 20	 /* a narrower one counts as this */
#define TERMINAL_COLUMNS_MAX 500 /* a wider one as this */

enum terminal_colour {
	TERMINAL_PLAIN,
	TERMINAL_BOLD,
	TERMINAL_DIM,
	TERMINAL_RED,
	TERMINAL_GREEN,
	TERMINAL_YELLOW,
};

/*
 * terminal_columns(out):
 * Columns of a stream: $COLUMNS, else what its terminal says; TERMINAL_COLUMNS
 * if it is no terminal, or does not say.
 */
unsigned terminal_columns(FILE *out);

/* Whether colours are allowed: out is a terminal, TERM is neither "dumb" nor
 * missing, and NO_COLOR is missing or empty (no-color.org). */
bool terminal_has_colour(FILE *out);

/* The escape sequence of a colour (PLAIN ends all), or "" if it is not allowed.
 * Static text. */
const char *terminal_escape(bool allowed, enum terminal_colour colour);
