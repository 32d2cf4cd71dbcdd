/* privileges.h: dropping privileges (process.user), in three steps: kernel
 * sources are opened as root, files as the user, and when ports are bound the
 * rest is given up.  Main thread. */
#pragma once

struct config;

/* Find the user of process.user.  If none is configured, or we are that user
 * already, the next two functions do nothing.  0, or -ECANCELED after one
 * message that says what to do; the process must then end. */
int privileges_find(const struct config *c);

/* Become that user: no supplementary groups but the user's, no capabilities but
 * those for ports and limits, and no way to gain any by executing a program
 * (no_new_privs, empty bounding set).  Call it before starting a thread.
 *   c     the configuration: its directories are first made for the user, where
 *         only root can (rundir_make_for); NULL: none
 *   file  the configuration's file; a message if the user cannot read it; or
 *         NULL
 * Returns as above. */
int privileges_become(const struct config *c, const char *file);

/* Permanently give up the remaining capabilities, in all threads.  Returns as
 * above. */
int privileges_drop(void);

/* Disable core dumps if process.core_dumps says so.  Call it first of all. */
void privileges_core_off(const struct config *c);

/* In a child, before it executes a program: restore the limits on core dumps,
 * files and priority that Tailor was started with. */
void privileges_limits_restore(void);
