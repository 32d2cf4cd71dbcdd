/* output.h: a result that goes to one place or two.
 *
 * --json FILE and -o DIR may both be given; the text is then written twice.
 * Files are opened before the run, so that a missing directory is reported at
 * once.  They are truncated when the first result is written. */
#pragma once

#include "base/json.h"

struct output {
	FILE *files[2];	    /* owned, or NULL; stdout is not closed */
	bool made[2];	    /* there was no such file */
	bool written;	    /* anything */
	const char *given;  /* of files[0]; borrowed */
	const char *failed; /* name of the one that failed, or NULL */
	char path[4096];    /* of files[1] */
};

/* Open the file path ("-": stdout) and dir/name; either may be NULL.  Returns
 * 0, or a negative errno with o->failed set. */
int output_open(
    struct output *o, const char *path, const char *dir, const char *name);

/* Whether anything written will be kept. */
bool output_is_wanted(const struct output *o);

/* Write to all places. */
void output_write(struct output *o, const char *text, size_t length);

/* Write a finished document and a newline.  0 or -ENOMEM; j is empty then. */
int output_json(struct output *o, struct json *j);

/* Flush and close.  Returns 0, or -EIO if anything was lost. */
int output_close(struct output *o);

/* Close without a result, if still open.  Files to which nothing was written
 * stay as they were; new ones are removed. */
void output_abandon(struct output *o);
