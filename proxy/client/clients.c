/*
 * clients.c: all clients at once.
 */
#include "proxy/client/clients.h"

#include <stdlib.h>

int
clients_init(struct clients *all)
{
	TAILQ_INIT(&all->open);
	TAILQ_INIT(&all->closed);
	TAILQ_INIT(&all->unused);
	listeners_init(all);
	return peer_table_init(&all->peers, all->config->proxy.connections_max);
}

void
clients_reap(struct clients *all)
{
	TAILQ_CONCAT(&all->unused, &all->closed, link);
}

void
clients_fini(struct clients *all)
{
	struct client *c;

	if (all->loop == NULL)
		return;
	listeners_close(all, false);
	while ((c = TAILQ_FIRST(&all->open)) != NULL)
		client_close(c);
	clients_reap(all);
	while ((c = TAILQ_FIRST(&all->unused)) != NULL) {
		TAILQ_REMOVE(&all->unused, c, link);
		free(c);
	}
	peer_table_fini(&all->peers);
}

void
clients_accept(struct clients *all)
{
	all->accepting = ACCEPT_ON;
	listeners_pause(all, false);
}

void
clients_tick(struct clients *all, struct instant now)
{
	if (all->accepting == ACCEPT_PAUSED && !all->stopping &&
	    !instant_before(now, all->accept_due))
		clients_accept(all);
}
