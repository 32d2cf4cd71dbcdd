/* notify.h: reporting to the service manager (sd_notify(3)), without
 * libsystemd: datagrams to the socket that $NOTIFY_SOCKET names.
 *
 * Nothing is sent where there is no such socket.  Proxy thread only. */
#pragma once

#include "base/instant.h"

struct clients;
struct proxy;

/* Look for the socket, the watchdog's period and the store of descriptors in
 * the environment, and remove them from it: launched servers must not answer
 * for us. */
void notify_init(void);
void notify_fini(void);

/* Report that Tailor is ready to serve; also after a reload. */
void notify_ready(const struct proxy *p);
void notify_reloading(void);
void notify_stopping(void);

/* Have the manager keep the sockets that clients connect to, and no others, for
 * the next process, if $FDSTORE says that the manager keeps any.  Call it after
 * each change of these sockets. */
void notify_keep(struct clients *all);

/* Feed the watchdog, and send the status if it has changed, at most once a
 * second.  If the loop hangs, the watchdog is not fed and the manager restarts
 * Tailor. */
void notify_tick(const struct proxy *p, struct instant now);

/* How often notify_tick must be called for the watchdog, ns; 0: there is
 * none. */
int64_t notify_watchdog_ns(void);
