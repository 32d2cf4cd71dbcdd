/* path_pattern.h: patterns of paths, with wildcards for whole segments.
 *
 * A pattern is a path of segments: "*" matches exactly one segment that is not
 * empty, "**" any number of segments or none, and any other segment only
 * itself.  A path is the part of a request target before "?".  Percent escapes
 * are decoded once before the comparison: "/%61" is "/a".  Case matters.  "/a/"
 * ends in an empty segment, so it is not "/a"; only "**" and a pattern that
 * ends in "/" match that segment.
 *
 * Servers disagree about some paths: the meaning of ";", whether "%2f" is a
 * "/", where ".." leads.  Such a path cannot be compared: path_read refuses it,
 * and the caller decides what to do.
 *
 * Pure functions over memory, any thread.  Cost: path_read reads each byte
 * once.  A match compares each byte at most PATH_SEGMENTS_MAX times, with
 * common patterns (one "**" or none) once or twice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PATH_PATTERN_MAX 256 /* bytes */
#define PATH_SEGMENTS_MAX 16 /* of a pattern */

/* A path that can be compared. */
struct path {
	const char *at; /* borrowed; begins with "/"; not terminated */
	size_t length;
};

/* Return why text is not a valid pattern (static text), or NULL if valid. */
const char *path_pattern_judge(const char *text);

/* Get the path of a request target, without its query; "/" if it is empty.
 * Returns false if the path cannot be compared: it does not begin with "/", or
 * has
 *   - a segment "." or "..", or an empty one that is not the last
 *   - ";" or "\", or a byte that is no part of a target
 *   - an escape of "/", "\", ";", "?", "#", "%" or a control byte, or one
 *     that is not two hexadecimal digits
 * Dots are recognised after decoding. */
bool path_read(const char *target, size_t length, struct path *out);

/* True if a pattern that path_pattern_judge has accepted matches the path. */
bool path_pattern_matches(const char *pattern, struct path path);
