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

/* Ready to serve; also after a reload. */
void notify_ready(const struct proxy *p);
void notify_reloading(void);
void notify_stopping(void);

/* Have the manager keep the sockets that clients connect to, and no others, for
 * the process that comes after this one: if $FDSTORE says that it keeps any.
 * After each change of them. */
void notify_keep(struct clients *all);

/* To be called from the loop at least every 10 ms or so: feeds the watchdog
 * (which so bites when the loop hangs) and sends the status when it has
 * changed, at most once a second. */
void notify_tick(const struct proxy *p, struct instant now);
