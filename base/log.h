/* log.h: one line per event, key=value, without blocking the caller.
 *
 * A line is formatted into a bounded ring and written to stderr by a thread of
 * its own; when the ring is full the line is dropped and counted, and the count
 * is logged as soon as there is room.  Before log_open() and after log_close()
 * lines are written directly, so start-up errors are never lost.  Access logs
 * are in proxy/.
 *
 * Cost: formatting on the caller's stack (1 KiB) and one short critical
 * section; a system call only to wake a writer that sleeps.  Ring: 1 MiB. */
#pragma once

#include <stdint.h>

/* The format of an event without values is "". */
#pragma GCC diagnostic ignored "-Wformat-zero-length"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

enum log_format {
	LOG_FORMAT_TEXT, /* 2026-10-04T10:15:03.412Z notice event key=value */
	LOG_FORMAT_JSON, /* one object per line, the same keys */
};

/* Set level and format; lines above level are discarded at the call.  When
 * stderr is the stream that JOURNAL_STREAM in the environment names, text lines
 * carry the journal's "<N>" priority prefix instead of time and level.  Lines
 * that wait in the ring get the new format, too.  Main thread, at any time. */
void log_prepare(enum log_level level, enum log_format format);

/* Start the writer thread, which keeps the rights that the process has now.
 * Returns 0 or a negative errno.  Main thread, once. */
int log_open(void);

/* Write what is queued and stop the writer.  If stderr is blocked for a second,
 * the rest is dropped and counted.  Main thread; does nothing before
 * log_open(). */
void log_close(void);

/* Get, or set, the level in force.  Any thread. */
enum log_level log_level_get(void);
void log_level_set(enum log_level level);

/* Queue one line.
 *   event   a snake_case name, constant text: server_exited
 *   format  printf format of "key=value key=value"; may be "".  Quote values
 *           that may hold spaces or come from outside: key=\"%s\".
 *           Conversions: see log_line_format.
 * The text of %s is escaped as \", \\ or \x1f: quotes, backslashes,
 * all bytes outside printable ASCII and, outside quotes, spaces.  So text
 * from the network can forge neither a line nor a key.  In JSON, values
 * without quotes that are plain decimals are numbers, all others strings.
 * Lines over 1024 bytes are cut and end in "...".  errno is preserved.  Any
 * thread but the observer's; never blocks on output while the writer runs. */
void log_event(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Make the latest error the last line: log it again if lines came after it.
 * Main thread, when no other thread logs any more. */
void log_repeat_error(void);

/* Lines lost since the start: ring full, or stderr failed.  Any thread. */
uint64_t log_dropped(void);
