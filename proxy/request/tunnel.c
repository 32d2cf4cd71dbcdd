/* tunnel.c: upgrades to WebSocket.
 *
 * Where proxy.websocket allows it, the upgrade of a client is asked for anew
 * at the server; when that answers 101 the request becomes a tunnel: what the
 * client sends is passed on as it comes, what the server sends is the
 * response's endless body, and who does not read stops who sends.
 * Neither is framed or looked into.
 *
 * Only WebSocket: an upgrade that the two sides understand differently is a
 * smuggled request, and h2c is the known case.  A tunnel has one end and is
 * never hedged (E3).  Proxy thread only. */
#include "proxy/request/request.h"

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
