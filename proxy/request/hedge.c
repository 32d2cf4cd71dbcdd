/* hedge.c: carries out the policy's actions: second attempts for requests that
 * wait on a server in a hazard, cancelling hedges that are not needed, warming
 * servers up, running the queue.
 *
 * A hedge that fails at once changes a server's state, which may cause further
 * actions: these are put off, and done after the present ones. */
#include "proxy/request/hazards.h"

#include "proxy/request/attempt.h"
#include "proxy/request/queue.h"
#include "proxy/request/request.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"

/* Decide on a second attempt for each request in flight, oldest first. */
static void
sweep(struct proxy *p)
{
	struct request *r, *next;

	for (r = TAILQ_FIRST(&p->table.inflight); r != NULL; r = next) {
		enum hedge_trigger trigger;
		unsigned server;

		next = TAILQ_NEXT(r, link);
		if (r->state != REQUEST_RUNNING || r->race.started != 1 ||
		    r->attempt[0].link == NULL)
			continue;
		server = (unsigned)r->race.attempt[0].server;
		trigger = hedging_hazard_trigger(&p->hedging, server);
		if (trigger == HEDGE_FIRST)
			continue;
		/* A request of any method that its server has not seen moves to
		 * the active server, when the queue runs afterwards. */
		if (server == p->hedging.active || !request_move(r))
			request_hedge(r, trigger);
	}
}

/* T3: the hazard is over; hedges not written yet are not needed. */
static void
cancel_idle(struct proxy *p)
{
	struct request *r;

	TAILQ_FOREACH(r, &p->table.inflight, link)
	if (r->state == REQUEST_RUNNING &&
	    hedging_hedge_obsolete(&p->hedging, &r->race) &&
	    r->attempt[1].link != NULL && !exchange_written(r->attempt[1].link))
		attempt_cancel(&r->attempt[1]);
}

/* B1: hedges and new requests take turns at free slots: sweep first if it is
 * the hedges' turn. */
static void
hedges_first(struct proxy *p)
{
	UPSTREAM_EACH(&p->upstream, i)
	if (hedging_hedge_turn(&p->hedging, i)) {
		p->hedges_wait = false;
		sweep(p);
		return;
	}
}

void
proxy_carry_out(void *user)
{
	struct proxy *p = user;
	unsigned wanted = p->wanted;

	p->wanted = 0;
	if (wanted & HEDGING_CANCEL)
		cancel_idle(p);
	if (wanted & HEDGING_SWEEP)
		sweep(p);
	if (wanted & HEDGING_WARMUP)
		UPSTREAM_EACH(&p->upstream, i)
	server_warm(&p->upstream.server[i]);
	if (p->hedges_wait)
		hedges_first(p);
	queue_run(p);
}
