/*
 * listeners.h: the sockets that clients connect to: opened, changed by a
 * reload, closed.  What comes in through them is accept.c's.
 *
 * Proxy thread only.
 */
#ifndef TAILOR_PROXY_CLIENT_LISTENERS_H
#define TAILOR_PROXY_CLIENT_LISTENERS_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "config/config.h"

struct clients;

/* Twice the configured most: in a change there are old and new ones. */
#define LISTENERS (2 * CONFIG_LISTENERS)
#define LISTENER_NAME 160

#define LISTEN_BACKLOG 4096

struct listener {
	struct clients *clients; /* borrowed */
	int fd;			 /* owned; -1: this place is free */
	struct event event;
	struct sockaddr_storage address; /* as configured */
	socklen_t length;
	char name[LISTENER_NAME]; /* as bound */
	bool unix_socket;
	bool inherited; /* systemd's: it outlives us */
	bool fresh;	/* opened by the change under way */
};

/* Take the inherited socket of this address, or bind and listen; a descriptor
 * or -errno.  Shared with the admin listener, as is what to tell the user
 * when it fails, and the address as bound. */
int listener_bind(const struct config_address *a, bool *inherited);
void listener_complain(const char *what, const char *address, int err);
void listener_name(int fd, char *out, size_t size);

/* Accept what waits in the queue, a batch at most (accept.c). */
void listener_accept(evutil_socket_t fd, short what, void *listener);

/* Accept all that wait: it is about to be closed. */
void listener_empty(struct listener *l);

/* No listener yet. */
void listeners_init(struct clients *all);

/*
 * listeners_change(all, next, failed):
 * Listen where next says, and only there.  0, or -errno after saying what to
 * do, with nothing changed and *failed the address (borrowed from next).
 */
int listeners_change(
    struct clients *all, const struct config *next, const char **failed);

/* Stop and resume accepting. */
void listeners_pause(struct clients *all, bool pause);

/* Close the listening sockets; accept_waiting: not without taking on the
 * connections that are in their queues. */
void listeners_close(struct clients *all, bool accept_waiting);

#endif
