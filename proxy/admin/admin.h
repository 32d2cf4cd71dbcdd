/*
 * admin.h: the administrator's listener: metrics, servers, slow requests,
 * timelines, health.
 *
 * libevent's HTTP server on a Unix socket (default) or a loopback address, on
 * the proxy thread.  It is not authenticated: who may connect to the socket
 * may ask.  Requests that a browser was tricked into (an Origin, a foreign
 * Host) are refused, and what changes anything wants POST.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_H
#define TAILOR_PROXY_ADMIN_ADMIN_H

#include <stdbool.h>

struct admin;
struct proxy;

/*
 * Open it.  0 also when none is configured, or when the default socket could
 * not be made (logged: the proxy goes on without).  -errno for a configured
 * address that cannot be bound.
 */
int admin_new(struct admin **out, struct proxy *p);
void admin_free(struct admin **ap);

struct proxy *admin_proxy(const struct admin *a);

/* Whether it listens on a Unix socket. */
bool admin_is_unix(const struct admin *a);

#endif
