/*
 * maintenance.h: taking a server out of service and back.  Proxy thread
 * only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_MAINTENANCE_H
#define TAILOR_PROXY_UPSTREAM_MAINTENANCE_H

#include "proxy/upstream/upstream.h"

/*
 * server_drain(s, force), server_restart(s, force):
 * Take it out of service once the other one is active, and wait for its
 * requests; restart: then end its program, start it, and serve again.
 *   force  also if there is no other server that is ready, and without
 *          waiting for the other one's next collection
 * Return 0 when that is begun, or -EBUSY: no other is ready; -EALREADY: it is
 * under way; -ENOTSUP (restart): we did not launch it.
 */
int server_drain(struct server *s, bool force);
int server_restart(struct server *s, bool force);

/* Back into service.  0, or -EALREADY, or -EBUSY in the middle of a restart. */
int server_return(struct server *s);

/* Go on as far as possible.  Every tick. */
void maintenance_tick(struct server *s, struct instant now);

/* What a server still has to do. */
void server_rest(const struct server *s, struct server_rest *out);

#endif
