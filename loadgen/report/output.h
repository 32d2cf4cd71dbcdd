/* output.h: a result's file.
 *
 * It is opened before the run, so that a missing directory is reported at once,
 * and truncated when the first result is written. */
#pragma once

#include "base/json.h"

struct report_output {
	FILE *file;	 /* owned, or NULL: not wanted; stdout is not closed */
	bool made;	 /* there was no such file */
	bool written;	 /* anything */
	char path[4096]; /* of the file, also if it could not be opened */
};

/* Open path ("-": stdout), or if it is NULL dir/name; nothing if dir is, too.
 * Returns 0 or a negative errno. */
int output_open(struct report_output *o, const char *path, const char *dir,
    const char *name);

/* Whether anything written will be kept. */
static inline bool
output_is_wanted(const struct report_output *o)
{
	return o->file != NULL;
}

/* Write a finished document and a newline.  0 or -ENOMEM; j is empty then. */
int output_json(struct report_output *o, struct json *j);

/* Flush and close.  Returns 0, or -EIO if anything was lost. */
int output_close(struct report_output *o);

/* Close without a result, if still open.  A file to which nothing was written
 * stays as it was; a new one is removed. */
void output_abandon(struct report_output *o);
