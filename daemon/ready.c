#include "daemon/ready.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/server.h"

#define CHECK_PERIOD_NS (50 * NS_PER_MS)
/* How long to wait for the servers' lines: the process of a server that
 * responds is found within a second, unless it is in a container out of
 * reach. */
#define PATIENCE_NS (5 * NS_PER_S)
#define ROUTE_BYTES 800

/* Describe what is known of a server's process. */
static const char *
sight(const struct profiler_stats *stats, unsigned i)
{
	if (stats->server[i].source > PROFILER_SOURCE_PIDFD)
		return "collections visible";
	if (stats->server[i].pid == 0)
		return "not found yet";
	return stats->server[i].reported ? "collections not visible"
					 : "not examined yet";
}

/* Append "a (active, collections visible)"; a backup that is ready is
 * "backup". */
static void
add_server(char out[ROUTE_BYTES], struct proxy *p, unsigned i,
    const struct profiler_stats *stats, const char *joint)
{
	bool active = p->hedging.active == i;
	bool up = p->hedging.server[i].state == SERVER_READY;
	const char *shown = server_state_shown(&p->upstream.server[i]);

	text_append(out, ROUTE_BYTES, "%s%s (%s%s%s, %s)", joint,
	    p->upstream.server[i].config->name, active ? "active" : "",
	    active && !up ? ", " : "",
	    !up	      ? shown
	    : !active ? "backup"
		      : "",
	    sight(stats, i));
}

static void
route(
    struct proxy *p, const struct profiler_stats *stats, char out[ROUTE_BYTES])
{
	const struct config *c = p->config;
	const char *joint = "";

	out[0] = '\0';
	for (unsigned i = 0; i < c->listeners; i++)
		text_append(out, ROUTE_BYTES, "%s%s", i > 0 ? ", " : "",
		    c->listen[i].text);
	text_append(out, ROUTE_BYTES, " -> ");
	UPSTREAM_EACH(&p->upstream, i)
	{
		add_server(out, p, i, stats, joint);
		joint = ", ";
	}
}

static bool
any_ready(const struct proxy *p)
{
	UPSTREAM_EACH(&p->upstream, i)
	if (p->hedging.server[i].state == SERVER_READY)
		return true;
	return false;
}

static bool
all_reported(const struct proxy *p, const struct profiler_stats *stats)
{
	UPSTREAM_EACH(&p->upstream, i)
	if (!stats->server[i].reported &&
	    (stats->server[i].pid != 0 ||
		p->hedging.server[i].state == SERVER_READY))
		return false;
	return true;
}

/* True once each server has been probed and its process searched for, which
 * takes long while a busy machine starts. */
static bool
all_sought(const struct proxy *p, const struct profiler_stats *stats)
{
	UPSTREAM_EACH(&p->upstream, i)
	if ((stats->server[i].pid == 0 && stats->server[i].detail[0] == '\0') ||
	    p->upstream.server[i].checked.result == HEALTH_NONE)
		return false;
	return true;
}

/* Append what Tailor waits for: a server that responds but fails its probe, or
 * one that does not respond. */
static void
add_wait(char out[ROUTE_BYTES], struct proxy *p, unsigned i,
    const struct profiler_stats *stats)
{
	const struct server *s = &p->upstream.server[i];
	const char *name = s->config->name, *at = s->config->address.text;
	char text[HEALTH_TEXT];

	if (s->checked.result > HEALTH_OK &&
	    s->checked.result != HEALTH_REFUSED)
		text_append(out, ROUTE_BYTES, "%s to pass its probe at %s (%s)",
		    name, at, health_text(s, text));
	else
		text_append(out, ROUTE_BYTES, "%s to respond at %s (%s)", name,
		    at,
		    stats->server[i].pid != 0 ? "its process runs"
					      : stats->server[i].detail);
}

/* Log what each server lacks: its process, or a good response. */
static void
report_waiting(struct proxy *p, const struct profiler_stats *stats)
{
	char text[ROUTE_BYTES], waits[ROUTE_BYTES] = "";

	route(p, stats, text);
	UPSTREAM_EACH(&p->upstream, i)
	{
		text_append(
		    waits, ROUTE_BYTES, "%s", waits[0] != '\0' ? ", or " : "");
		add_wait(waits, p, i, stats);
	}
	log_event(LOG_LEVEL_WARNING, "not_ready",
	    "route=\"%s\" waits_for=\"%s\"", text, waits);
}

void
ready_tick(struct ready *r, struct proxy *p, struct instant now)
{
	struct profiler_stats stats;
	char text[ROUTE_BYTES];
	int64_t late_ns;

	if (r->reported || instant_since(now, r->checked) < CHECK_PERIOD_NS)
		return;
	r->checked = now;
	profiler_stats(p->profiler, &stats);
	if (!any_ready(p)) {
		late_ns = instant_since(now, p->started) -
			  p->config->proxy.server_wait_ns;
		if (r->waited || late_ns < 0 ||
		    (late_ns < PATIENCE_NS && !all_sought(p, &stats)))
			return;
		r->waited = true;
		report_waiting(p, &stats);
		return;
	}
	if (!instant_is_set(r->since))
		r->since = now;
	if (!all_reported(p, &stats) &&
	    instant_since(now, r->since) < PATIENCE_NS)
		return;
	route(p, &stats, text);
	log_event(LOG_LEVEL_NOTICE, "ready", "route=\"%s\" mode=%s", text,
	    p->config->hedging.mode == CONFIG_MODE_ACT ? "act" : "watch");
	r->reported = true;
}
