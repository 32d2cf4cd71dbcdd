/* log_line.h: the text of one log line, private to base/.
 *
 * A line is "event key=value key="value"".  Text of the format is copied as it
 * is; text of %s is escaped (", \ and all that is not printable ASCII;
 * outside quotes also the space), so that no value can end its own quotes,
 * begin a key or begin a line.  For this, each conversion is processed
 * separately, not all by one vsnprintf. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include "base/log.h"

/* A line with time and level (34 bytes at most) has 1024. */
#define LOG_LINE_TEXT_MAX 990

struct log_line {
	struct timespec when; /* wall clock */
	enum log_level level;
	unsigned length;
	char text[LOG_LINE_TEXT_MAX];
};

/* Fill in the text.  Conversions: d i u x X s f g m %, with a zero-padded
 * width, a precision in digits, #, and l, ll and z for integers.  Any other
 * conversion ends the line there; tools/check-words finds these in the
 * source. */
void log_line_format(struct log_line *line, const char *event,
    const char *format, va_list arguments);

enum log_line_style {
	LOG_LINE_TEXT,
	LOG_LINE_JOURNAL,
	LOG_LINE_JSON,
};

/* Large enough for any line in any style: each byte may become \u00xx. */
#define LOG_LINE_RENDERED_MAX (6 * LOG_LINE_TEXT_MAX + 256)

/* Write the line as it leaves the process, newline included, not terminated;
 * returns its length, 0 if there was no memory for it (JSON only). */
size_t log_line_render(const struct log_line *line, enum log_line_style style,
    char out[LOG_LINE_RENDERED_MAX]);
