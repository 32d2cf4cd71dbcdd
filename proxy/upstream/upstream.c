/*
 * upstream.c: all servers at once.
 */
#include "proxy/upstream/upstream.h"

int
upstream_init(struct upstream *up)
{
	int err = replay_table_init(&up->replay);

	for (unsigned i = 0; err == 0 && i < up->config->servers; i++)
		err = server_init(&up->server[i], up, i);
	return err;
}

void
upstream_fini(struct upstream *up)
{
	for (unsigned i = 0; i < CONFIG_SERVERS; i++)
		server_fini(&up->server[i]);
	replay_table_fini(&up->replay);
}

void
upstream_tick(struct upstream *up, struct instant now)
{
	for (unsigned i = 0; i < up->config->servers; i++)
		server_tick(&up->server[i], now);
}
