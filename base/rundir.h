/*
 * rundir.h: the directories of our sockets and files.
 *
 * Where others may write (/tmp), another user could have made the directory
 * first and could replace the socket in it; such a directory is not used.
 * Start-up only; not thread-safe.
 */
#ifndef TAILOR_BASE_RUNDIR_H
#define TAILOR_BASE_RUNDIR_H

#include <sys/types.h>

/* Make the directory that path is in, if it does not exist (mode 0750; one
 * level), and check it: it must be ours or root's, and no other user may be
 * able to replace files in it (not writable by group or others, or sticky).
 * Returns 0, -EPERM if it is not safe, or another negative errno. */
int rundir_prepare(const char *path);

/* Make the directory path with that mode, and missing parents with mode 0750,
 * as mkdir -p does.  An existing one is unchanged.  Returns 0, -ENOTDIR or
 * another negative errno of mkdir. */
int rundir_make(const char *path, mode_t mode);

/* Change the owner of the directories that were made here.  0 or the first
 * -errno. */
int rundir_give(uid_t uid, gid_t gid);

#endif
