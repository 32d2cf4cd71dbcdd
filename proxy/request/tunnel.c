/*
 * tunnel.c: bytes of an upgraded connection, both ways.
 */
#include "proxy/request/tunnel.h"

#include "proxy/client/client.h"
#include "proxy/upstream/connection.h"
#include "proxy/request/proxy.h"

void
tunnel_begin(struct attempt *a)
{
	struct request *r = a->request;
	struct client *c = r->client;
	struct proxy *p = r->proxy;

	r->tunnel = true;
	r->body_whole = c->ended;
	p->metrics.tunnels++;
	p->tunnels++;
	timer_clear(&p->loop.timers, &r->deadline_timer);
	client_tunnel(c);
	if (a->link != NULL)
		exchange_tunnel(a->link, &r->body, c->ended);
}

void
tunnel_pass(struct request *r, struct chain *data)
{
	const struct attempt *a = &r->attempt[r->race.winner];

	if (data == NULL)
		r->body_whole = true;
	else
		chain_merge(&r->body, data, &r->proxy->loop.blocks);
	if (chain_held(&r->body) > STREAM_BUFFER_BYTES)
		client_pause(r->client);
	if (a->on && a->link != NULL)
		exchange_more(a->link, r->body_whole);
}
