/* generation.h: the configuration in force, and older ones that are in use.
 *
 * A request keeps the configuration that it began under until it is finished,
 * so there may be several for a while.  Not for use by two threads. */
#pragma once

#include <sys/queue.h>

#include "config/config.h"

struct generation {
	TAILQ_ENTRY(generation) link;
	struct config *config; /* owned */
	unsigned users;
};

/* All generations, the newest first. */
TAILQ_HEAD(generation_list, generation);

/* Put config in force; takes ownership of it, even on failure.  The first
 * generation stays until generations_fini.  0 or -ENOMEM. */
int generation_add(struct generation_list *all, struct config *config);

/* Take a reference to the generation in force; generation_drop releases it. */
struct generation *generation_hold(struct generation_list *all);

/* Release a reference; the last one frees the generation.  One reference is for
 * being in force. */
void generation_drop(struct generation_list *all, struct generation *g);

/* Free all, used or not. */
void generations_fini(struct generation_list *all);
