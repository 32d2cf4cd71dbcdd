/* maintenance.c: taking a server out of service and back, and restarting it, so
 * that no request notices.
 *
 * First the other server becomes active (a switch: requests in flight stay
 * where they are).  Then this server is DOWN for the policy, which sends it
 * nothing.  Its program ends only when all its connections are at rest.  The
 * stages are enum maintenance (upstream.h).
 *
 * During a restart the other server serves alone, and its collection is a pause
 * for all requests.  So a restart begins just after the other server has
 * collected: it serves, with this one ready, until that happens.  With steering
 * the other server collects as a backup, on order, while this one serves. */

#include <errno.h>

#include "base/log.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"
#include "proxy/upstream/upstream.h"

/* A restart waits at most this long for the other server's collection. */
#define RESTART_WAIT_NS (10 * NS_PER_S)

static bool
other_ready(const struct server *s)
{
	const struct upstream *up = s->upstream;

	return up->hedging->server[1 - s->index].state == SERVER_READY &&
	       server_may_serve(&up->server[1 - s->index]);
}

/* Begin to drain a server that is not active any more, or that no other server
 * can replace. */
static void
take_down(struct server *s)
{
	struct upstream *up = s->upstream;
	struct instant now = instant_now();

	s->maintenance.stage = DRAINING;
	s->maintenance.cut_at =
	    s->config->drain_timeout_ns > 0
		? instant_plus(now, s->config->drain_timeout_ns)
		: INSTANT_NONE;
	timer_clear(&up->loop->timers, &s->probe.timer);
	timer_clear(&up->loop->timers, &s->warmup.timer);
	if (s->probe.link != NULL)
		connection_close(s->probe.link);
	s->probe.link = NULL;
	health_stop(s);
	collect_stop(s);
	log_event(LOG_LEVEL_NOTICE, "server_draining", "server=%s inflight=%u",
	    s->config->name, server_policy(s)->inflight);
	upstream_want(up, hedging_server_withdrawn(up->hedging, s->index, now));
}

/* True if a restart still waits for the other server's collection. */
static bool
waits(const struct server *s, struct instant now)
{
	return instant_before(now, s->maintenance.wait_until) &&
	       other_ready(s) &&
	       hedging_collection_due(
		   s->upstream->hedging, 1 - s->index, s->maintenance.since);
}

/* With steering: true if this server serves while the other one collects;
 * swaps back to this server for that if it is fresh. */
static bool
stands_in(const struct server *s, struct instant now)
{
	struct hedging *h = s->upstream->hedging;

	if (!server_policy(s)->steered || !h->server[1 - s->index].steered)
		return false;
	if (h->active != s->index && server_policy(s)->fresh)
		upstream_want(s->upstream, hedging_switch(h, now));
	return h->active == s->index;
}

static void
leave(struct server *s)
{
	struct upstream *up = s->upstream;
	struct instant now = instant_now();
	bool wait = waits(s, now);

	if (wait && stands_in(s, now))
		return;
	/* Make the other server active.  Its next collection makes this one
	 * active again; after that collection the drain begins. */
	if (up->hedging->active == s->index) {
		unsigned todo = hedging_switch(up->hedging, now);

		/* Refused while the other server pauses: try at next tick. */
		if (todo == 0)
			return;
		upstream_want(up, todo);
	}
	if (!wait)
		take_down(s);
}

static bool
at_rest(const struct server *s)
{
	const struct hedging_server *h = server_policy(s);

	return h->inflight == 0 && h->aside == 0 && s->waiting.count == 0 &&
	       s->connecting.count == 0 && s->busy.count == 0 &&
	       s->draining.count == 0;
}

void
server_rest(const struct server *s, struct server_rest *out)
{
	const struct upstream *up = s->upstream;

	*out = (struct server_rest){.losers = s->draining.count};
	up->events.rest(up->user, s, out);
}

/* True if the server is replaced by itself, at another address. */
static bool
moves(const struct server *s)
{
	return s->next.due && s->next.config != NULL &&
	       strcmp(s->next.config->name, s->config->name) == 0;
}

bool
server_blocks(const struct server *s, const struct config_server *c)
{
	return c != NULL && c->argc > 0 && s->config != NULL &&
	       s->program.state != CHILD_NONE &&
	       config_address_equal(&c->address, &s->config->address);
}

/* True if both servers are to be replaced, the other one first.  First goes the
 * one that blocks the other's successor, else the one that has a successor,
 * else the backup. */
static bool
goes_second(const struct server *s)
{
	const struct server *other = &s->upstream->server[1 - s->index];
	bool last = s->next.config == NULL;

	if (!s->next.due || !other->next.due)
		return false;
	if (server_blocks(s, other->next.config))
		return false;
	if (server_blocks(other, s->next.config))
		return true;
	if (last != (other->next.config == NULL))
		return last;
	return s->upstream->hedging->active == s->index;
}

bool
server_next_may_begin(const struct server *s)
{
	struct server_rest rest;

	if (!s->next.due || s->maintenance.stage != OUT_OF_SERVICE ||
	    server_blocks(&s->upstream->server[1 - s->index], s->next.config))
		return false;
	if (moves(s))
		return true;
	/* A request's description names its servers: wait for all requests that
	 * had an attempt here. */
	server_rest(s, &rest);
	return at_rest(s) && rest.known == 0;
}

/* The time for a drain is over: cut the exchanges that the server still has. */
static void
cut(struct server *s, struct instant now)
{
	struct server_rest rest;
	unsigned n;

	server_rest(s, &rest);
	if (rest.oldest != NULL)
		log_event(LOG_LEVEL_WARNING, "drain_cut",
		    "server=%s requests=%u tunnels=%u losers=%u oldest=%s "
		    "oldest_ms=%lld",
		    s->config->name, rest.requests, rest.tunnels, rest.losers,
		    rest.oldest,
		    (long long)(instant_since(now, rest.since) / NS_PER_MS));
	s->maintenance.cut_at = INSTANT_NONE;
	n = connection_cut_all(s, "drain_timeout");
	s->drain_cuts += n;
}

static void
come_to_rest(struct server *s, struct instant now)
{
	s->maintenance.stage = OUT_OF_SERVICE;
	connection_close_idle(s);
	connection_close_private(s);
	log_event(LOG_LEVEL_NOTICE, "server_drained", "server=%s took_ms=%lld",
	    s->config->name,
	    (long long)(instant_since(now, s->maintenance.since) / NS_PER_MS));
	if (s->next.due ? s->program.state == CHILD_NONE
			: !s->maintenance.restarting)
		return;
	s->maintenance.stage = STOPPING;
	/* The program may have ended by itself and be started again already. */
	s->upstream->events.stop(s);
}

/* Begin the drain of a server that is replaced, or wait for a later tick. */
static void
replace(struct server *s)
{
	bool up = server_policy(s)->state > SERVER_CONNECTING;
	bool alone = moves(s) || server_blocks(s, s->next.config);

	if (up && goes_second(s)) {
		s->maintenance.second = true;
		return;
	}
	if (up && (!alone || other_ready(s) ||
		      (s->maintenance.second &&
			  s->upstream->server[1 - s->index].config != NULL))) {
		leave(s);
		return;
	}
	/* No other server can serve: requests in flight finish beside the new
	 * server, unless the old program must end first. */
	take_down(s);
	if (moves(s) && s->program.state == CHILD_NONE)
		come_to_rest(s, s->maintenance.since);
}

void
maintenance_tick(struct server *s, struct instant now)
{
	switch (s->maintenance.stage) {
	case DRAIN_PENDING:
		if (s->next.due)
			replace(s);
		else
			leave(s);
		break;
	case DRAINING:
		if (instant_is_set(s->maintenance.cut_at) &&
		    !instant_before(now, s->maintenance.cut_at))
			cut(s, now);
		if (at_rest(s))
			come_to_rest(s, now);
		break;
	case STARTING:
		if (server_policy(s)->state != SERVER_READY)
			break;
		s->maintenance.stage = IN_SERVICE;
		log_event(LOG_LEVEL_NOTICE,
		    s->maintenance.restarting ? "server_restarted"
					      : "server_returned",
		    "server=%s took_ms=%lld", s->config->name,
		    (long long)(instant_since(now, s->maintenance.since) /
				NS_PER_MS));
		s->maintenance.restarting = false;
		break;
	case IN_SERVICE:
	case OUT_OF_SERVICE:
	case STOPPING:
		break;
	}
}

static int
go(struct server *s, bool force, bool restart)
{
	if (s->maintenance.stage != IN_SERVICE &&
	    s->maintenance.stage != STARTING)
		return -EALREADY;
	if (s->upstream->stopping || (!force && !other_ready(s)))
		return -EBUSY;
	s->maintenance.since = instant_now();
	s->maintenance.stage = DRAIN_PENDING;
	s->maintenance.restarting = restart;
	s->maintenance.second = false;
	s->maintenance.wait_until = s->maintenance.since;
	if (restart && !force)
		s->maintenance.wait_until =
		    instant_plus(s->maintenance.since, RESTART_WAIT_NS);
	if (waits(s, s->maintenance.since))
		log_event(LOG_LEVEL_NOTICE, "server_waits",
		    "server=%s at_most_ms=%lld why=\"the other server must "
		    "collect before it serves alone\"",
		    s->config->name, (long long)(RESTART_WAIT_NS / NS_PER_MS));
	if (force && !other_ready(s))
		take_down(s);
	else
		leave(s);
	return 0;
}

void
maintenance_replace(struct server *s)
{
	struct instant now = instant_now();

	/* An operator has drained the server, and its program runs. */
	if (s->maintenance.stage == OUT_OF_SERVICE &&
	    s->program.state != CHILD_NONE) {
		s->maintenance.since = now;
		come_to_rest(s, now);
		return;
	}
	if (s->maintenance.stage != IN_SERVICE &&
	    s->maintenance.stage != STARTING)
		return; /* a drain or restart is under way */
	s->maintenance.since = now;
	s->maintenance.wait_until = s->maintenance.since;
	s->maintenance.restarting = false;
	s->maintenance.second = false;
	s->maintenance.stage = DRAIN_PENDING;
	replace(s);
}

int
server_drain(struct server *s, bool force)
{
	return go(s, force, false);
}

int
server_restart(struct server *s, bool force)
{
	int err;

	if (s->config->argc == 0)
		return -ENOTSUP;
	if (s->maintenance.restarting)
		return -EALREADY;
	if (s->maintenance.stage == OUT_OF_SERVICE) {
		s->maintenance.since = instant_now();
		s->maintenance.restarting = true;
		come_to_rest(s, s->maintenance.since);
		return 0;
	}
	err = go(s, force, true);
	/* A drain that is under way becomes a restart. */
	if (err == 0 ||
	    (err == -EALREADY && s->maintenance.stage != STOPPING)) {
		s->maintenance.restarting = true;
		err = 0;
	}
	return err;
}

int
server_return(struct server *s)
{
	if (s->maintenance.stage == IN_SERVICE ||
	    s->maintenance.stage == STARTING)
		return -EALREADY;
	if (s->maintenance.stage == STOPPING || s->next.due)
		return -EBUSY;
	s->maintenance.restarting = false;
	if (s->maintenance.stage == DRAIN_PENDING) {
		s->maintenance.stage = IN_SERVICE;
		return 0;
	}
	s->maintenance.since = instant_now();
	/* The program has ended because the server was to be replaced: start
	 * it again. */
	if (s->config->argc > 0 && s->program.state == CHILD_NONE) {
		s->maintenance.stage = STOPPING;
		s->upstream->events.stop(s);
		return 0;
	}
	s->maintenance.stage = STARTING;
	server_lost(s);
	return 0;
}
