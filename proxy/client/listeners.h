/* listeners.h: the sockets that clients connect to: opened, changed by a
 * reload, closed.  accept.c accepts connections on them.
 *
 * Proxy thread only. */
#pragma once

#include "proxy/client/clients.h"

#define LISTEN_BACKLOG 4096

/* Take the inherited socket of this address, or bind and listen; accepts no
 * connection yet.  0 or -errno, which listener_complain logs with advice. */
int listener_open(
    struct clients *all, const struct config_address *a, struct listener **out);
void listener_complain(const char *what, const char *address, int err);

/* Write the address that a socket is bound to. */
void listener_name(int fd, char *out, size_t size);

/* Accept connections from the backlog, one batch at most (accept.c). */
void listener_accept(evutil_socket_t fd, short what, void *listener);

/* Accept all connections in the backlog, before the listener is closed. */
void listener_empty(struct listener *l);

/* Listen on the addresses of next, and only there.  0, or -errno after logging
 * advice: no listener is changed then, and *failed is the address (borrowed
 * from next). */
int listeners_change(
    struct clients *all, const struct config *next, const char **failed);

/* Stop and resume accepting. */
void listeners_pause(struct clients *all, bool pause);

/* True if a socket outlives the process: its clients wait until the next
 * process accepts them. */
bool listener_outlives(const struct listener *l);

/* Close the listening sockets, after accepting the connections in their
 * backlogs.  end: close also those that outlive the process, and leave their
 * backlogs to the next one. */
void listeners_close(struct clients *all, bool end);

/* Begin without clients and listeners; the caller has set the borrowed members.
 * 0 or -errno; clients_fini, to call in both cases, closes and frees all. */
int clients_init(struct clients *all);
void clients_fini(struct clients *all);

/* Begin to accept clients on all listeners. */
void clients_accept(struct clients *all);

/* Accept clients again after a pause; check the queues.  Every tick. */
void clients_tick(struct clients *all, struct instant now);

/* --- sockets that systemd opened for us -------------------------------- */

/* Take the sockets over, and remove the environment variables that name them so
 * that no child uses them.  Once, at the start. */
void activation_init(void);

/* Set c's listen addresses from the sockets if it has none, and admin from the
 * socket of that name.  0, or -EINVAL or -ENOMEM with errors added. */
int activation_configure(struct config *c, struct config_errors *errors);

/* The name of sockets that the service manager kept for Tailor (sd_notify(3),
 * FDSTORE). */
#define LISTENER_KEPT "tailor-listen"

/* Returns the socket bound to this address, listening and non-blocking, which
 * the caller owns then; -ENOENT: none.  *kept: its name is LISTENER_KEPT. */
int activation_take(const struct config_address *a, bool *kept);

/* Close, and log, the sockets whose address is not configured.  Clients cannot
 * reach those of name LISTENER_KEPT afterwards. */
void activation_fini(void);
