/* trace.h: arrivals from a file.
 *
 * One request a line: when it is due, in ms from the iteration's start, with
 * a fraction if you like, never before the line above.  What follows a tab is
 * not read, so that the schedules of other tools (instant, tab, path) can be
 * used.  Empty lines and lines that begin with # do not count. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Read all instants.
 *   offset_ns  receives n of them, ns, never decreasing; the caller's to free
 *   n          receives at least 1
 *   why        receives a message for the person on error
 * Returns 0, -EINVAL (a wrong line) or another negative errno. */
int trace_read(const char *path, int64_t **offset_ns, size_t *n, char *why,
    size_t why_size);
