/*
 * reload.h: changing the configuration of a running tailor.
 *
 * A new configuration is read and judged whole before anything changes; if
 * any of it is wrong, or wants a restart, the one in force stays.  A request
 * keeps the configuration that it began under until it is finished, so there
 * may be several generations for a while.
 *
 * Costs the proxy thread the reading of a file: about a millisecond.  Proxy
 * thread only.
 */
#ifndef TAILOR_PROXY_DAEMON_RELOAD_H
#define TAILOR_PROXY_DAEMON_RELOAD_H

#include <sys/queue.h>

#include "config/config.h"

struct proxy;

/* One configuration, in force or still used by requests. */
struct generation {
	TAILQ_ENTRY(generation) link;
	struct config *config; /* owned */
	unsigned users;
};

TAILQ_HEAD(generation_list, generation);

/* Where configurations come from: 0 and *out, or -errno with errors. */
struct config_source {
	int (*read)(
	    void *user, struct config **out, struct config_errors *errors);
	void *user; /* borrowed */
};

#define RELOAD_TEXT 4096

struct reload_result {
	unsigned changed;	   /* keys that have a new value */
	unsigned errors;	   /* > 0: nothing was changed */
	char changes[RELOAD_TEXT]; /* their paths, a line each */
	char complaints[RELOAD_TEXT];
};

/* Make config (taken in any case) the first generation.  It stays to the end,
 * since the observer refers to it.  0 or -ENOMEM. */
int generations_init(struct proxy *p, struct config *config);
void generations_fini(struct proxy *p);

/* The generation in force, for as long as the caller needs it. */
struct generation *generation_hold(struct proxy *p);
void generation_drop(struct proxy *p, struct generation *g);

/*
 * proxy_reload(p, why, out):
 * Read the configuration again and change to it.  Everything is logged and
 * counted; out may be NULL.  Returns 0, -EBUSY when stopping, or -EINVAL.
 */
int proxy_reload(struct proxy *p, const char *why, struct reload_result *out);

#endif
