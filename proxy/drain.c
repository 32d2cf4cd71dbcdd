/*
 * drain.c: taking a server out of service and back, and restarting it, so
 * that no request notices.
 *
 * The server first hands its role to the other one (a switch: requests in
 * flight stay where they are), and is then down for the policy, which sends
 * it nothing.  Only when all its connections have come to rest may its
 * program end.  The stages are enum duty (server.h).
 *
 * While one server is restarted the other one is alone, and a collection of
 * its would be a pause for everybody.  So a restart first lets it serve with
 * this one ready behind it, and begins when it has just collected.
 */
#include <errno.h>

#include "base/log.h"
#include "proxy/proxy.h"
#include "proxy/server.h"

/* How long a restart lets the other server serve until it has collected. */
#define RESTART_WAIT_NS (10 * NS_PER_S)

static bool
other_ready(const struct server *s)
{
	const struct proxy *p = s->proxy;

	return p->config->servers > 1 &&
	       p->hedging.server[1 - s->index].state == SERVER_READY &&
	       server_on_duty(&p->server[1 - s->index]);
}

/* It is not the active one any more, or nobody else could be. */
static void
take_down(struct server *s)
{
	struct proxy *p = s->proxy;
	struct instant now = instant_now();

	s->duty = DUTY_DRAINS;
	s->cut_at = s->config->drain_timeout_ns > 0
			? instant_plus(now, s->config->drain_timeout_ns)
			: INSTANT_NONE;
	timer_clear(&p->timers, &s->probe_timer);
	timer_clear(&p->timers, &s->warmup_timer);
	if (s->probe != NULL)
		uplink_close(s->probe);
	s->probe = NULL;
	health_stop(s);
	log_event(LOG_LEVEL_NOTICE, "server_draining", "server=%s inflight=%u",
	    s->config->name, p->hedging.server[s->index].inflight);
	proxy_apply(p, hedging_server_down(&p->hedging, s->index, now));
}

/* Whether the other one is to collect first. */
static bool
waits(const struct server *s, struct instant now)
{
	return instant_before(now, s->wait_until) && other_ready(s) &&
	       hedging_collection_due(
		   &s->proxy->hedging, 1 - s->index, s->duty_since);
}

static void
leave(struct server *s)
{
	struct proxy *p = s->proxy;
	struct instant now = instant_now();
	bool wait = waits(s, now);

	/* The other one will collect when it serves.  That makes this one
	 * active again, and when it is over it is time to go. */
	if (p->hedging.active == s->index) {
		unsigned todo = hedging_switch(&p->hedging, now);

		/* Refused while the other one is in a pause: next tick. */
		if (todo == 0)
			return;
		proxy_apply(p, todo);
	}
	if (!wait)
		take_down(s);
}

static bool
at_rest(const struct server *s)
{
	const struct hedging_server *h = &s->proxy->hedging.server[s->index];

	return h->inflight == 0 && h->aside == 0 && s->waiting_count == 0 &&
	       s->connecting_count == 0 && s->busy_count == 0 &&
	       s->draining_count == 0;
}

void
server_rest(const struct server *s, struct server_rest *out)
{
	const struct request *r;

	*out = (struct server_rest){.losers = s->draining_count};
	TAILQ_FOREACH(r, &s->proxy->table.inflight, link)
	for (unsigned i = 0; i < r->race.started; i++) {
		const struct attempt *a = &r->attempt[i];

		if (a->link == NULL || a->link->server != s)
			continue;
		out->tunnels += r->tunnel;
		out->requests += !r->tunnel;
		if (out->oldest == NULL)
			out->oldest = r;
		break;
	}
}

/* It has had its time. */
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
		    rest.oldest->external_id,
		    (long long)(instant_since(now, rest.oldest->first_byte) /
				NS_PER_MS));
	s->cut_at = INSTANT_NONE;
	n = uplink_cut_all(s, "drain_timeout");
	s->drain_cuts += n;
}

static void
come_to_rest(struct server *s, struct instant now)
{
	s->duty = DUTY_RESTS;
	uplink_close_idle(s);
	log_event(LOG_LEVEL_NOTICE, "server_drained", "server=%s took_ms=%lld",
	    s->config->name,
	    (long long)(instant_since(now, s->duty_since) / NS_PER_MS));
	if (!s->restarting)
		return;
	s->duty = DUTY_ENDS;
	/* It may have ended by itself meanwhile and be started already. */
	server_stop(s);
}

void
server_duty_tick(struct server *s, struct instant now)
{
	struct proxy *p = s->proxy;

	switch (s->duty) {
	case DUTY_LEAVES:
		leave(s);
		break;
	case DUTY_DRAINS:
		if (instant_is_set(s->cut_at) &&
		    !instant_before(now, s->cut_at))
			cut(s, now);
		if (at_rest(s))
			come_to_rest(s, now);
		break;
	case DUTY_STARTS:
		if (p->hedging.server[s->index].state != SERVER_READY)
			break;
		s->duty = DUTY_SERVES;
		log_event(LOG_LEVEL_NOTICE,
		    s->restarting ? "server_restarted" : "server_returned",
		    "server=%s took_ms=%lld", s->config->name,
		    (long long)(instant_since(now, s->duty_since) / NS_PER_MS));
		s->restarting = false;
		break;
	case DUTY_SERVES:
	case DUTY_RESTS:
	case DUTY_ENDS:
		break;
	}
}

static int
go(struct server *s, bool force, bool restart)
{
	if (s->duty != DUTY_SERVES && s->duty != DUTY_STARTS)
		return -EALREADY;
	if (s->proxy->stopping || (!force && !other_ready(s)))
		return -EBUSY;
	s->duty_since = instant_now();
	s->duty = DUTY_LEAVES;
	s->restarting = restart;
	s->wait_until = s->duty_since;
	if (restart && !force)
		s->wait_until = instant_plus(s->duty_since, RESTART_WAIT_NS);
	if (waits(s, s->duty_since))
		log_event(LOG_LEVEL_NOTICE, "server_waits",
		    "server=%s at_most_ms=%lld why=\"the other one is to "
		    "collect before it is alone\"",
		    s->config->name, (long long)(RESTART_WAIT_NS / NS_PER_MS));
	if (force && !other_ready(s))
		take_down(s);
	else
		leave(s);
	return 0;
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
	if (s->restarting)
		return -EALREADY;
	if (s->duty == DUTY_RESTS) {
		s->duty_since = instant_now();
		s->restarting = true;
		come_to_rest(s, s->duty_since);
		return 0;
	}
	err = go(s, force, true);
	/* One that is being drained goes on to be restarted. */
	if (err == 0 || (err == -EALREADY && s->duty != DUTY_ENDS)) {
		s->restarting = true;
		err = 0;
	}
	return err;
}

int
server_return(struct server *s)
{
	if (s->duty == DUTY_SERVES || s->duty == DUTY_STARTS)
		return -EALREADY;
	if (s->duty == DUTY_ENDS)
		return -EBUSY;
	s->restarting = false;
	if (s->duty == DUTY_LEAVES) {
		s->duty = DUTY_SERVES;
		return 0;
	}
	s->duty = DUTY_STARTS;
	s->duty_since = instant_now();
	server_lost(s);
	return 0;
}
