/* plain.h: text for a terminal, in its width and colours; 80 columns and none
 * in a pipe.
 *
 * Text from outside may contain escape sequences; none reaches the terminal.
 * Control characters and bytes that are not UTF-8 become "?". */
#pragma once

#include "base/json.h"
#include "base/terminal.h"

/* Columns of standard output beyond 80, for what would be cut there. */
unsigned plain_spare(void);

/* The escape sequence of a colour, or "" unless standard output has colours. */
const char *plain_escape(enum terminal_colour colour);

/* Write text without control characters, except newlines and tabs. */
void plain_write(FILE *out, const char *text, size_t length);

/* One line's worth of text: at most that many columns (each character counts as
 * one), cut with "..." when longer.  NULL becomes "-".  Returns out. */
char *plain_cell(char *out, size_t size, const char *text, unsigned columns);

/* The same in a column of a table, in a colour, and a blank. */
void plain_print_cell(
    const char *text, unsigned columns, enum terminal_colour colour);

/* The heads of a table's columns, and a newline. */
void plain_head(const char *text);

/* Write text in lines of the output's width, all but the first indented (the
 * first begins at column indent). */
void plain_wrap(FILE *out, const char *text, unsigned indent);

/* Print a paragraph, printf-like: indented, in lines of the output's width. */
void plain_print(unsigned indent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A duration: "813us", "41.2ms", "-" if negative.  Returns out. */
#define PLAIN_DURATION_BYTES 24
char *plain_duration(char out[PLAIN_DURATION_BYTES], int64_t ns);
/* The same for seconds from outside: "-" also if they are not a number, or more
 * than centuries. */
char *plain_seconds(char out[PLAIN_DURATION_BYTES], double seconds);

/* A count: "1234", "56.7k", "1.23M".  Returns out. */
char *plain_count(char out[PLAIN_DURATION_BYTES], double value);

/* How often something happens in a second: "0.2", "14", "1234".  Returns
 * out. */
char *plain_rate(char out[PLAIN_DURATION_BYTES], double per_s);

/* json_print() to standard output, with a message if memory ran out. */
int plain_json(struct json *j);
