/* file.h: reads and writes whole files; reads first lines; makes directories.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Open /dev/null for standard input, output or error if closed; otherwise the
 * next file or socket would get that descriptor, and output meant for stderr.
 * Call it first in main().  Ends the program if /dev/null cannot be opened. */
void file_open_standard(void);

/* Read all of a file.  *text is NUL-terminated and the caller's to free.
 * Returns 0, -EFBIG (above 256 MiB) or another negative errno. */
int file_read(const char *path, char **text, size_t *length);

/* Write a whole file, replacing what is there.  0 or a negative errno. */
int file_write(const char *path, const char *text, size_t length);

/* Read the first line of a small file with one read(), without the newline, cut
 * to fit.  False, and out is "", if that fails.  The path is printf-like.
 * Allocates nothing. */
bool file_read_line(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Find the path of a file given relative to this program's directory.  False if
 * there is no such file, or the path does not fit. */
bool file_beside(const char *relative, char *out, size_t size);

/* Find the JVM agent, built or installed; as file_beside. */
bool file_agent(char *out, size_t size);

/* mkdir -p; *made: length of the shortest path that was not there, or 0. */
int file_make_directory(const char *path, size_t *made);

/* Remove the directories that file_make_directory made, if they are empty. */
void file_remove_directory(const char *path, size_t made);

/* The next functions are safe in directories where other users may write.  A
 * symbolic link in a path is followed only if root or we own it, else
 * -EPERM. */

/* Open a file to append to it, non-blocking; a missing file is made with that
 * mode.  -EPERM also for a file with several names in another user's directory,
 * and for another user's file in a directory that others may write to.  Returns
 * a descriptor or a negative errno. */
int file_append(const char *path, mode_t mode);

/* Make the directory that path is in, if it does not exist (mode 0750; one
 * level), and check it: it must be ours or root's, and no other user may be
 * able to replace files in it (not writable by group or others, or sticky).
 * Returns 0, -EPERM if it is not safe, or another negative errno. */
int rundir_prepare(const char *path);

/* Make the directory path with that mode, and missing parents with mode 0750,
 * as mkdir -p does.  An existing one is unchanged.  Returns 0, -ENOTDIR or
 * another negative errno of mkdir. */
int rundir_make(const char *path, mode_t mode);

/* As root, make the first missing directory of path, owned by that user (mode
 * 0750), if only root may write to its parent.  The user can then make the
 * rest.  0 or a negative errno. */
int rundir_make_for(const char *path, uid_t uid, gid_t gid);
