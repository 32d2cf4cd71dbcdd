/*
 * plain.h: text for a terminal of 80 columns.
 *
 * Text from outside may contain escape sequences; none reaches the terminal.
 * Control characters and bytes that are not UTF-8 become "?".
 */
#ifndef TAILOR_TAILORCTL_PLAIN_H
#define TAILOR_TAILORCTL_PLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define PLAIN_COLUMNS 80

/* Write text without control characters, except newlines and tabs. */
void plain_write(FILE *out, const char *text, size_t length);

/*
 * plain_cell(out, size, text, columns):
 * One line's worth of text: at most that many columns (each character counts
 * as one), cut with "..." when longer.  NULL becomes "-".  Returns out.
 */
char *plain_cell(char *out, size_t size, const char *text, unsigned columns);

/*
 * plain_wrap(out, text, indent):
 * Write text in lines of at most 80 columns, all but the first indented (the
 * first begins at column indent).
 */
void plain_wrap(FILE *out, const char *text, unsigned indent);

/* A duration: "813us", "41.2ms", "-" if negative.  Returns out. */
#define PLAIN_DURATION_BYTES 24
char *plain_duration(char out[PLAIN_DURATION_BYTES], int64_t ns);
/* The same for seconds from outside: "-" also if they are not a number, or more
 * than centuries. */
char *plain_seconds(char out[PLAIN_DURATION_BYTES], double seconds);

/* A count: "1234", "56.7k", "1.23M".  Returns out. */
char *plain_count(char out[PLAIN_DURATION_BYTES], double value);

/* json_print() to standard output, with a message if memory ran out. */
int plain_json(struct json *j);

#endif
