/* terminal.h: text for a terminal, in its width and colours.
 *
 * Output to files and pipes has 80 columns and no colours, whatever the
 * environment, so that a script reads the same text on every machine.  Escape
 * sequences in text from outside never reach the terminal: control characters
 * and bytes that are not UTF-8 become "?". */
#pragma once

#include "base/json.h"

#define TERMINAL_COLUMNS 80	 /* if the output is no terminal */
#define TERMINAL_COLUMNS_MIN 20	 /* used for narrower terminals */
#define TERMINAL_COLUMNS_MAX 500 /* used for wider terminals */

enum terminal_colour {
	TERMINAL_PLAIN,
	TERMINAL_BOLD,
	TERMINAL_DIM,
	TERMINAL_RED,
	TERMINAL_GREEN,
	TERMINAL_YELLOW,
};

/* Return the columns of a stream: $COLUMNS, else its terminal's width;
 * TERMINAL_COLUMNS if it is no terminal, or the width is not known. */
unsigned terminal_columns(FILE *out);

/* True if colours are allowed: out is a terminal, TERM is neither "dumb" nor
 * missing, and NO_COLOR is missing or empty (no-color.org). */
bool terminal_has_colour(FILE *out);

/* The escape sequence of a colour (PLAIN ends all), or "" if it is not allowed.
 * Static text. */
const char *terminal_escape(bool allowed, enum terminal_colour colour);

/* --- text to standard output ---------------------------------------------- */

/* Return how many columns beyond 80 standard output has. */
unsigned plain_spare(void);

/* The escape sequence of a colour, or "" unless standard output has colours. */
const char *plain_escape(enum terminal_colour colour);

/* Write text without control characters, except newlines and tabs. */
void plain_write(FILE *out, const char *text, size_t length);

/* Return text cut to at most that many columns (one per character), ending in
 * "..." if cut.  NULL becomes "-".  This result and those of the functions
 * below are static, and valid until the PLAIN_TEXTS-th call after it. */
#define PLAIN_TEXTS 16
const char *plain_cell(const char *text, unsigned columns);

/* Print such a text as a column of a table, in a colour, and a blank. */
void plain_print_cell(
    const char *text, unsigned columns, enum terminal_colour colour);

/* Print the heads of a table's columns, and a newline. */
void plain_head(const char *text);

/* Write text in lines of the output's width, all but the first indented (the
 * first begins at column indent). */
void plain_wrap(FILE *out, const char *text, unsigned indent);

/* Print a paragraph, printf-like: indented, in lines of the output's width. */
void plain_print(unsigned indent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return a text, printf-like. */
const char *
plain_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A duration: "813us", "41.2ms", "-" if negative. */
const char *plain_duration(int64_t ns);
/* The same for seconds from outside: "-" also if NaN, or more than
 * centuries. */
const char *plain_seconds(double seconds);

/* A count: "1234", "56.7k", "1.23M". */
const char *plain_count(double value);

/* How often something happens in a second: "0.2", "14", "1234". */
const char *plain_rate(double per_s);

/* Begin a JSON object; or end it and print it to standard output, with a
 * message if memory ran out. */
void plain_json_begin(struct json *j);
int plain_json_end(struct json *j);
