/*
 * standby.h: keeping a standby ready to take over.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_STANDBY_H
#define TAILOR_PROXY_UPSTREAM_STANDBY_H

#include "proxy/upstream/upstream.h"

/* See that a standby is there, ask where only that can show that it is well
 * again, and keep connections of it open, as many as there were requests in
 * flight lately.  Every tick (standby.c). */
void standby_tick(struct server *s, struct instant now);

#endif
