/* stop.c: ending without losing what is under way.
 *
 * SIGTERM closes the listeners (after taking on what waits in their queues).
 * Requests in flight finish; every answer from now on says Connection: close.
 * Idle connections are kept for a thirtieth of proxy.stop_timeout, since a
 * request may be on its way on them, and then closed.  Launched servers are
 * ended once no client needs them.  proxy.stop_timeout or a second signal cuts
 * what is left, and the last line of the log counts it. */
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/notify.h"
#include "proxy/client/client.h"
#include "proxy/client/listeners.h"

/* A second of the default of 30: many round trips, and no client that has more
 * to send waits longer with it. */
#define IDLE_SHARE 30

/* Connections on which nothing is under way need not be waited for. */
static void
close_idle_clients(struct proxy *p)
{
	struct client *c, *next;

	for (c = TAILQ_FIRST(&p->clients.open); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state == CLIENT_IDLE && c->out.bytes == 0)
			client_close(c);
	}
}

static void
cut_clients(struct daemon *d, const char *why)
{
	struct proxy *p = &d->proxy;
	struct client *c;

	if (p->clients.count == 0)
		return;
	d->cut_requests += p->table.inflight_count;
	d->cut_connections += p->clients.count;
	log_event(LOG_LEVEL_WARNING, "stop_cut",
	    "why=%s requests=%u connections=%u", why, p->table.inflight_count,
	    p->clients.count);
	while ((c = TAILQ_FIRST(&p->clients.open)) != NULL)
		client_close(c);
}

static bool
children_alive(const struct proxy *p)
{
	for (unsigned i = 0; i < p->config->servers; i++)
		if (p->upstream.server[i].program.group > 0)
			return true;
	return false;
}

void
daemon_stop_tick(struct daemon *d, struct instant now)
{
	struct proxy *p = &d->proxy;

	if (!instant_before(now, d->stop_idle_due))
		close_idle_clients(p);
	if (!instant_before(now, d->stop_due))
		cut_clients(d, "stop_timeout");
	if (p->clients.count > 0)
		return;
	for (unsigned i = 0; i < p->config->servers; i++)
		supervisor_stop(&p->upstream.server[i]);
	if (!children_alive(p))
		d->stage = DAEMON_STOPPED;
}

void
daemon_stop(struct daemon *d, const char *why)
{
	struct proxy *p = &d->proxy;
	const struct config *c = p->config;
	struct instant now = instant_now();

	if (d->stage != DAEMON_RUNS) {
		cut_clients(d, why);
		d->stage = DAEMON_STOPPED;
		return;
	}
	/* Before the line about it, so that the line implies it. */
	listeners_close(&p->clients, true);
	log_event(LOG_LEVEL_NOTICE, "stopping",
	    "why=%s requests=%u connections=%u", why, p->table.inflight_count,
	    p->clients.count);
	notify_stopping();
	p->clients.stopping = p->upstream.stopping = true;
	d->stage = DAEMON_STOPPING;
	d->stop_due = instant_plus(now, c->proxy.stop_timeout_ns);
	d->stop_idle_due =
	    instant_plus(now, c->proxy.stop_timeout_ns / IDLE_SHARE);
	daemon_stop_tick(d, now);
}
