/* privileges.h: dropping privileges (process.user), in three steps: kernel
 * sources are opened as root, files as the user, and when ports are bound the
 * rest is given up.  Main thread. */
#pragma once

struct config;

/* Find the user of process.user; without one the other two do nothing, nor if
 * we are that user already.  0, or a negative errno after one message that says
 * what to do; the process must then end. */
int privileges_find(const struct config *c);

/* Become that user: no supplementary groups but the user's, no capabilities but
 * those for ports and limits, none to be gained by executing anything
 * (no_new_privs, empty bounding set).  Before another thread is started.
 *   c     its directories are made for the user first, where only root can
 *         (rundir_make_for); NULL: none
 *   file  the configuration's: a message if the user cannot read it; or NULL
 * Returns as above. */
int privileges_become(const struct config *c, const char *file);

/* Give up the rest, for good, in all threads; once is enough.  Returns as
 * above. */
int privileges_drop(void);

/* No core dump of us (process.core_dumps).  First of all. */
void privileges_core_off(const struct config *c);

/* In a child before it executes another program: the limits on core dumps,
 * files and priority as they were before that. */
void privileges_limits_restore(void);
