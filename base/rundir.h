/*
 * rundir.h: the directories of our sockets and files.
 *
 * In a place that others may write to (/tmp), somebody else could have made
 * it first and could replace the socket in it at will; such a directory is
 * not used.  Start-up only; not thread-safe.
 */
#ifndef TAILOR_BASE_RUNDIR_H
#define TAILOR_BASE_RUNDIR_H

#include <sys/types.h>

/*
 * rundir_prepare(path):
 * Make the directory that path is in, if it is not there (mode 0750; one
 * level), and judge it: it must be ours or root's, and nobody else may be
 * able to replace files in it (not writable by group or others, or sticky).
 * Returns 0, -EPERM if it may not be trusted, or another negative errno.
 */
int rundir_prepare(const char *path);

/*
 * rundir_make(path, mode):
 * Make the directory path with that mode, and those above it that are missing
 * with mode 0750, as mkdir -p does.  One that is there stays as it is.
 * Returns 0, -ENOTDIR or another negative errno of mkdir.
 */
int rundir_make(const char *path, mode_t mode);

/* Make the directories that were made here another user's.  0 or the first
 * -errno. */
int rundir_give(uid_t uid, gid_t gid);

#endif
