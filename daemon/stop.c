/* stop.c: a stop that loses no request.
 *
 * SIGTERM closes the listeners, after accepting the connections in their
 * backlogs.  Requests in flight finish; every later response has Connection:
 * close.  Idle connections are closed after a thirtieth of proxy.stop_timeout,
 * since a request may be on its way on them; those whose client has its last
 * response, but does not close, at once.  Launched servers are ended when no
 * client needs them.  Streams without a planned end are cut after
 * proxy.stop_streams.  proxy.stop_timeout, or a second signal, cuts all that is
 * left, and the last line of the log counts the cuts.
 *
 * On sockets that outlive this process, new clients wait for the next process,
 * which begins when this one has ended.  So this process still serves them
 * while a request from before the stop is in flight or an idle connection from
 * before the stop is open. */
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/notify.h"
#include "proxy/client/client.h"
#include "proxy/client/listeners.h"
#include "proxy/request/service.h"

/* The part of proxy.stop_timeout for idle connections: 1 s by default, which is
 * many round trips. */
#define IDLE_SHARE 30

/* Close connections without a request, but not those that have just been
 * accepted or become idle: a request may be on its way. */
static void
close_idle_clients(struct daemon *d, struct instant now)
{
	struct proxy *p = &d->proxy;
	int64_t grace_ns = p->config->proxy.stop_timeout_ns / IDLE_SHARE;
	bool due = !instant_before(now, d->stop_idle_due);
	struct client *c, *next;

	for (c = TAILQ_FIRST(&p->clients.open); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (client_has_all(c) ||
		    (due && c->state == CLIENT_IDLE && c->out.bytes == 0 &&
			instant_since(now, c->rested) >= grace_ns))
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
		client_cut(c, "stopped");
}

static void
cut_streams(struct daemon *d)
{
	unsigned n = proxy_cut_streams(&d->proxy);

	if (n == 0)
		return;
	d->cut_requests += n;
	d->cut_connections += n;
	log_event(LOG_LEVEL_NOTICE, "stop_cut",
	    "why=stop_streams requests=%u connections=%u", n, n);
}

static bool
any_outlives(const struct clients *all)
{
	for (unsigned i = 0; i < LISTENERS; i++)
		if (all->listener[i].fd >= 0 &&
		    listener_outlives(&all->listener[i]))
			return true;
	return false;
}

/* True if a client still has an idle connection whose last response was before
 * the stop, without Connection: close. */
static bool
any_kept(const struct clients *all)
{
	const struct client *c;

	TAILQ_FOREACH(c, &all->open, link)
	if (c->state == CLIENT_IDLE && c->requests > 0)
		return true;
	return false;
}

/* True if all requests and connections from before the stop are over, or if the
 * later requests need the rest of the time to finish. */
static bool
has_served(const struct daemon *d, struct instant now)
{
	const struct proxy *p = &d->proxy;
	const struct request *oldest = TAILQ_FIRST(&p->table.inflight);
	bool before =
	    oldest != NULL && instant_before(oldest->first_byte, d->stopped);

	return (!before && !any_kept(&p->clients)) ||
	       instant_since(d->stop_due, now) <=
		   p->config->proxy.stop_timeout_ns / IDLE_SHARE;
}

/* Close the listeners: connections from now on wait for the next process. */
static void
accept_no_more(struct daemon *d)
{
	struct proxy *p = &d->proxy;

	listeners_close(&p->clients, true);
	p->upstream.stopping = true;
	d->accepts = false;
}

static bool
children_alive(const struct proxy *p)
{
	UPSTREAM_EACH(&p->upstream, i)
	if (p->upstream.server[i].program.group > 0)
		return true;
	return false;
}

void
daemon_stop_tick(struct daemon *d, struct instant now)
{
	struct proxy *p = &d->proxy;

	if (!instant_before(now, d->stop_streams_due))
		cut_streams(d);
	close_idle_clients(d, now);
	if (d->accepts && has_served(d, now))
		accept_no_more(d);
	if (!instant_before(now, d->stop_due))
		cut_clients(d, "stop_timeout");
	if (p->clients.count > 0 || d->accepts)
		return;
	UPSTREAM_EACH(&p->upstream, i)
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
		accept_no_more(d);
		cut_clients(d, why);
		d->stage = DAEMON_STOPPED;
		return;
	}
	/* Before the line below, so that the line implies closed listeners. */
	listeners_close(&p->clients, false);
	log_event(LOG_LEVEL_NOTICE, "stopping",
	    "why=%s requests=%u connections=%u", why, p->table.inflight_count,
	    p->clients.count);
	notify_stopping();
	p->clients.stopping = true;
	d->accepts = any_outlives(&p->clients);
	p->upstream.stopping = !d->accepts;
	d->stage = DAEMON_STOPPING;
	d->stopped = now;
	d->stop_streams_due = instant_plus(now, c->proxy.stop_streams_ns);
	d->stop_due = instant_plus(now, c->proxy.stop_timeout_ns);
	d->stop_idle_due =
	    instant_plus(now, c->proxy.stop_timeout_ns / IDLE_SHARE);
	daemon_stop_tick(d, now);
}
