/*
 * supervisor.h: starting the servers that are configured with a program, and
 * keeping them running.  Main thread only.
 */
#ifndef TAILOR_DAEMON_SUPERVISOR_H
#define TAILOR_DAEMON_SUPERVISOR_H

#include "proxy/upstream/upstream.h"

/* Once, before all else. */
void supervisor_init(struct server *s);

/* Start the configured program.  0 or a negative errno (logged). */
int supervisor_launch(struct server *s);

/* Ask the program to end (SIGTERM, and SIGKILL after launch.stop_timeout); no
 * restart follows, unless the server is being restarted. */
void supervisor_stop(struct server *s);

/* End it at once (SIGKILL) and reap it. */
void supervisor_kill(struct server *s);

#endif
