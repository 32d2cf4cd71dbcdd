/*
 * connect.h: making a connection to a server, by connection.c alone.
 *
 * One that cannot be made for a reason that passes (a full backlog, no
 * descriptor left) is tried again until proxy.connect_timeout; connection.h
 * says how often, and why only one of a server at a time.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_CONNECT_H
#define TAILOR_PROXY_UPSTREAM_CONNECT_H

#include "proxy/upstream/upstream.h"

/* Try once.  0: connected (BUSY), or to be tried again; else the errno with
 * which it was refused. */
int connect_try(struct connection *u);

/* What a connection in state CONNECTING does when its socket is writable, and
 * when its timer fires.  Calls its user; it may be gone afterwards. */
void connect_writable(struct connection *u);
void connect_timer(struct connection *u, bool forced);

/* Give the turn to connect to those of a server that wait for it. */
void connect_next(void *server);

/* In connection.c: into another state's list; no socket any more; a new
 * socket's events; a limit from now on. */
void connection_move(struct connection *u, enum connection_state state);
void connection_shut(struct connection *u);
void connection_watch(struct connection *u);
void connection_arm(struct connection *u, int64_t timeout_ns);

#endif
