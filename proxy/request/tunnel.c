/* tunnel.c: upgrades to WebSocket.
 *
 * If proxy.websocket allows it, Tailor requests a client's upgrade from the
 * server.  After the server's 101 the request becomes a tunnel: the client's
 * bytes are passed on as they come, the server's bytes are the response's
 * endless body, and a side that does not read stops the other side's sending.
 * Tailor neither frames nor parses these bytes.
 *
 * Only WebSocket is allowed: an upgrade that client and server understand
 * differently can smuggle a request; h2c is the known case.  A tunnel goes to
 * one server and is never hedged (E3).  Proxy thread only. */
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
	/* Bytes that came before the 101 are passed on later, then the end. */
	bool over = c->ended && c->in == NULL;

	r->tunnel = true;
	r->body_whole = over;
	p->metrics.tunnels++;
	p->tunnels++;
	timer_clear(&p->loop.timers, &r->deadline_timer);
	client_tunnel(c);
	if (a->link != NULL)
		exchange_tunnel(a->link, &r->body, over);
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
