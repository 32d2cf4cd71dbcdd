/* admin.h: the administrator's listener: metrics, servers, slow requests,
 * timelines, health.
 *
 * HTTP on a Unix socket (default) or a loopback address, on the proxy thread,
 * over connections like those of the service's clients (clients.h), with times
 * and limits of its own.  It is not authenticated: a process that may connect
 * may ask.  Requests that a browser was tricked into (an Origin, a foreign
 * Host) are refused, and what changes anything wants POST. */
#pragma once

#include "base/instant.h"

/* Connections at once, and the most blocks of memory that one has: to read
 * into, and for a piece of a response (admin_call.c). */
#define ADMIN_CLIENTS_MAX 64
#define ADMIN_CLIENT_BLOCKS 3

struct admin;
struct proxy;

/* The response to POST /reload, in numbers and texts. */
#define RELOAD_TEXT 4096

struct reload_result {
	unsigned changed;	   /* keys that have a new value */
	unsigned errors;	   /* > 0: nothing was changed */
	char changes[RELOAD_TEXT]; /* their paths, a line each */
	char complaints[RELOAD_TEXT];
};

/* Open the listener and accept.  0 also when none is configured, or -errno,
 * which is logged if the address cannot be bound.
 *   reload  does what POST /reload asks for: 0 or -errno */
int admin_new(struct admin **out, struct proxy *p,
    int (*reload)(void *user, struct reload_result *out), void *user);

/* The same for metrics.listen: GET of /metrics, /healthz and /readyz only, for
 * the clients in metrics.allow. */
int admin_new_metrics(struct admin **out, struct proxy *p);
void admin_free(struct admin **ap);

/* Accept again after a pause, and reuse closed clients.  a may be NULL.  Every
 * tick. */
void admin_tick(struct admin *a, struct instant now);
