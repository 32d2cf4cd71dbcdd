/* file.h: whole files and first lines in, whole texts out; directories. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* First of all in main(): where standard input, output or error is closed, open
 * /dev/null, else the first file or socket that is opened would be written to
 * as one of them.  Ends the program if /dev/null cannot be opened. */
void file_open_standard(void);

/* Read all of a file.  *text is NUL-terminated and the caller's to free.
 * Returns 0, -EFBIG (above 256 MiB) or another negative errno. */
int file_read(const char *path, char **text, size_t *length);

/* Write a whole file, replacing what is there.  0 or a negative errno. */
int file_write(const char *path, const char *text, size_t length);

/* The first line of a small file, as one read() gives it, without its end and
 * cut to fit; or "" and false.  The path is printf-like.  Allocates nothing. */
bool file_read_line(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The whole path of a file, named relative to this program's directory.  False
 * if there is none, or it does not fit. */
bool file_beside(const char *relative, char *out, size_t size);

/* The JVM's agent, where it is built or installed; the same. */
bool file_agent(char *out, size_t size);

/* mkdir -p; *made: length of the shortest path that was not there, or 0. */
int file_make_directory(const char *path, size_t *made);

/* Remove what it made, as far as it is empty. */
void file_remove_directory(const char *path, size_t made);

/* Places where other users may write, or that are theirs: what they have put
 * there is not taken for ours.  A symbolic link is followed if it is root's or
 * ours, never another user's, wherever in a path it is: -EPERM. */

/* Open a file to append to it, non-blocking, made with that mode if it is
 * missing.  Nor is a file with several names in another user's directory
 * opened, nor another user's in a directory that others may write to: -EPERM.
 * A descriptor or a negative errno. */
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

/* As root: make the first directory of path that is missing, for that user
 * (mode 0750), if only root may write to the one above it.  The user can make
 * what else is missing.  0 or a negative errno. */
int rundir_make_for(const char *path, uid_t uid, gid_t gid);
