/* admin.h: the administrator's listener: metrics, servers, slow requests,
 * timelines, health.
 *
 * HTTP on a Unix socket (default) or a loopback address, on the proxy thread,
 * over connections like those of the service's clients (clients.h), with
 * separate timeouts and limits.  There is no authentication: any process that
 * can connect may send requests.  Requests that a web page may have caused (an
 * Origin, a foreign Host) are refused, and every change needs POST. */
#pragma once

#include "base/instant.h"

/* The most connections at once, and the most blocks of memory for each: one to
 * read into, the others for a piece of a response (admin_call.c). */
#define ADMIN_CLIENTS_MAX 64
#define ADMIN_CLIENT_BLOCKS 3

struct admin;
struct config;
struct proxy;

/* The result of /reload. */
#define RELOAD_TEXT 4096

struct reload_result {
	bool asked;		   /* GET: nothing is changed or logged */
	const char *file;	   /* borrowed; NULL: there is no file */
	unsigned changed;	   /* keys that have a new value */
	unsigned errors;	   /* > 0: nothing was changed */
	char changes[RELOAD_TEXT]; /* paths of the changed keys, one a line */
	char complaints[RELOAD_TEXT];
};

/* Open the listener and accept.  Returns 0, with *out NULL if no listener is
 * configured; or -errno (logged if the address cannot be bound).
 *   reload  called for /reload: 0 or -errno; with out->asked for a GET, which
 *           changes nothing */
int admin_new(struct admin **out, struct proxy *p,
    int (*reload)(void *user, struct reload_result *out), void *user);

/* The same for metrics.listen of a configuration: GET of /metrics, /healthz and
 * /readyz only, for the clients in metrics.allow. */
int
admin_new_metrics(struct admin **out, struct proxy *p, const struct config *c);
/* Change who may connect to such a listener to the metrics.allow of c. */
void admin_allow(struct admin *a, const struct config *c);
void admin_free(struct admin **ap);

/* Resume accepting after a pause, and free closed clients for reuse.  a may be
 * NULL.  Call it at every tick. */
void admin_tick(struct admin *a, struct instant now);
