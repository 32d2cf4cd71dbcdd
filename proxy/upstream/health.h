/*
 * health.h: asking a server that is in service whether it is well.
 * Proxy thread only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_HEALTH_H
#define TAILOR_PROXY_UPSTREAM_HEALTH_H

#include "proxy/upstream/upstream.h"

void health_init(struct server *s);
/* Check again after the configured interval. */
void health_arm(struct server *s);
void health_stop(struct server *s);

#endif
