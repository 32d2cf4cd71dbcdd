/*
 * file.h: whole files in, whole texts out.
 */
#ifndef TAILOR_LOADGEN_SEND_FILE_H
#define TAILOR_LOADGEN_SEND_FILE_H

#include <stddef.h>

/*
 * file_read(path, text, length):
 * Read all of a file.  *text is NUL-terminated and the caller's to free.
 * Returns 0, -EFBIG (above 256 MiB) or another negative errno.
 */
int file_read(const char *path, char **text, size_t *length);

/* Write a whole file, replacing what is there.  0 or a negative errno. */
int file_write(const char *path, const char *text, size_t length);

/* The first line of a small file without its end, or "". */
void file_read_line(const char *path, char *out, size_t size);

/* mkdir -p; *made: length of the shortest path that was not there, or 0. */
int file_make_directory(const char *path, size_t *made);

/* Remove what it made, as far as it is empty. */
void file_remove_directory(const char *path, size_t made);

#endif
