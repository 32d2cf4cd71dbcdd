/*
 * servers.h: all servers at once: set up, ticked, ended.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_SERVERS_H
#define TAILOR_PROXY_UPSTREAM_SERVERS_H

#include "proxy/upstream/upstream.h"

/* Set up the servers of up->config and begin to look for them.  The borrowed
 * members are set.  0 or -errno; upstream_fini also after that. */
int upstream_init(struct upstream *up);

/* Close all connections. */
void upstream_fini(struct upstream *up);

/* See what each server does.  Every tick. */
void upstream_tick(struct upstream *up, struct instant now);

#endif
