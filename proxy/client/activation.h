/*
 * activation.h: listening sockets that systemd opened for us (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES).
 *
 * Such a socket outlives the process: while Tailor restarts, connections
 * wait in its queue.  A socket is used for the configured address that it is
 * bound to; where none is configured, those named "admin" are the admin
 * listener and all others are for clients.  Main thread only.
 */
#ifndef TAILOR_PROXY_CLIENT_ACTIVATION_H
#define TAILOR_PROXY_CLIENT_ACTIVATION_H

#include <stdbool.h>

#include "config/config.h"

/* Take the sockets over and remove the variables, so that no child takes
 * them for its own.  Once, at the start. */
void activation_init(void);

/* Fill in listen if there is none, and admin if a socket has that name.  0 or -EINVAL, -ENOMEM
 * with errors added. */
int activation_configure(struct config *c, struct config_errors *errors);

/* The socket bound to this address, listening and non-blocking; the caller
 * owns it.  -ENOENT: none. */
int activation_take(const struct config_address *a);

/* Close what nothing was configured for, and say so. */
void activation_fini(void);

#endif
