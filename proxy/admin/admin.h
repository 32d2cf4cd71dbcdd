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

struct admin;
struct proxy;

struct reload_result;

/*
 * Open it.  0 also when none is configured, or when the default socket could
 * not be made (logged: the proxy goes on without).  -errno for a configured
 * address that cannot be bound.
 *   reload  does what POST /reload asks for: 0 or -errno
 */
int admin_new(struct admin **out, struct proxy *p,
    int (*reload)(void *user, struct reload_result *out), void *user);
void admin_free(struct admin **ap);

#endif
