/*
 * stop.c: ending without losing what is under way.
 *
 * SIGTERM closes the listeners (after taking on what waits in their queues).
 * Requests in flight finish; every answer from now on says Connection: close.
 * Idle connections are kept for proxy.stop_idle, since a request may be on
 * its way on them, and then closed.  Launched servers are ended once no
 * client needs them.  proxy.stop_timeout or a second signal cuts what is
 * left, and the last line of the log counts it.
 */
#include "base/log.h"
#include "proxy/daemon/notify.h"
#include "proxy/request/proxy.h"

/* Connections on which nothing is under way need not be waited for. */
static void
close_idle_clients(struct proxy *p)
{
	struct client *c, *next;

	for (c = TAILQ_FIRST(&p->clients); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state == CLIENT_IDLE && c->out.bytes == 0)
			client_close(c);
	}
}

static void
cut_clients(struct proxy *p, const char *why)
{
	struct client *c;

	if (p->client_count == 0)
		return;
	p->cut_requests += p->table.inflight_count;
	p->cut_connections += p->client_count;
	log_event(LOG_LEVEL_WARNING, "stop_cut",
	    "why=%s requests=%u connections=%u", why, p->table.inflight_count,
	    p->client_count);
	while ((c = TAILQ_FIRST(&p->clients)) != NULL)
		client_close(c);
}

static bool
children_alive(const struct proxy *p)
{
	for (unsigned i = 0; i < p->config->servers; i++)
		if (server_child_alive(&p->server[i]))
			return true;
	return false;
}

void
proxy_stop_tick(struct proxy *p, struct instant now)
{
	if (!instant_before(now, p->stop_idle_due))
		close_idle_clients(p);
	if (!instant_before(now, p->stop_due))
		cut_clients(p, "stop_timeout");
	if (p->client_count > 0)
		return;
	for (unsigned i = 0; i < p->config->servers; i++)
		server_stop(&p->server[i]);
	if (!children_alive(p))
		p->stopped = true;
}

void
proxy_stop(struct proxy *p, const char *why)
{
	const struct config *c = p->config;
	struct instant now = instant_now();

	if (p->stopping) {
		cut_clients(p, why);
		p->stopped = true;
		return;
	}
	/* Whoever reads that it is stopping finds nobody listening. */
	listeners_close(p, true);
	log_event(LOG_LEVEL_NOTICE, "stopping",
	    "why=%s requests=%u connections=%u", why, p->table.inflight_count,
	    p->client_count);
	notify_stopping();
	p->stopping = true;
	p->stop_due = instant_plus(now, c->proxy.stop_timeout_ns);
	p->stop_idle_due = instant_plus(now, c->proxy.stop_idle_ns);
	proxy_stop_tick(p, now);
}
