/* generation.c: being in force counts as one user. */
#include "config/generation.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int
generation_add(struct generation_list *all, struct config *config)
{
	struct generation *g = malloc(sizeof(*g));

	if (g == NULL) {
		config_free(&config);
		return -ENOMEM;
	}
	*g = (struct generation){.config = config, .users = 1};
	/* The observer uses the first generation to the end. */
	g->users += TAILQ_EMPTY(all);
	TAILQ_INSERT_HEAD(all, g, link);
	return 0;
}

struct generation *
generation_hold(struct generation_list *all)
{
	struct generation *g = TAILQ_FIRST(all);

	g->users++;
	return g;
}

void
generation_drop(struct generation_list *all, struct generation *g)
{
	assert(g->users > 0);
	if (--g->users > 0)
		return;
	TAILQ_REMOVE(all, g, link);
	config_free(&g->config);
	free(g);
}

void
generations_fini(struct generation_list *all)
{
	struct generation *g;

	while ((g = TAILQ_FIRST(all)) != NULL) {
		TAILQ_REMOVE(all, g, link);
		config_free(&g->config);
		free(g);
	}
}
