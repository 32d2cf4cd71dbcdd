/* listeners.h: the sockets that clients connect to: opened, changed by a
 * reload, closed.  What comes in through them is accept.c's.
 *
 * Proxy thread only. */
#pragma once

#include "proxy/client/clients.h"

#define LISTEN_BACKLOG 4096

/* Take the inherited socket of this address, or bind and listen; nothing is
 * accepted yet.  0 or -errno, which listener_complain explains. */
int listener_open(
    struct clients *all, const struct config_address *a, struct listener **out);
void listener_complain(const char *what, const char *address, int err);

/* Write the address that a socket is bound to. */
void listener_name(int fd, char *out, size_t size);

/* Accept what waits in the queue, a batch at most (accept.c). */
void listener_accept(evutil_socket_t fd, short what, void *listener);

/* Accept all that wait: it is about to be closed. */
void listener_empty(struct listener *l);

/* Listen where next says, and only there.  0, or -errno after saying what to
 * do, with nothing changed and *failed the address (borrowed from next). */
int listeners_change(
    struct clients *all, const struct config *next, const char **failed);

/* Stop and resume accepting. */
void listeners_pause(struct clients *all, bool pause);

/* True if a socket outlives the process: clients that connect to it wait for
 * the next one. */
bool listener_outlives(const struct listener *l);

/* Close the listening sockets.  end: those that outlive the process, too, whose
 * queues are left alone; the connections that wait in others are accepted. */
void listeners_close(struct clients *all, bool end);

/* Begin without clients and listeners.  The borrowed members are set.  0 or
 * -errno; clients_fini also after that: it closes all and frees all. */
int clients_init(struct clients *all);
void clients_fini(struct clients *all);

/* Begin to accept clients on all listeners. */
void clients_accept(struct clients *all);

/* Accept clients again after a pause.  Every tick. */
void clients_tick(struct clients *all, struct instant now);

/* --- sockets that systemd opened for us -------------------------------- */

/* Take the sockets over and remove the variables, so that no child takes
 * them for its own.  Once, at the start. */
void activation_init(void);

/* Fill in listen if there is none, and admin if a socket has that name.  0 or
 * -EINVAL, -ENOMEM with errors added. */
int activation_configure(struct config *c, struct config_errors *errors);

/* The name of sockets that the manager kept for us (sd_notify(3), FDSTORE). */
#define LISTENER_KEPT "tailor-listen"

/* The socket bound to this address, listening and non-blocking; the caller
 * owns it.  *kept: it is one that was kept for us.  -ENOENT: none. */
int activation_take(const struct config_address *a, bool *kept);

/* Close what nothing was configured for, and say so; what was kept for us no
 * client can reach any more. */
void activation_fini(void);
