/*
 * output.h: a result that goes to one place or two.
 *
 * --json FILE and -o DIR may both be given; the text is then written twice.
 * Files are opened before the run: a directory that does not exist should
 * not be found out about afterwards.  What they held is lost only when there
 * is something to write.
 */
#ifndef TAILOR_LOADGEN_REPORT_OUTPUT_H
#define TAILOR_LOADGEN_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct output {
	FILE *files[2];	    /* owned, or NULL; stdout is not closed */
	bool made[2];	    /* there was no such file */
	bool written;	    /* anything */
	const char *given;  /* of files[0]; borrowed */
	const char *failed; /* name of the one that failed, or NULL */
	char path[4096];    /* of files[1] */
};

/*
 * output_open(o, path, dir, name):
 * Open the file path ("-": stdout) and dir/name; either may be NULL.
 * Returns 0, or a negative errno with o->failed set.
 */
int output_open(
    struct output *o, const char *path, const char *dir, const char *name);

/* Whether anything written will be kept. */
bool output_is_wanted(const struct output *o);

/* Write to all places. */
void output_write(struct output *o, const char *text, size_t length);

/* Flush and close.  Returns 0, or -EIO if anything was lost. */
int output_close(struct output *o);

/* The same, if it is still open, and there is no result: if nothing was
 * written, files are as if there had been no run. */
void output_abandon(struct output *o);

#endif
