/*
 * write_queue.c: see write_queue.h.
 */
#include "proxy/net/write_queue.h"

#include "proxy/client/client.h"
#include "proxy/upstream/exchange.h"
#include "proxy/request/proxy.h"

void
sending_init(struct sending *s)
{
	TAILQ_INIT(&s->uplinks);
	TAILQ_INIT(&s->clients);
}

void
sending_add_uplink(struct uplink *u)
{
	struct sending *s = &u->proxy->sending;

	if (u->unsent || u->writing)
		return;
	u->unsent = true;
	TAILQ_INSERT_TAIL(&s->uplinks, u, unsent_link);
	s->count++;
}

void
sending_add_client(struct client *c)
{
	struct sending *s = &c->proxy->sending;

	if (c->unsent || c->writing || c->closed)
		return;
	c->unsent = true;
	TAILQ_INSERT_TAIL(&s->clients, c, unsent_link);
	s->count++;
}

void
sending_drop_uplink(struct uplink *u)
{
	struct sending *s = &u->proxy->sending;

	if (!u->unsent)
		return;
	u->unsent = false;
	TAILQ_REMOVE(&s->uplinks, u, unsent_link);
	s->count--;
}

void
sending_drop_client(struct client *c)
{
	struct sending *s = &c->proxy->sending;

	if (!c->unsent)
		return;
	c->unsent = false;
	TAILQ_REMOVE(&s->clients, c, unsent_link);
	s->count--;
}

void
sending_run(struct proxy *p)
{
	struct sending *s = &p->sending;
	struct client *c;
	struct uplink *u;

	/* Servers first: they have work to do.  An answer that is out may
	 * bring its client's next request. */
	while (s->count > 0)
		if ((u = TAILQ_FIRST(&s->uplinks)) != NULL)
			exchange_write(u);
		else if ((c = TAILQ_FIRST(&s->clients)) != NULL)
			client_flush(c);
}

void
sending_bound(struct proxy *p)
{
	if (p->sending.count >= SENDING_MAX)
		sending_run(p);
}
