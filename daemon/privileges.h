/* privileges.h: dropping privileges (process.user). */
#pragma once

#include <sys/types.h>

struct config;

/* Become process.user, for good: no supplementary groups but the user's, no
 * capabilities, none to be gained by executing anything (no_new_privs, empty
 * bounding set).  Sockets, stream and access log are made the user's.  Nothing
 * is done if no user is configured or we are that user already.  All threads of
 * the process change.  Returns 0, or a negative errno after one message that
 * says what to do; the process must then end. */
int privileges_drop(const struct config *c);

/* The user of process.user; ours if there is none, or none of that name. */
uid_t privileges_user(const struct config *c);

/* No core dump of us (process.core_dumps); and, in a child before it executes
 * another program, what there was before. */
void privileges_core_off(const struct config *c);
void privileges_core_restore(void);
